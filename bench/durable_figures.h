// The durable counter's figures.
#ifndef ESCALONA_BENCH_DURABLE_FIGURES_H_
#define ESCALONA_BENCH_DURABLE_FIGURES_H_

#include <cstdint>

namespace escalona::bench {

// Fills associators x keys pairs into a new database in `folder` and prints the bytes per pair it
// takes on disk, those per increment its log takes, and how long a restart takes to the first
// answer. Returns the exit status.
int MeasureDurable(const char* folder, uint64_t associators, uint64_t keys);

}  // namespace escalona::bench

#endif  // ESCALONA_BENCH_DURABLE_FIGURES_H_

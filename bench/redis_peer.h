// Redis as the peer of the association counter.
#ifndef ESCALONA_BENCH_REDIS_PEER_H_
#define ESCALONA_BENCH_REDIS_PEER_H_

#include <cstdint>

namespace escalona::bench {

// Fills associators x keys pairs into the server at the Unix socket by ZINCRBY, then increments
// random ones; prints the rates per second of CPU time of process `pid`. Returns the exit status.
int MeasureRedis(const char* socket_path, int pid, uint64_t associators, uint64_t keys);

}  // namespace escalona::bench

#endif  // ESCALONA_BENCH_REDIS_PEER_H_

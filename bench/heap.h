// What a benchmark has on its heap.
#ifndef ESCALONA_BENCH_HEAP_H_
#define ESCALONA_BENCH_HEAP_H_

#include <jemalloc/jemalloc.h>

#include <cstddef>
#include <cstdint>

namespace escalona {

// Bytes allocated and not freed, each block as large as jemalloc made it.
inline size_t HeapBytes() {
  uint64_t epoch = 1;  // figures are those of the last time it was written
  mallctl("epoch", nullptr, nullptr, &epoch, sizeof(epoch));
  size_t bytes = 0;
  size_t size = sizeof(bytes);
  mallctl("stats.allocated", &bytes, &size, nullptr, 0);
  return bytes;
}

}  // namespace escalona

#endif  // ESCALONA_BENCH_HEAP_H_

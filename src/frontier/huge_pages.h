// Memory for large tables that are read at random: fewer misses of the address translation cache.
#ifndef ESCALONA_FRONTIER_HUGE_PAGES_H_
#define ESCALONA_FRONTIER_HUGE_PAGES_H_

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace escalona {

// `bytes` of memory, cache-line aligned, to be given back with std::free. From 2 MiB on the kernel
// is asked for huge pages; where it has none, ordinary ones do. Throws std::bad_alloc.
inline void* AllocateHuge(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t alignment = bytes >= kHugePage ? kHugePage : 64;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  if (bytes >= kHugePage) madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

}  // namespace escalona

#endif  // ESCALONA_FRONTIER_HUGE_PAGES_H_

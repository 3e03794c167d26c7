// Memory for large arrays, in large pages where the system has them.
#ifndef ESCALONA_REVISIT_HUGE_MEMORY_H_
#define ESCALONA_REVISIT_HUGE_MEMORY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace escalona::revisit {

struct FreeMemory {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

template <typename T>
using HugeArray = std::unique_ptr<T[], FreeMemory>;

// Uninitialised memory for `size` numbers, to be freed with std::free. The first touch of memory in
// small pages costs more than a pass of the solver over it.
template <typename T>
T* AllocateHuge(size_t size) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t bytes = size * sizeof(T);
  const bool huge = bytes >= 2 * kHugePage;
  const size_t unit = huge ? kHugePage : 64;
  void* memory = std::aligned_alloc(unit, (bytes / unit + 1) * unit);
  if (memory == nullptr) throw std::bad_alloc();
  if (huge) (void)madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<T*>(memory);
}

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_HUGE_MEMORY_H_

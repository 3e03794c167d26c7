// Memory for large arrays, in large pages where the system has them.
#ifndef ESCALONA_BASE_HUGE_MEMORY_H_
#define ESCALONA_BASE_HUGE_MEMORY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace escalona {

// Uninitialised memory for `count` objects, cache-line aligned, to be given back with std::free.
// From 2 MiB on the kernel is asked for large pages; where it has none, ordinary ones do. A random
// access to tens of megabytes in small pages mostly waits for the page tables, and their first
// touch costs more than a pass over them. Throws std::bad_alloc.
template <typename T>
T* AllocateHuge(size_t count) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t bytes = count * sizeof(T);
  const size_t alignment = bytes >= kHugePage ? kHugePage : 64;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr && bytes > 0) throw std::bad_alloc();
  if (bytes >= kHugePage) (void)madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<T*>(memory);
}

struct FreeMemory {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

template <typename T>
using HugeArray = std::unique_ptr<T[], FreeMemory>;

// Stateless; all instances are equal.
template <typename T>
struct HugeAllocator {
  using value_type = T;

  HugeAllocator() = default;
  template <typename U>
  // A converting constructor is what the standard asks of an allocator.
  // NOLINTNEXTLINE(google-explicit-constructor)
  HugeAllocator(const HugeAllocator<U>& /*other*/) noexcept {}

  T* allocate(size_t count) { return AllocateHuge<T>(count); }
  void deallocate(T* memory, size_t /*count*/) noexcept { std::free(memory); }
  friend bool operator==(const HugeAllocator& /*a*/, const HugeAllocator& /*b*/) { return true; }
};

template <typename T>
using HugeVector = std::vector<T, HugeAllocator<T>>;

}  // namespace escalona

#endif  // ESCALONA_BASE_HUGE_MEMORY_H_

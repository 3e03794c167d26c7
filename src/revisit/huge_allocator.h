// Large pages for the vectors that are read at random.
#ifndef ESCALONA_REVISIT_HUGE_ALLOCATOR_H_
#define ESCALONA_REVISIT_HUGE_ALLOCATOR_H_

#include <cstddef>
#include <cstdlib>
#include <vector>

#include "revisit/huge_memory.h"

namespace escalona::revisit {

// Stateless; all instances are equal. A random access to tens of megabytes in small pages mostly
// waits for the page tables.
template <typename T>
struct HugeAllocator {
  using value_type = T;

  HugeAllocator() = default;
  template <typename U>
  // A converting constructor is what the standard asks of an allocator.
  // NOLINTNEXTLINE(google-explicit-constructor)
  HugeAllocator(const HugeAllocator<U>& /*other*/) noexcept {}

  T* allocate(size_t n) { return AllocateHuge<T>(n); }
  void deallocate(T* p, size_t /*n*/) noexcept { std::free(p); }
  friend bool operator==(const HugeAllocator& /*a*/, const HugeAllocator& /*b*/) { return true; }
};

template <typename T>
using HugeVector = std::vector<T, HugeAllocator<T>>;

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_HUGE_ALLOCATOR_H_

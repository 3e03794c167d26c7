// An array that grows without copying.
#ifndef ESCALONA_BASE_GROWING_ARRAY_H_
#define ESCALONA_BASE_GROWING_ARRAY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace escalona {

// Objects that are zero until they are written. A small array lies in the heap. From 2 MiB on it
// lies in pages of its own, large ones where the system has them: to grow is to move them to a
// wider place in the address space, so no byte is copied, and what was added takes no memory until
// it is written. Growing invalidates pointers. Throws std::bad_alloc, and is then unchanged.
template <typename T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~GrowingArray() {
    if (IsMapped(size_)) {
      munmap(data_, MappedBytes(size_));
    } else {
      std::free(data_);
    }
  }

  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

  // Makes it `size` objects long, which is more than now.
  void Grow(size_t size) {
    data_ = IsMapped(size) ? Mapped(size) : InHeap(size);
    size_ = size;
  }

 private:
  static constexpr size_t kHugePage = size_t{2} << 20;
  static constexpr size_t kLine = 64;

  static bool IsMapped(size_t size) { return size * sizeof(T) >= kHugePage; }
  static size_t MappedBytes(size_t size) {
    return (size * sizeof(T) + kHugePage - 1) / kHugePage * kHugePage;
  }

  T* InHeap(size_t size) const {
    const size_t bytes = (size * sizeof(T) + kLine - 1) / kLine * kLine;
    auto* memory = static_cast<char*>(std::aligned_alloc(kLine, bytes));
    if (memory == nullptr) throw std::bad_alloc();
    const size_t old = size_ * sizeof(T);
    if (old > 0) std::memcpy(memory, data_, old);
    std::memset(memory + old, 0, bytes - old);
    std::free(data_);
    return reinterpret_cast<T*>(memory);
  }

  T* Mapped(size_t size) const {
    char* memory = Map(MappedBytes(size));
    if (IsMapped(size_)) {
      const size_t old = MappedBytes(size_);
      if (mremap(data_, old, old, MREMAP_MAYMOVE | MREMAP_FIXED, memory) == MAP_FAILED) {
        munmap(memory, MappedBytes(size));
        throw std::bad_alloc();
      }
    } else if (size_ > 0) {
      std::memcpy(memory, data_, size_ * sizeof(T));
      std::free(data_);
    }
    return reinterpret_cast<T*>(memory);
  }

  // Fresh pages, where a large page begins.
  static char* Map(size_t bytes) {
    void* const all = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    auto* const start = static_cast<char*>(all);
    const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(start) % kHugePage) % kHugePage;
    if (before > 0) munmap(start, before);
    munmap(start + before + bytes, kHugePage - before);
    (void)madvise(start + before, bytes, MADV_HUGEPAGE);
    return start + before;
  }

  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace escalona

#endif  // ESCALONA_BASE_GROWING_ARRAY_H_

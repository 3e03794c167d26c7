// A long array that grows without being copied.
#ifndef ESCALONA_CLI_GROWING_ARRAY_H_
#define ESCALONA_CLI_GROWING_ARRAY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <utility>

namespace escalona::cli {

// Appending moves pages of memory, not bytes, when the array must grow; large pages where the
// system has them. For plain numbers only.
template <typename T>
class GrowingArray {
 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  GrowingArray& operator=(GrowingArray&&) = delete;
  ~GrowingArray() {
    if (data_ != nullptr) munmap(data_, capacity_ * sizeof(T));
  }

  void Append(std::span<const T> values) {
    if (values.empty()) return;
    if (values.size() > capacity_ - size_) Grow(size_ + values.size());
    std::memcpy(data_ + size_, values.data(), values.size_bytes());
    size_ += values.size();
  }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  void Shrink(size_t size) { size_ = size; }
  [[nodiscard]] std::span<const T> view() const { return {data_, size_}; }

 private:
  void Grow(size_t needed) {
    constexpr size_t kHugePage = size_t{2} << 20;
    size_t bytes = (needed + needed / 2) * sizeof(T);
    bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* memory = data_ == nullptr ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                    : mremap(data_, capacity_ * sizeof(T), bytes, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    data_ = static_cast<T*>(memory);
    capacity_ = bytes / sizeof(T);
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_GROWING_ARRAY_H_

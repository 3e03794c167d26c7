// Heap memory with a running total, so that a counter can say what it takes and be held to it.
#ifndef ESCALONA_ASSOC_MEMORY_ACCOUNT_H_
#define ESCALONA_ASSOC_MEMORY_ACCOUNT_H_

#include <malloc.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace escalona::assoc {

// Thread-safe. Out of memory ends the program, as it does in the libraries we stand on.
class MemoryAccount {
 public:
  void* Allocate(size_t bytes) {
    void* block = std::malloc(bytes);
    if (block == nullptr) {
      std::fprintf(stderr, "escalona: out of memory (%zu bytes for associations)\n", bytes);
      std::abort();
    }
    bytes_.fetch_add(Size(block), std::memory_order_relaxed);
    return block;
  }

  void Free(void* block) {
    if (block == nullptr) return;
    bytes_.fetch_sub(Size(block), std::memory_order_relaxed);
    std::free(block);
  }

  // What is allocated and not freed, with a word before each block as the C library's malloc has.
  size_t Bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  static size_t Size(void* block) { return malloc_usable_size(block) + sizeof(size_t); }

  std::atomic<size_t> bytes_ = 0;
};

// For standard containers whose memory is to be in the account.
template <typename T>
class AccountAllocator {
 public:
  using value_type = T;

  // NOLINTNEXTLINE(google-explicit-constructor): containers are made from the account itself
  AccountAllocator(MemoryAccount& account) : account_(&account) {}
  template <typename U>
  // NOLINTNEXTLINE(google-explicit-constructor): what an allocator must offer
  AccountAllocator(const AccountAllocator<U>& other) : account_(&other.account()) {}

  T* allocate(size_t n) { return static_cast<T*>(account_->Allocate(n * sizeof(T))); }
  void deallocate(T* block, size_t) { account_->Free(block); }
  MemoryAccount& account() const { return *account_; }
  template <typename U>
  bool operator==(const AccountAllocator<U>& other) const {
    return account_ == &other.account();
  }

 private:
  MemoryAccount* account_;
};

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_MEMORY_ACCOUNT_H_

// The keys of a long list and the chunk each one is in, in pages that never move.
#ifndef ESCALONA_ASSOC_NODE_PAGES_H_
#define ESCALONA_ASSOC_NODE_PAGES_H_

#include <atomic>
#include <cstdint>
#include <cstring>

#include "assoc/cells.h"
#include "assoc/memory_account.h"
#include "assoc/reclaimer.h"

namespace escalona::assoc {

// Node i is 8 bytes (the address of its chunk) and its cell, 24 or 16 bytes in all. Numbers of
// freed nodes are given out again. The Prefetch functions and PeekChunk need no lock under a
// Reclaimer::Guard; for these, and only for these, addresses are atomic.
class NodePages {
 public:
  NodePages(CellKind kind, MemoryAccount& memory, Reclaimer& reclaimer);
  NodePages(const NodePages&) = delete;
  NodePages& operator=(const NodePages&) = delete;
  ~NodePages();

  CellKind cell_kind() const { return cell_kind_; }
  // All numbers ever given out are below.
  uint32_t high_water() const { return high_water_; }

  uint32_t Allocate();
  void Free(uint32_t node);

  char* Cell(uint32_t node) { return At(node) + sizeof(void*); }
  const char* Cell(uint32_t node) const { return At(node) + sizeof(void*); }
  void* Chunk(uint32_t node) const { return Link(At(node)).load(std::memory_order_relaxed); }
  void SetChunk(uint32_t node, void* chunk) {
    Link(At(node)).store(chunk, std::memory_order_relaxed);
  }

  void PrefetchHead() const { __builtin_prefetch(directory_.load(std::memory_order_relaxed)); }
  void PrefetchPage(uint32_t node) const {
    Directory* directory = directory_.load(std::memory_order_acquire);
    if ((node >> kPageBits) < directory->capacity) {
      __builtin_prefetch(&directory->pages()[node >> kPageBits]);
    }
  }
  void PrefetchNode(uint32_t node) const {
    const char* at = Peek(node);
    if (at == nullptr) return;
    __builtin_prefetch(at, 1);
    __builtin_prefetch(at + stride_ - 1, 1);
  }
  // What Chunk gave at some moment: an address to fetch ahead, not to read.
  const void* PeekChunk(uint32_t node) const {
    char* at = Peek(node);
    return at == nullptr ? nullptr : Link(at).load(std::memory_order_relaxed);
  }

 private:
  static constexpr int kPageBits = 7;
  static constexpr uint32_t kPageNodes = 1U << kPageBits;
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Directory {
    uint32_t capacity;
    std::atomic<char*>* pages() { return reinterpret_cast<std::atomic<char*>*>(this + 1); }
    uint32_t unused;  // keeps the pages aligned
  };
  using AtomicLink = std::atomic<void*>;

  static AtomicLink& Link(char* at) { return *reinterpret_cast<AtomicLink*>(at); }
  char* At(uint32_t node) const {
    char* page = directory_.load(std::memory_order_relaxed)
                     ->pages()[node >> kPageBits]
                     .load(std::memory_order_relaxed);
    return page + static_cast<size_t>(node & (kPageNodes - 1)) * stride_;
  }
  char* Peek(uint32_t node) const {
    Directory* directory = directory_.load(std::memory_order_acquire);
    if ((node >> kPageBits) >= directory->capacity) return nullptr;
    char* page = directory->pages()[node >> kPageBits].load(std::memory_order_acquire);
    if (page == nullptr) return nullptr;
    return page + static_cast<size_t>(node & (kPageNodes - 1)) * stride_;
  }
  Directory* NewDirectory(uint32_t capacity);
  void AddPage(uint32_t number);

  MemoryAccount& memory_;
  Reclaimer& reclaimer_;
  std::atomic<Directory*> directory_;
  CellKind cell_kind_;
  uint32_t stride_;
  uint32_t high_water_ = 0;
  uint32_t first_free_ = kNone;  // a chain through the cells
};

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_NODE_PAGES_H_

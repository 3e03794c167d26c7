// A short list: arrays in list order, found by a scan over one byte per key.
#ifndef ESCALONA_ASSOC_FLAT_LIST_H_
#define ESCALONA_ASSOC_FLAT_LIST_H_

#include <cstdint>

#include "assoc/cells.h"
#include "assoc/key.h"
#include "assoc/memory_account.h"

namespace escalona::assoc {

// One block of memory: this header, then for `capacity` keys
//   tags    1 byte each, in list order: the low byte of the key's hash
//   slots   1 byte each, in list order: where the key's cell stands
//   counts  1, 2, 4 or 8 bytes each, in list order: as wide as the largest needs
//   cells   4 or 16 bytes each, in no order, places 0 to size - 1 in use
// so that moving a key moves a few bytes of three small arrays and no key. Functions that may need
// another block return the one to use from then on and free this one.
//
// Invariant: counts descend. Costs: everything is O(size), and size <= kMaxSize.
class alignas(uint64_t) FlatList {  // so that the counts are aligned
 public:
  static constexpr uint32_t kMaxSize = 128;
  static constexpr int kNotFound = -1;

  static FlatList* Make(CellKind kind, uint32_t capacity, uint64_t max_count,
                        MemoryAccount& memory);

  uint32_t size() const { return size_; }
  CellKind cell_kind() const { return cell_kind_; }

  int Find(const Key& key, const Cells& cells) const;
  uint64_t CountAt(uint32_t position) const;
  const char* CellAt(uint32_t position) const { return CellOf(slots()[position]); }

  // Gives the key at `position` the count (not below its own) and the place the order asks for.
  FlatList* Raise(uint32_t position, uint64_t count, MemoryAccount& memory);

  // Adds a key that is not there: at the very end if `count` is 1, else in front of its equals.
  // Needs size() < kMaxSize and a key that fits the cells.
  FlatList* Insert(const Key& key, uint64_t count, const Cells& cells, MemoryAccount& memory);

  // Adds a cell at the very end; `count` is at most that of the last. The list owns the cell.
  FlatList* PushBack(const char* cell, uint8_t tag, uint64_t count, MemoryAccount& memory);

  // Removes the entry; its cell has been released or taken over by the caller.
  FlatList* Erase(uint32_t position, MemoryAccount& memory);

  // What a search needs first, to be fetched ahead: harmless on a block that is gone.
  static void Prefetch(const void* block);
  // The cell a search for the key will compare.
  void PrefetchCell(const Key& key) const;

  static uint8_t Tag(uint32_t hash32) { return static_cast<uint8_t>(hash32); }

 private:
  FlatList() = default;

  const uint8_t* tags() const { return reinterpret_cast<const uint8_t*>(this + 1); }
  uint8_t* tags() { return reinterpret_cast<uint8_t*>(this + 1); }
  const uint8_t* slots() const { return tags() + capacity_; }
  uint8_t* slots() { return tags() + capacity_; }
  const uint8_t* counts() const { return slots() + capacity_; }
  uint8_t* counts() { return slots() + capacity_; }
  const char* CellOf(uint32_t slot) const {
    return reinterpret_cast<const char*>(counts() + size_t{capacity_} * count_bytes_) +
           slot * CellBytes(cell_kind_);
  }
  char* CellOf(uint32_t slot) {
    return reinterpret_cast<char*>(counts() + size_t{capacity_} * count_bytes_) +
           slot * CellBytes(cell_kind_);
  }

  // The first position whose count is at most `count`; size() if there is none.
  uint32_t FrontOf(uint64_t count) const;
  void SetCountAt(uint32_t position, uint64_t count);
  // Moves the entries [from, to) one place back.
  void ShiftBack(uint32_t from, uint32_t to);
  // A block with room for `size` keys and this count: this one if it will do.
  FlatList* Fit(uint32_t size, uint64_t count, MemoryAccount& memory);
  FlatList* Resize(uint32_t size, uint64_t max_count, MemoryAccount& memory);

  uint8_t size_;
  uint8_t capacity_;
  uint8_t count_bytes_;
  CellKind cell_kind_;
};

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_FLAT_LIST_H_

// From the hash of a key to its node, in four bytes a slot.
#ifndef ESCALONA_ASSOC_KEY_INDEX_H_
#define ESCALONA_ASSOC_KEY_INDEX_H_

#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "assoc/memory_account.h"
#include "assoc/reclaimer.h"

namespace escalona::assoc {

// Open addressing, at most 4/5 full. A slot holds the node's number + 1 in as many bits as the
// table needs, and in the others low bits of the hash, so that a node is looked at only when it is
// almost surely the right one. Growing by half, it takes 5 to 7.5 bytes per key.
//
// The Prefetch functions and Guess need no lock under a Reclaimer::Guard.
class KeyIndex {
 public:
  static constexpr uint32_t kNotFound = ~uint32_t{0};
  using HashOf = absl::FunctionRef<uint32_t(uint32_t node)>;

  KeyIndex(uint32_t capacity, MemoryAccount& memory, Reclaimer& reclaimer);
  KeyIndex(const KeyIndex&) = delete;
  KeyIndex& operator=(const KeyIndex&) = delete;
  ~KeyIndex();

  // The node with this hash for which `is_it` holds.
  template <typename IsIt>
  uint32_t Find(uint32_t hash32, const IsIt& is_it) const {
    const Table& table = *table_.load(std::memory_order_relaxed);
    const uint32_t tag = table.Tag(hash32);
    for (uint32_t slot = table.Home(hash32);; slot = table.Next(slot)) {
      const uint32_t value = table.slots()[slot].load(std::memory_order_relaxed);
      if (value == 0) return kNotFound;
      if ((value & ~table.node_mask) != tag) continue;
      const uint32_t node = (value & table.node_mask) - 1;
      if (is_it(node)) return node;
    }
  }

  // The node is not in the index.
  void Insert(uint32_t hash32, uint32_t node, HashOf hash_of);
  // The node is in the index.
  void Erase(uint32_t hash32, uint32_t node, HashOf hash_of);

  void PrefetchHead() const { __builtin_prefetch(table_.load(std::memory_order_relaxed)); }
  void PrefetchSlot(uint32_t hash32) const {
    const Table& table = *table_.load(std::memory_order_acquire);
    __builtin_prefetch(&table.slots()[table.Home(hash32)]);
  }
  // A node that probably has this hash.
  uint32_t Guess(uint32_t hash32) const;

 private:
  struct Table {
    uint32_t size;
    uint32_t node_mask;

    const std::atomic<uint32_t>* slots() const {
      return reinterpret_cast<const std::atomic<uint32_t>*>(this + 1);
    }
    std::atomic<uint32_t>* slots() { return reinterpret_cast<std::atomic<uint32_t>*>(this + 1); }
    uint32_t Home(uint32_t hash32) const {
      return static_cast<uint32_t>((uint64_t{hash32} * size) >> 32);
    }
    uint32_t Tag(uint32_t hash32) const;
    uint32_t Next(uint32_t slot) const { return slot + 1 == size ? 0 : slot + 1; }
  };

  Table* NewTable(uint64_t size);
  static void Put(Table& table, uint32_t hash32, uint32_t node);
  void Grow(HashOf hash_of);

  MemoryAccount& memory_;
  Reclaimer& reclaimer_;
  std::atomic<Table*> table_;
  uint32_t used_ = 0;
};

inline uint32_t KeyIndex::Table::Tag(uint32_t hash32) const {
  // The low bits, moved above those of the node: Home has used up the high ones.
  const uint32_t tag_bits = ~node_mask;
  return tag_bits == 0 ? 0 : (hash32 * (node_mask + 1)) & tag_bits;
}

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_KEY_INDEX_H_

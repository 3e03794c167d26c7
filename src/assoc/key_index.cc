// The hash index of a long list.
#include "assoc/key_index.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>

namespace escalona::assoc {
namespace {

void FreeBlock(void* block, void* memory) { static_cast<MemoryAccount*>(memory)->Free(block); }

// At most 4/5 full.
bool TooFull(uint64_t used, uint64_t size) { return used * 5 > size * 4; }

}  // namespace

KeyIndex::KeyIndex(uint32_t capacity, MemoryAccount& memory, Reclaimer& reclaimer)
    : memory_(memory), reclaimer_(reclaimer), table_(nullptr) {
  table_.store(NewTable(std::max<uint64_t>(64, uint64_t{capacity} * 3 / 2)),
               std::memory_order_release);
}

KeyIndex::~KeyIndex() { memory_.Free(table_.load(std::memory_order_relaxed)); }

KeyIndex::Table* KeyIndex::NewTable(uint64_t size) {
  if (size > std::numeric_limits<uint32_t>::max()) {
    std::fprintf(stderr, "escalona: an associator has more than 3 * 10^9 keys\n");
    std::abort();
  }
  auto* table =
      static_cast<Table*>(memory_.Allocate(sizeof(Table) + size * sizeof(std::atomic<uint32_t>)));
  table->size = static_cast<uint32_t>(size);
  table->node_mask = static_cast<uint32_t>((uint64_t{1} << std::bit_width(size)) - 1);
  for (uint64_t i = 0; i < size; ++i) new (&table->slots()[i]) std::atomic<uint32_t>(0);
  return table;
}

void KeyIndex::Put(Table& table, uint32_t hash32, uint32_t node) {
  uint32_t slot = table.Home(hash32);
  while (table.slots()[slot].load(std::memory_order_relaxed) != 0) slot = table.Next(slot);
  table.slots()[slot].store(table.Tag(hash32) | (node + 1), std::memory_order_relaxed);
}

void KeyIndex::Grow(HashOf hash_of) {
  Table* table = table_.load(std::memory_order_relaxed);
  Table* larger = NewTable(uint64_t{table->size} + table->size / 2);
  for (uint32_t i = 0; i < table->size; ++i) {
    const uint32_t value = table->slots()[i].load(std::memory_order_relaxed);
    if (value == 0) continue;
    const uint32_t node = (value & table->node_mask) - 1;
    Put(*larger, hash_of(node), node);
  }
  table_.store(larger, std::memory_order_release);
  reclaimer_.Retire(table, FreeBlock, &memory_);
}

void KeyIndex::Insert(uint32_t hash32, uint32_t node, HashOf hash_of) {
  ++used_;
  if (TooFull(used_, table_.load(std::memory_order_relaxed)->size)) Grow(hash_of);
  Put(*table_.load(std::memory_order_relaxed), hash32, node);
}

void KeyIndex::Erase(uint32_t hash32, uint32_t node, HashOf hash_of) {
  Table& table = *table_.load(std::memory_order_relaxed);
  const auto node_at = [&table](uint32_t slot) {
    return (table.slots()[slot].load(std::memory_order_relaxed) & table.node_mask) - 1;
  };
  const auto distance = [&table](uint32_t from, uint32_t to) {
    return to >= from ? to - from : to + (table.size - from);
  };
  uint32_t hole = table.Home(hash32);
  while (node_at(hole) != node) hole = table.Next(hole);
  // Entries after the hole that a search from their home would reach through it move up.
  for (uint32_t slot = table.Next(hole);; slot = table.Next(slot)) {
    const uint32_t value = table.slots()[slot].load(std::memory_order_relaxed);
    if (value == 0) break;
    if (distance(table.Home(hash_of(node_at(slot))), slot) < distance(hole, slot)) continue;
    table.slots()[hole].store(value, std::memory_order_relaxed);
    hole = slot;
  }
  table.slots()[hole].store(0, std::memory_order_relaxed);
  --used_;
}

uint32_t KeyIndex::Guess(uint32_t hash32) const {
  const Table& table = *table_.load(std::memory_order_acquire);
  const uint32_t tag = table.Tag(hash32);
  constexpr int kTries = 16;  // what one line of memory holds
  uint32_t slot = table.Home(hash32);
  for (int i = 0; i < kTries; ++i, slot = table.Next(slot)) {
    const uint32_t value = table.slots()[slot].load(std::memory_order_relaxed);
    if (value == 0) return kNotFound;
    if ((value & ~table.node_mask) == tag) return (value & table.node_mask) - 1;
  }
  return kNotFound;
}

}  // namespace escalona::assoc

// The directory of associators.
#include "assoc/directory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace escalona::assoc {
namespace {

void FreeBlock(void* block, void* memory) { static_cast<MemoryAccount*>(memory)->Free(block); }

}  // namespace

Directory::Directory(MemoryAccount& memory, Reclaimer& reclaimer)
    : memory_(memory), reclaimer_(reclaimer) {
  for (Shard& shard : shards_) shard.table.store(NewTable(8), std::memory_order_release);
}

Directory::~Directory() {
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    ForEachIn(shard, [&](Associator* associator) { memory_.Free(associator); });
    memory_.Free(shards_[shard].table.load(std::memory_order_relaxed));
  }
}

Directory::Table* Directory::NewTable(uint64_t size) {
  auto* table =
      static_cast<Table*>(memory_.Allocate(sizeof(Table) + size * sizeof(std::atomic<uint64_t>)));
  table->mask = size - 1;
  for (uint64_t i = 0; i < size; ++i) new (&table->slots()[i]) std::atomic<uint64_t>(kEmpty);
  return table;
}

Associator* Directory::Find(const Key& name) const {
  const Table& table = *shards_[ShardOf(name.hash)].table.load(std::memory_order_acquire);
  const std::string_view bytes = name.Bytes();
  for (uint64_t i = Home(name.hash);; ++i) {
    const uint64_t slot = table.slots()[i & table.mask].load(std::memory_order_acquire);
    if (slot == kEmpty) return nullptr;
    if (slot == kTombstone || (slot >> kPointerBits) != (Tag(name.hash) >> kPointerBits)) continue;
    Associator* associator = Pointer(slot);
    if (associator->hash == name.hash && associator->kind == name.kind &&
        associator->Bytes() == bytes) {
      return associator;
    }
  }
}

void Directory::PrefetchTable(const Key& name) const {
  const Table& table = *shards_[ShardOf(name.hash)].table.load(std::memory_order_acquire);
  __builtin_prefetch(&table.slots()[Home(name.hash) & table.mask]);
}

void Directory::PrefetchAssociator(const Key& name) const {
  const Table& table = *shards_[ShardOf(name.hash)].table.load(std::memory_order_acquire);
  for (uint64_t i = Home(name.hash);; ++i) {
    const uint64_t slot = table.slots()[i & table.mask].load(std::memory_order_relaxed);
    if (slot == kEmpty) return;
    if (slot != kTombstone && (slot >> kPointerBits) == (Tag(name.hash) >> kPointerBits)) {
      __builtin_prefetch(Pointer(slot), 1);
      __builtin_prefetch(Pointer(slot) + 1, 1);  // its name
      return;
    }
  }
}

void Directory::MakeRoom(Shard& shard) {
  Table* table = shard.table.load(std::memory_order_relaxed);
  if ((shard.used + shard.tombstones + 1) * 4 <= (table->mask + 1) * 3) return;
  Table* other = NewTable(std::bit_ceil(std::max<uint64_t>(8, (shard.used + 1) * 2)));
  for (uint64_t i = 0; i <= table->mask; ++i) {
    const uint64_t slot = table->slots()[i].load(std::memory_order_relaxed);
    if (slot <= kTombstone) continue;
    uint64_t to = Home(Pointer(slot)->hash);
    while (other->slots()[to & other->mask].load(std::memory_order_relaxed) != kEmpty) ++to;
    other->slots()[to & other->mask].store(slot, std::memory_order_relaxed);
  }
  shard.tombstones = 0;
  shard.table.store(other, std::memory_order_release);
  reclaimer_.Retire(table, FreeBlock, &memory_);
}

Associator* Directory::FindOrCreate(const Key& name) {
  if (Associator* found = Find(name)) return found;
  Shard& shard = shards_[ShardOf(name.hash)];
  const std::lock_guard<std::mutex> lock(shard.mutex);
  if (Associator* found = Find(name)) return found;
  MakeRoom(shard);
  const std::string_view bytes = name.Bytes();
  auto* associator = new (memory_.Allocate(sizeof(Associator) + bytes.size())) Associator(name);
  std::memcpy(reinterpret_cast<char*>(associator + 1), bytes.data(), bytes.size());
  Table& table = *shard.table.load(std::memory_order_relaxed);
  uint64_t to = Home(name.hash);
  while (table.slots()[to & table.mask].load(std::memory_order_relaxed) > kTombstone) ++to;
  std::atomic<uint64_t>& slot = table.slots()[to & table.mask];
  if (slot.load(std::memory_order_relaxed) == kTombstone) --shard.tombstones;
  slot.store(Tag(name.hash) | reinterpret_cast<uint64_t>(associator), std::memory_order_release);
  ++shard.used;
  size_.fetch_add(1, std::memory_order_relaxed);
  return associator;
}

void Directory::Remove(Associator* associator) {
  Shard& shard = shards_[ShardOf(associator->hash)];
  const std::lock_guard<std::mutex> lock(shard.mutex);
  Table& table = *shard.table.load(std::memory_order_relaxed);
  const uint64_t wanted = Tag(associator->hash) | reinterpret_cast<uint64_t>(associator);
  uint64_t at = Home(associator->hash);
  while (table.slots()[at & table.mask].load(std::memory_order_relaxed) != wanted) ++at;
  table.slots()[at & table.mask].store(kTombstone, std::memory_order_release);
  --shard.used;
  ++shard.tombstones;
  size_.fetch_sub(1, std::memory_order_relaxed);
  reclaimer_.Retire(associator, FreeBlock, &memory_);
}

}  // namespace escalona::assoc

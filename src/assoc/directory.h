// From an associator to its list: lookups take no lock.
#ifndef ESCALONA_ASSOC_DIRECTORY_H_
#define ESCALONA_ASSOC_DIRECTORY_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "assoc/key.h"
#include "assoc/list.h"
#include "assoc/memory_account.h"
#include "assoc/reclaimer.h"
#include "assoc/rw_spin_lock.h"

namespace escalona::assoc {

// An associator, its lock and its list; the bytes of its name follow it in memory.
struct Associator {
  mutable RwSpinLock lock;
  uint32_t age = 0;    // guarded by lock: the half-lives the counts have been divided for
  List list;           // guarded by lock
  uint64_t total = 0;  // guarded by lock: sum of the counts
  const uint64_t hash;
  const uint16_t name_bytes;
  const KeyKind kind;
  bool gone = false;  // guarded by lock: removed, look it up again
  std::atomic<bool> touched = true;

  explicit Associator(const Key& name)
      : hash(name.hash), name_bytes(static_cast<uint16_t>(name.Bytes().size())), kind(name.kind) {}
  std::string_view Bytes() const { return {reinterpret_cast<const char*>(this + 1), name_bytes}; }
  std::string Name() const {
    std::string name;
    AppendKeyText(kind, Bytes(), name);
    return name;
  }
};

// 64 shards, each an open-addressing table of pointers that carry 16 bits of the hash. Thread-safe:
// Find, Prefetch and Names run under a Reclaimer::Guard and wait for nobody; FindOrCreate and
// Remove lock a shard where the table changes. An associator stays readable while a guard that saw
// it lives.
class Directory {
 public:
  static constexpr int kShardBits = 6;
  static constexpr uint32_t kShards = 1U << kShardBits;
  static uint32_t ShardOf(uint64_t hash) { return hash >> (64 - kShardBits); }

  Directory(MemoryAccount& memory, Reclaimer& reclaimer);
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory();  // the lists are empty by then

  Associator* Find(const Key& name) const;
  Associator* FindOrCreate(const Key& name);
  // Takes out an associator that has been marked gone, by whoever marked it.
  void Remove(Associator* associator);

  // Fetch ahead what Find will touch: step 0 the table, step 1 the associator.
  void PrefetchTable(const Key& name) const;
  void PrefetchAssociator(const Key& name) const;

  // Calls `visit(Associator*)` for those of one shard; all of them if nobody writes.
  template <typename Visit>
  void ForEachIn(uint32_t shard, const Visit& visit) const {
    const Table& table = *shards_[shard].table.load(std::memory_order_acquire);
    for (uint64_t i = 0; i <= table.mask; ++i) {
      const uint64_t slot = table.slots()[i].load(std::memory_order_acquire);
      if (slot > kTombstone) visit(Pointer(slot));
    }
  }

  uint64_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kEmpty = 0;
  static constexpr uint64_t kTombstone = 1;
  static constexpr int kPointerBits = 48;
  static_assert(sizeof(void*) == 8, "slots carry a tag above a 48-bit address");

  struct Table {
    uint64_t mask;
    const std::atomic<uint64_t>* slots() const {
      return reinterpret_cast<const std::atomic<uint64_t>*>(this + 1);
    }
    std::atomic<uint64_t>* slots() { return reinterpret_cast<std::atomic<uint64_t>*>(this + 1); }
  };
  struct alignas(64) Shard {
    std::atomic<Table*> table = nullptr;
    std::mutex mutex;
    uint64_t used = 0;        // guarded by mutex
    uint64_t tombstones = 0;  // guarded by mutex
  };

  static Associator* Pointer(uint64_t slot) {
    return reinterpret_cast<Associator*>(slot & ((uint64_t{1} << kPointerBits) - 1));
  }
  static uint64_t Tag(uint64_t hash) { return hash << kPointerBits; }
  static uint64_t Home(uint64_t hash) { return hash >> 16; }
  Table* NewTable(uint64_t size);
  // Puts the shard's associators into a table with room for one more; its mutex is held.
  void MakeRoom(Shard& shard);

  MemoryAccount& memory_;
  Reclaimer& reclaimer_;
  std::array<Shard, kShards> shards_;
  std::atomic<uint64_t> size_ = 0;
};

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_DIRECTORY_H_

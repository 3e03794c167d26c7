// The list of one associator, flat while it is short and in buckets while it is long.
#ifndef ESCALONA_ASSOC_LIST_H_
#define ESCALONA_ASSOC_LIST_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/functional/function_ref.h"
#include "assoc/bucket_list.h"
#include "assoc/cells.h"
#include "assoc/flat_list.h"
#include "assoc/key.h"
#include "assoc/memory_account.h"
#include "assoc/reclaimer.h"

namespace escalona::assoc {

// What all lists of a counter share.
struct ListContext {
  Cells cells;
  MemoryAccount& memory;
  Reclaimer& reclaimer;
  uint64_t max_count;
};

// Invariant: `list_` is 0 (empty), a FlatList, or a BucketList with the lowest bit set. A list
// becomes long when it outgrows FlatList::kMaxSize and short again at kShortAgain keys; in between
// it stays what it is, so that a key that comes and goes does not rebuild the list each time.
//
// Eight bytes. Not thread-safe but for Prefetch; who destroys it has called Clear.
class List {
 public:
  static constexpr uint32_t kShortAgain = FlatList::kMaxSize / 2;

  // What became of a write.
  struct Written {
    uint64_t before;  // 0: the pair is new
    uint64_t after;
  };
  struct Standing {
    uint64_t count;
    uint64_t position;
  };
  struct Entry {
    Key key;
    uint64_t count;
  };
  using Visitor = absl::FunctionRef<bool(CellKind kind, const char* cell, uint64_t count)>;

  uint64_t size() const;
  bool empty() const { return list_.load(std::memory_order_relaxed) == 0; }

  // Counts the key; if it is not there and `may_add` says no, changes nothing and returns {0, 0}.
  Written Add(const Key& key, uint64_t weight, ListContext& context,
              absl::FunctionRef<bool()> may_add);
  std::optional<Standing> Find(const Key& key, const ListContext& context) const;
  uint64_t CountOf(const Key& key, const ListContext& context) const;  // 0: not there
  // The count it had; 0: it was not there.
  uint64_t Erase(const Key& key, ListContext& context);
  void Clear(ListContext& context);

  // In list order from position `offset` on, until `visit` returns false.
  void Visit(uint64_t offset, Visitor visit) const;

  // Fills an empty list with entries in list order.
  void Assign(std::span<const Entry> entries, ListContext& context);

  // Divides every count by 2^times; what reaches 0 goes.
  void Halve(uint64_t times, ListContext& context);

  // Fetches ahead what Add will touch: to be called with step 0, 1, 2, ... as the memory arrives.
  // Step 0 needs a Reclaimer::Guard only; so do the others on a long list, which IsLong tells.
  static constexpr int kPrefetchSteps = 1 + BucketList::kPrefetchSteps;
  void Prefetch(const Key& key, int step) const;
  bool IsLong() const { return (list_.load(std::memory_order_relaxed) & kLong) != 0; }
  // Under the lock, after the other steps: what is left to fetch, with depth 0, 1, 2, ... On a
  // short list that is one cell. False if there is nothing at this depth or beyond.
  static constexpr int kPrefetchDepths = 2;
  bool PrefetchLocked(const Key& key, int depth) const;

 private:
  static constexpr uintptr_t kLong = 1;

  FlatList* flat() const {
    return reinterpret_cast<FlatList*>(list_.load(std::memory_order_relaxed));
  }
  BucketList* buckets() const {
    return reinterpret_cast<BucketList*>(list_.load(std::memory_order_acquire) & ~kLong);
  }
  void Set(FlatList* flat) {
    list_.store(reinterpret_cast<uintptr_t>(flat), std::memory_order_release);
  }
  void Set(BucketList* buckets) {
    list_.store(reinterpret_cast<uintptr_t>(buckets) | kLong, std::memory_order_release);
  }
  CellKind cell_kind() const { return IsLong() ? buckets()->cell_kind() : flat()->cell_kind(); }
  // Frees the structure, not what its cells refer to.
  void Discard(uintptr_t list, ListContext& context);
  // Builds the list anew: `keep` gives the new count of each entry, 0 to let it go.
  void Rebuild(CellKind kind, uint64_t size, uint64_t max_count,
               absl::FunctionRef<uint64_t(uint64_t)> keep, ListContext& context);
  void MakeRoomFor(const Key& key, ListContext& context);
  void AddNew(const Key& key, uint64_t count, ListContext& context);
  void Settle(ListContext& context);

  std::atomic<uintptr_t> list_ = 0;
};

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_LIST_H_

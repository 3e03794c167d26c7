// Chooses the structure of a list and changes it unseen.
#include "assoc/list.h"

#include <algorithm>
#include <array>
#include <new>

namespace escalona::assoc {
namespace {

BucketList* NewBucketList(CellKind kind, uint64_t capacity, ListContext& context) {
  return new (context.memory.Allocate(sizeof(BucketList)))
      BucketList(kind, static_cast<uint32_t>(capacity), context.memory, context.reclaimer);
}

uint64_t Same(uint64_t count) { return count; }

// Appends cells in list order to a new list of either structure.
class Builder {
 public:
  Builder(CellKind kind, uint64_t size, uint64_t max_count, ListContext& context)
      : context_(context), kind_(kind) {
    if (size > FlatList::kMaxSize) {
      buckets_ = NewBucketList(kind, size, context);
    } else {
      flat_ = FlatList::Make(kind, static_cast<uint32_t>(size), max_count, context.memory);
    }
  }
  void Append(const char* cell, uint64_t count) {
    const uint32_t hash32 = context_.cells.Hash32(kind_, cell);
    if (buckets_ != nullptr) {
      buckets_->PushBack(cell, hash32, count, context_.cells);
    } else {
      flat_ = flat_->PushBack(cell, FlatList::Tag(hash32), count, context_.memory);
    }
  }
  FlatList* flat() const { return flat_; }
  BucketList* buckets() const { return buckets_; }

 private:
  ListContext& context_;
  CellKind kind_;
  FlatList* flat_ = nullptr;
  BucketList* buckets_ = nullptr;
};

}  // namespace

uint64_t List::size() const {
  if (empty()) return 0;
  return IsLong() ? buckets()->size() : flat()->size();
}

void List::Visit(uint64_t offset, Visitor visit) const {
  if (empty()) return;
  const CellKind kind = cell_kind();
  if (IsLong()) {
    buckets()->Visit(offset,
                     [&](const char* cell, uint64_t count) { return visit(kind, cell, count); });
    return;
  }
  const FlatList& list = *flat();
  for (uint64_t i = offset; i < list.size(); ++i) {
    const auto position = static_cast<uint32_t>(i);
    if (!visit(kind, list.CellAt(position), list.CountAt(position))) return;
  }
}

void List::Discard(uintptr_t list, ListContext& context) {
  if ((list & kLong) != 0) {
    // Readers that fetch ahead may be looking at it.
    context.reclaimer.Retire(reinterpret_cast<void*>(list & ~kLong), BucketList::Delete,
                             &context.memory);
  } else {
    context.memory.Free(reinterpret_cast<void*>(list));
  }
}

void List::Rebuild(CellKind kind, uint64_t size, uint64_t max_count,
                   absl::FunctionRef<uint64_t(uint64_t)> keep, ListContext& context) {
  const uintptr_t old = list_.load(std::memory_order_relaxed);
  Builder builder(kind, size, max_count, context);
  std::array<char, kPackedBytes> interned;
  Visit(0, [&](CellKind old_kind, const char* cell, uint64_t count) {
    const uint64_t kept = keep(count);
    if (kept == 0) {
      context.cells.Release(old_kind, cell);
    } else if (old_kind == kind) {
      builder.Append(cell, kept);
    } else {
      context.cells.WriteInterned(old_kind, cell, interned.data());
      builder.Append(interned.data(), kept);
    }
    return true;
  });
  if (builder.buckets() != nullptr) {
    Set(builder.buckets());
  } else {
    Set(builder.flat());
  }
  Discard(old, context);
}

void List::MakeRoomFor(const Key& key, ListContext& context) {
  const bool fits = context.cells.Fits(cell_kind(), key);
  const bool full = !IsLong() && flat()->size() == FlatList::kMaxSize;
  if (fits && !full) return;
  const CellKind kind = fits ? cell_kind() : CellKind::kInterned;
  uint64_t largest = 1;
  Visit(0, [&](CellKind, const char*, uint64_t count) {
    largest = count;
    return false;
  });
  Rebuild(kind, size() + 1, largest, Same, context);
}

void List::AddNew(const Key& key, uint64_t count, ListContext& context) {
  if (empty()) {
    Set(FlatList::Make(context.cells.KindFor(key), 1, count, context.memory));
  } else {
    MakeRoomFor(key, context);
  }
  if (IsLong()) {
    buckets()->Insert(key, count, context.cells);
  } else {
    Set(flat()->Insert(key, count, context.cells, context.memory));
  }
}

List::Written List::Add(const Key& key, uint64_t weight, ListContext& context,
                        absl::FunctionRef<bool()> may_add) {
  const auto raised = [&](uint64_t count) {
    return weight >= context.max_count - count ? context.max_count : count + weight;
  };
  if (IsLong()) {
    BucketList& list = *buckets();
    const uint32_t node = list.Find(key, context.cells);
    if (node != BucketList::kNotFound) {
      const uint64_t before = list.CountOf(node);
      list.Raise(node, raised(before));
      return {before, raised(before)};
    }
  } else if (!empty()) {
    FlatList* list = flat();
    const int position = list->Find(key, context.cells);
    if (position != FlatList::kNotFound) {
      const uint64_t before = list->CountAt(position);
      FlatList* other = list->Raise(position, raised(before), context.memory);
      if (other != list) Set(other);
      return {before, raised(before)};
    }
  }
  if (!may_add()) return {0, 0};
  AddNew(key, raised(0), context);
  return {0, raised(0)};
}

std::optional<List::Standing> List::Find(const Key& key, const ListContext& context) const {
  if (empty()) return std::nullopt;
  if (IsLong()) {
    const uint32_t node = buckets()->Find(key, context.cells);
    if (node == BucketList::kNotFound) return std::nullopt;
    return Standing{buckets()->CountOf(node), buckets()->PositionOf(node)};
  }
  const int position = flat()->Find(key, context.cells);
  if (position == FlatList::kNotFound) return std::nullopt;
  return Standing{flat()->CountAt(position), static_cast<uint64_t>(position)};
}

uint64_t List::Erase(const Key& key, ListContext& context) {
  if (empty()) return 0;
  uint64_t count;
  if (IsLong()) {
    BucketList& list = *buckets();
    const uint32_t node = list.Find(key, context.cells);
    if (node == BucketList::kNotFound) return 0;
    count = list.CountOf(node);
    // The index asks for hashes of interned keys while it erases: the key goes after it.
    std::array<char, kPackedBytes> cell;
    std::copy_n(list.CellOf(node), CellBytes(list.cell_kind()), cell.data());
    list.Erase(node, context.cells);
    context.cells.Release(list.cell_kind(), cell.data());
  } else {
    const int position = flat()->Find(key, context.cells);
    if (position == FlatList::kNotFound) return 0;
    count = flat()->CountAt(position);
    context.cells.Release(flat()->cell_kind(), flat()->CellAt(position));
    Set(flat()->Erase(position, context.memory));
  }
  Settle(context);
  return count;
}

void List::Settle(ListContext& context) {
  const uint64_t left = size();
  const bool vacant = IsLong() && uint64_t{buckets()->high_water()} > 4 * left;
  if (left == 0) {
    Discard(list_.exchange(0, std::memory_order_relaxed), context);
  } else if (IsLong() && (left <= kShortAgain || vacant)) {
    uint64_t largest = 0;
    buckets()->Visit(0, [&](const char*, uint64_t count) {
      largest = count;
      return false;
    });
    Rebuild(cell_kind(), left, largest, Same, context);
  }
}

void List::Clear(ListContext& context) {
  if (empty()) return;
  if (cell_kind() == CellKind::kInterned) {
    Visit(0, [&](CellKind kind, const char* cell, uint64_t) {
      context.cells.Release(kind, cell);
      return true;
    });
  }
  Discard(list_.exchange(0, std::memory_order_relaxed), context);
}

void List::Assign(std::span<const Entry> entries, ListContext& context) {
  if (entries.empty()) return;
  CellKind kind = context.cells.KindFor(entries.front().key);
  for (const Entry& entry : entries) {
    if (!context.cells.Fits(kind, entry.key)) kind = CellKind::kInterned;
  }
  Builder builder(kind, entries.size(), entries.front().count, context);
  std::array<char, kPackedBytes> cell;
  for (const Entry& entry : entries) {
    context.cells.Write(kind, cell.data(), entry.key);
    builder.Append(cell.data(), entry.count);
  }
  if (builder.buckets() != nullptr) {
    Set(builder.buckets());
  } else {
    Set(builder.flat());
  }
}

void List::Halve(uint64_t times, ListContext& context) {
  if (empty() || times == 0) return;
  const auto halved = [times](uint64_t count) { return times < 64 ? count >> times : 0; };
  uint64_t left = 0;
  uint64_t largest = 0;
  Visit(0, [&](CellKind, const char*, uint64_t count) {
    largest = std::max(largest, halved(count));
    left += halved(count) != 0 ? 1 : 0;
    return halved(count) != 0;
  });
  if (left == 0) {
    Clear(context);
  } else {
    Rebuild(cell_kind(), left, largest, halved, context);
  }
}

void List::Prefetch(const Key& key, int step) const {
  // Read once: without the lock the list may change its structure meanwhile.
  const uintptr_t list = list_.load(std::memory_order_acquire);
  if ((list & kLong) == 0) {
    if (step == 0) FlatList::Prefetch(reinterpret_cast<const void*>(list));
    return;
  }
  const auto* buckets = reinterpret_cast<const BucketList*>(list & ~kLong);
  if (step == 0) {
    __builtin_prefetch(buckets, 1);
    __builtin_prefetch(reinterpret_cast<const char*>(buckets) + sizeof(BucketList) / 2, 1);
    __builtin_prefetch(reinterpret_cast<const char*>(buckets + 1) - 1, 1);
  } else {
    buckets->Prefetch(key.Hash32(), step - 1);
  }
}

bool List::PrefetchLocked(const Key& key, int depth) const {
  if (empty()) return false;
  if (!IsLong()) {
    if (depth == 0) flat()->PrefetchCell(key);
    return false;
  }
  if (buckets()->size() > BucketList::kWorthTheWay) return false;
  buckets()->PrefetchWay(key.Hash32(), depth);
  return true;
}

}  // namespace escalona::assoc

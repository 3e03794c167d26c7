// The public counter: validates, finds the list, locks it, and keeps the totals.
#include "escalona/associations.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "assoc/directory.h"
#include "assoc/key.h"
#include "assoc/key_pool.h"
#include "assoc/list.h"
#include "assoc/memory_account.h"
#include "assoc/reclaimer.h"
#include "assoc/rw_spin_lock.h"

namespace escalona {
namespace {

using assoc::Associator;
using assoc::CellKind;
using assoc::Directory;
using assoc::ExclusiveHold;
using assoc::Key;
using assoc::List;
using assoc::MakeKey;
using assoc::Reclaimer;

bool IsValidKey(std::string_view text) {
  return !text.empty() && text.size() <= kMaxAssociationKeyBytes;
}

absl::Status CheckKey(std::string_view text, const char* what) {
  if (text.empty()) return absl::InvalidArgumentError(absl::StrCat(what, " is empty"));
  if (text.size() <= kMaxAssociationKeyBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " has ", text.size(), " bytes; at most ",
                                                 kMaxAssociationKeyBytes, " are allowed"));
}

absl::Status CheckIncrement(const AssociationIncrement& item) {
  if (absl::Status status = CheckKey(item.associator, "associator"); !status.ok()) return status;
  if (absl::Status status = CheckKey(item.key, "key"); !status.ok()) return status;
  if (item.weight == 0) return absl::InvalidArgumentError("weight is 0; it must be at least 1");
  return absl::OkStatus();
}

}  // namespace

class AssociationCounter::Impl {
 public:
  explicit Impl(const AssociationOptions& options)
      : options_(options),
        pool_(memory_),
        context_{.cells = assoc::Cells(pool_, options.hash_seed, options.intern_ids),
                 .memory = memory_,
                 .reclaimer = reclaimer_,
                 .max_count = std::max<uint64_t>(options.max_count, 2)},
        directory_(memory_, reclaimer_) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    for (uint32_t shard = 0; shard < Directory::kShards; ++shard) {
      directory_.ForEachIn(shard, [&](Associator* entry) { entry->list.Clear(context_); });
    }
  }

  Key KeyOf(std::string_view text) const { return MakeKey(text, options_.hash_seed); }
  Reclaimer& reclaimer() { return reclaimer_; }
  Directory& directory() { return directory_; }
  size_t MemoryBytes() const { return memory_.Bytes() + sizeof(*this); }
  uint64_t Age() const { return age_.load(std::memory_order_acquire); }

  // Counts; `entry` is where the associator was found, or null. The caller holds a guard.
  absl::StatusOr<uint64_t> Add(const Key& name, const Key& key, uint64_t weight, Associator* entry);
  void AddWindow(std::span<const AssociationIncrement> items, size_t first_index,
                 uint64_t& accepted, std::vector<AssociationBatchError>* errors);

  // Runs body(entry) under the shared lock of the associator, if there is one.
  template <typename Body>
  void Read(std::string_view associator, const Body& body);
  // The same under its exclusive lock; an associator left without keys is removed.
  template <typename Body>
  void Write(std::string_view associator, const Body& body);

  uint64_t Clear(Associator& entry);
  uint64_t Erase(Associator& entry, const Key& key);
  absl::Status Replace(std::string_view associator, std::span<const List::Entry> entries);
  void AppendTo(CellKind kind, const char* cell, std::string& text) const {
    context_.cells.AppendText(kind, cell, text);
  }
  std::optional<List::Standing> Find(const Associator& entry, const Key& key) const {
    return entry.list.Find(key, context_);
  }
  AssociationTotals Totals() const;
  void SetAge(uint64_t age);
  std::vector<std::string> Names(uint32_t shard);
  std::vector<std::string> Cold(size_t limit);

 private:
  struct alignas(64) Sum {
    std::atomic<uint64_t> count = 0;
  };

  static constexpr size_t kWindow = 32;

  friend class AssociationCounter;

  bool ReservePairs(uint64_t pairs);
  void AddToTotal(Associator& entry, uint64_t change) {
    entry.total += change;
    sums_[Directory::ShardOf(entry.hash)].count.fetch_add(change, std::memory_order_relaxed);
  }
  bool IsStale(const Associator& entry) const {
    return entry.age != age_.load(std::memory_order_relaxed);
  }
  // Brings the counts up to the present age; the exclusive lock is held.
  void Freshen(Associator& entry);
  // Marks an associator without keys gone; the exclusive lock is held. Whoever is told true calls
  // Directory::Remove after unlocking.
  static bool MarkIfEmpty(Associator& entry) {
    if (entry.gone || !entry.list.empty()) return false;
    entry.gone = true;
    return true;
  }

  const AssociationOptions options_;
  assoc::MemoryAccount memory_;
  Reclaimer reclaimer_;
  assoc::KeyPool pool_;
  assoc::ListContext context_;
  Directory directory_;
  std::atomic<uint64_t> pairs_ = 0;
  std::atomic<uint32_t> age_ = 0;
  std::array<Sum, Directory::kShards> sums_;
  std::mutex cold_mutex_;
  uint32_t cold_shard_ = 0;  // guarded by cold_mutex_
};

bool AssociationCounter::Impl::ReservePairs(uint64_t pairs) {
  uint64_t now = pairs_.load(std::memory_order_relaxed);
  do {
    if (now > options_.max_pairs || pairs > options_.max_pairs - now) return false;
  } while (!pairs_.compare_exchange_weak(now, now + pairs, std::memory_order_relaxed));
  return true;
}

void AssociationCounter::Impl::Freshen(Associator& entry) {
  const uint32_t age = age_.load(std::memory_order_relaxed);
  if (entry.age == age) return;
  const uint64_t before = entry.list.size();
  if (before != 0) {
    entry.list.Halve(age - entry.age, context_);
    uint64_t total = 0;
    entry.list.Visit(0, [&](CellKind, const char*, uint64_t count) {
      total += count;
      return true;
    });
    pairs_.fetch_sub(before - entry.list.size(), std::memory_order_relaxed);
    AddToTotal(entry, total - entry.total);
  }
  entry.age = age;
}

absl::StatusOr<uint64_t> AssociationCounter::Impl::Add(const Key& name, const Key& key,
                                                       uint64_t weight, Associator* entry) {
  while (true) {
    if (entry == nullptr) entry = directory_.FindOrCreate(name);
    bool empty = false;
    {
      const ExclusiveHold hold(entry->lock);
      if (!entry->gone) {
        Freshen(*entry);
        entry->touched.store(true, std::memory_order_relaxed);
        const List::Written written =
            entry->list.Add(key, weight, context_, [&] { return ReservePairs(1); });
        if (written.after != 0) {
          AddToTotal(*entry, written.after - written.before);
          return written.after;
        }
        empty = MarkIfEmpty(*entry);
        if (!empty) break;
      }
    }
    if (empty) {
      directory_.Remove(entry);
      break;
    }
    entry = nullptr;
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the namespace is full: it may have ", options_.max_pairs, " pairs"));
}

void AssociationCounter::Impl::AddWindow(std::span<const AssociationIncrement> items,
                                         size_t first_index, uint64_t& accepted,
                                         std::vector<AssociationBatchError>* errors) {
  struct Prepared {
    Key name;
    Key key;
    Associator* entry;
    size_t index;
  };
  std::array<Prepared, kWindow> window;
  size_t size = 0;
  const auto refuse = [&](size_t index, absl::Status status) {
    if (errors != nullptr) errors->push_back({first_index + index, std::move(status)});
  };
  for (size_t i = 0; i < items.size(); ++i) {
    if (absl::Status status = CheckIncrement(items[i]); !status.ok()) {
      refuse(i, std::move(status));
      continue;
    }
    window[size] = {KeyOf(items[i].associator), KeyOf(items[i].key), nullptr, i};
    directory_.PrefetchTable(window[size++].name);
  }
  for (size_t i = 0; i < size; ++i) directory_.PrefetchAssociator(window[i].name);
  for (size_t i = 0; i < size; ++i) {
    window[i].entry = directory_.Find(window[i].name);
    if (window[i].entry != nullptr) window[i].entry->list.Prefetch(window[i].key, 0);
  }
  for (int step = 1; step < List::kPrefetchSteps; ++step) {
    for (size_t i = 0; i < size; ++i) {
      if (window[i].entry != nullptr) window[i].entry->list.Prefetch(window[i].key, step);
    }
  }
  std::array<bool, kWindow> more;
  more.fill(true);
  for (int depth = 0; depth < List::kPrefetchDepths; ++depth) {
    for (size_t i = 0; i < size; ++i) {
      Associator* entry = window[i].entry;
      if (!more[i] || entry == nullptr || !entry->lock.TryLockShared()) continue;
      more[i] = entry->list.PrefetchLocked(window[i].key, depth);
      entry->lock.UnlockShared();
    }
  }
  for (size_t i = 0; i < size; ++i) {
    const Prepared& item = window[i];
    auto counted = Add(item.name, item.key, items[item.index].weight, item.entry);
    if (counted.ok()) {
      ++accepted;
    } else {
      refuse(item.index, counted.status());
    }
  }
}

template <typename Body>
void AssociationCounter::Impl::Read(std::string_view associator, const Body& body) {
  if (!IsValidKey(associator)) return;
  const Key name = KeyOf(associator);
  const Reclaimer::Guard guard(reclaimer_);
  while (Associator* entry = directory_.Find(name)) {
    {
      const assoc::SharedHold hold(entry->lock);
      if (!entry->gone && !IsStale(*entry)) {
        entry->touched.store(true, std::memory_order_relaxed);
        body(std::as_const(*entry));
        return;
      }
    }
    if (options_.keep_faded) {
      const ExclusiveHold hold(entry->lock);
      if (!entry->gone) Freshen(*entry);
    } else {
      Write(associator, [](Associator&) {});  // makes it fresh
    }
  }
}

template <typename Body>
void AssociationCounter::Impl::Write(std::string_view associator, const Body& body) {
  if (!IsValidKey(associator)) return;
  const Key name = KeyOf(associator);
  const Reclaimer::Guard guard(reclaimer_);
  while (Associator* entry = directory_.Find(name)) {
    bool gone;
    bool empty = false;
    {
      const ExclusiveHold hold(entry->lock);
      gone = entry->gone;
      if (!gone) {
        Freshen(*entry);
        body(*entry);
        empty = MarkIfEmpty(*entry);
      }
    }
    if (empty) directory_.Remove(entry);
    if (!gone) return;
  }
}

uint64_t AssociationCounter::Impl::Clear(Associator& entry) {
  const uint64_t pairs = entry.list.size();
  entry.list.Clear(context_);
  pairs_.fetch_sub(pairs, std::memory_order_relaxed);
  AddToTotal(entry, uint64_t{0} - entry.total);
  return pairs;
}

uint64_t AssociationCounter::Impl::Erase(Associator& entry, const Key& key) {
  const uint64_t count = entry.list.Erase(key, context_);
  if (count == 0) return 0;
  pairs_.fetch_sub(1, std::memory_order_relaxed);
  AddToTotal(entry, uint64_t{0} - count);
  return 1;
}

absl::Status AssociationCounter::Impl::Replace(std::string_view associator,
                                               std::span<const List::Entry> entries) {
  const Key name = KeyOf(associator);
  const Reclaimer::Guard guard(reclaimer_);
  if (!ReservePairs(entries.size())) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the namespace is full: it may have ", options_.max_pairs, " pairs"));
  }
  while (true) {
    Associator* entry = directory_.FindOrCreate(name);
    const ExclusiveHold hold(entry->lock);
    if (entry->gone) continue;
    Freshen(*entry);
    Clear(*entry);
    entry->list.Assign(entries, context_);
    uint64_t total = 0;
    for (const List::Entry& item : entries) total += item.count;
    AddToTotal(*entry, total);
    return absl::OkStatus();
  }
}

AssociationTotals AssociationCounter::Impl::Totals() const {
  AssociationTotals totals{.associators = directory_.size(),
                           .pairs = pairs_.load(std::memory_order_relaxed)};
  for (const Sum& sum : sums_) totals.count += sum.count.load(std::memory_order_relaxed);
  return totals;
}

void AssociationCounter::Impl::SetAge(uint64_t age) {
  constexpr uint64_t kOldest = std::numeric_limits<uint32_t>::max();
  const auto wanted = static_cast<uint32_t>(std::min(age, kOldest));
  uint32_t now = age_.load(std::memory_order_relaxed);
  while (now < wanted && !age_.compare_exchange_weak(now, wanted, std::memory_order_acq_rel)) {
  }
}

std::vector<std::string> AssociationCounter::Impl::Names(uint32_t shard) {
  std::vector<std::string> names;
  const Reclaimer::Guard guard(reclaimer_);
  directory_.ForEachIn(shard, [&](const Associator* entry) { names.push_back(entry->Name()); });
  return names;
}

std::vector<std::string> AssociationCounter::Impl::Cold(size_t limit) {
  std::vector<std::string> names;
  const std::lock_guard<std::mutex> lock(cold_mutex_);
  const Reclaimer::Guard guard(reclaimer_);
  // Twice round: the first may only have taken the second chances.
  for (uint32_t i = 0; i < 2 * Directory::kShards && names.size() < limit; ++i) {
    if (i == Directory::kShards && !names.empty()) break;  // no name twice
    bool whole = true;
    directory_.ForEachIn(cold_shard_, [&](Associator* entry) {
      if (names.size() == limit) {
        whole = false;
      } else if (!entry->touched.exchange(false, std::memory_order_relaxed)) {
        names.push_back(entry->Name());
      }
    });
    if (whole) cold_shard_ = (cold_shard_ + 1) % Directory::kShards;
  }
  return names;
}

AssociationCounter::AssociationCounter(const AssociationOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}

AssociationCounter::~AssociationCounter() = default;

absl::StatusOr<uint64_t> AssociationCounter::Increment(std::string_view associator,
                                                       std::string_view key, uint64_t weight) {
  if (absl::Status status = CheckIncrement({associator, key, weight}); !status.ok()) return status;
  const Reclaimer::Guard guard(impl_->reclaimer());
  const Key name = impl_->KeyOf(associator);
  const Key counted = impl_->KeyOf(key);
  Associator* entry = impl_->directory().Find(name);
  if (entry != nullptr) entry->list.Prefetch(counted, 0);  // its lines at once, not one by one
  return impl_->Add(name, counted, weight, entry);
}

uint64_t AssociationCounter::IncrementBatch(std::span<const AssociationIncrement> items,
                                            std::vector<AssociationBatchError>* errors) {
  uint64_t accepted = 0;
  for (size_t first = 0; first < items.size(); first += Impl::kWindow) {
    const Reclaimer::Guard guard(impl_->reclaimer());
    const size_t size = std::min(Impl::kWindow, items.size() - first);
    impl_->AddWindow(items.subspan(first, size), first, accepted, errors);
  }
  return accepted;
}

absl::StatusOr<std::vector<CountedKey>> AssociationCounter::Top(std::string_view associator,
                                                                int64_t k, int64_t offset,
                                                                uint64_t min) const {
  if (k < 1) return absl::InvalidArgumentError(absl::StrCat("k is ", k, "; it must be at least 1"));
  if (offset < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("offset is ", offset, "; it must not be negative"));
  }
  std::vector<CountedKey> top;
  impl_->Read(associator, [&](const Associator& entry) {
    entry.list.Visit(offset, [&](CellKind kind, const char* cell, uint64_t count) {
      if (count < min) return false;
      impl_->AppendTo(kind, cell, top.emplace_back(CountedKey{.key = {}, .count = count}).key);
      return top.size() < static_cast<uint64_t>(k);
    });
  });
  return top;
}

std::optional<PairStanding> AssociationCounter::CountAndRank(std::string_view associator,
                                                             std::string_view key) const {
  std::optional<PairStanding> standing;
  if (!IsValidKey(key)) return standing;
  impl_->Read(associator, [&](const Associator& entry) {
    if (const auto found = impl_->Find(entry, impl_->KeyOf(key))) {
      standing = PairStanding{.count = found->count, .rank = found->position + 1};
    }
  });
  return standing;
}

bool AssociationCounter::DeletePair(std::string_view associator, std::string_view key) {
  if (!IsValidKey(key)) return false;
  bool deleted = false;
  impl_->Write(associator,
               [&](Associator& entry) { deleted = impl_->Erase(entry, impl_->KeyOf(key)) != 0; });
  return deleted;
}

uint64_t AssociationCounter::DeleteAssociator(std::string_view associator) {
  uint64_t pairs = 0;
  impl_->Write(associator, [&](Associator& entry) { pairs = impl_->Clear(entry); });
  return pairs;
}

uint64_t AssociationCounter::DeleteKeyEverywhere(std::string_view key) {
  uint64_t lists = 0;
  ForEachAssociator([&](std::string_view associator) {
    lists += DeletePair(associator, key) ? 1 : 0;
    return true;
  });
  return lists;
}

bool AssociationCounter::Contains(std::string_view associator) const {
  bool found = false;
  impl_->Read(associator, [&](const Associator&) { found = true; });
  return found;
}

AssociatorTotals AssociationCounter::TotalsOf(std::string_view associator) const {
  AssociatorTotals totals;
  impl_->Read(associator, [&](const Associator& entry) {
    totals = {.pairs = entry.list.size(), .count = entry.total};
  });
  return totals;
}

AssociationTotals AssociationCounter::Totals() const { return impl_->Totals(); }

void AssociationCounter::ForEachKey(
    std::string_view associator,
    const std::function<bool(std::string_view key, uint64_t count)>& visit) const {
  std::string key;
  impl_->Read(associator, [&](const Associator& entry) {
    entry.list.Visit(0, [&](CellKind kind, const char* cell, uint64_t count) {
      key.clear();
      impl_->AppendTo(kind, cell, key);
      return visit(key, count);
    });
  });
}

void AssociationCounter::ForEachAssociator(
    const std::function<bool(std::string_view associator)>& visit) const {
  for (uint32_t shard = 0; shard < Directory::kShards; ++shard) {
    for (const std::string& name : impl_->Names(shard)) {
      if (!visit(name)) return;
    }
  }
}

absl::Status AssociationCounter::Load(std::string_view associator,
                                      std::span<const CountedKey> list) {
  if (absl::Status status = CheckKey(associator, "associator"); !status.ok()) return status;
  std::vector<List::Entry> entries;
  entries.reserve(list.size());
  absl::flat_hash_set<std::string_view> seen;
  seen.reserve(list.size());
  uint64_t last = impl_->context_.max_count;
  for (size_t i = 0; i < list.size(); ++i) {
    const CountedKey& item = list[i];
    if (absl::Status status = CheckKey(item.key, "key"); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("entry ", i, ": ", status.message()));
    }
    if (item.count == 0 || item.count > last) {
      return absl::InvalidArgumentError(
          absl::StrCat("entry ", i, ": count ", item.count, "; it must be in [1, ", last, "]"));
    }
    if (!seen.insert(item.key).second) {
      return absl::InvalidArgumentError(absl::StrCat("entry ", i, ": its key came before"));
    }
    last = item.count;
    entries.push_back({impl_->KeyOf(item.key), item.count});
  }
  if (entries.empty()) {
    DeleteAssociator(associator);
    return absl::OkStatus();
  }
  return impl_->Replace(associator, entries);
}

std::vector<CountedKey> AssociationCounter::Extract(std::string_view associator) {
  std::vector<CountedKey> list;
  impl_->Write(associator, [&](Associator& entry) {
    list.reserve(entry.list.size());
    entry.list.Visit(0, [&](CellKind kind, const char* cell, uint64_t count) {
      impl_->AppendTo(kind, cell, list.emplace_back(CountedKey{.key = {}, .count = count}).key);
      return true;
    });
    impl_->Clear(entry);
  });
  return list;
}

std::vector<std::string> AssociationCounter::ColdAssociators(size_t limit) {
  return impl_->Cold(limit);
}

void AssociationCounter::SetAge(uint64_t half_lives) { impl_->SetAge(half_lives); }

uint64_t AssociationCounter::Age() const { return impl_->Age(); }

void AssociationCounter::Settle() {
  ForEachAssociator([&](std::string_view associator) {
    impl_->Write(associator, [](Associator&) {});
    return true;
  });
}

size_t AssociationCounter::MemoryBytes() const { return impl_->MemoryBytes(); }

}  // namespace escalona

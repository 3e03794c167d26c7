// Puts log, checkpoints and eviction around a counter.
#include "assoc/durable.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "assoc/key.h"
#include "base/varint.h"

namespace escalona::assoc {
namespace {

constexpr size_t kCheckpointBytes = 4 << 20;  // lists go to the store in batches of this size
constexpr size_t kGatheredBytes = 64 << 10;   // of the log, between two calls of Sync
constexpr size_t kEvictedAtOnce = 64;

absl::string_view AbslView(std::string_view text) { return {text.data(), text.size()}; }

// The counter alone knows what is in memory; what may be in the store besides, this class does.
AssociationOptions WithoutQuota(AssociationOptions options) {
  options.max_pairs = std::numeric_limits<uint64_t>::max();
  return options;
}

ChangeLog::Options LogOptions(const DurableOptions& options) {
  const bool sync = options.durability == Durability::kSync;
  return {.prefix = options.prefix + "L",
          .reach = sync ? store::Reach::kDisk : store::Reach::kOs,
          .gather_bytes = sync ? 0 : kGatheredBytes,
          .enabled = options.durability != Durability::kNone};
}

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxAssociationKeyBytes;
}

uint64_t Sum(const std::vector<CountedKey>& list) {
  uint64_t sum = 0;
  for (const CountedKey& entry : list) sum += entry.count;
  return sum;
}

void Halve(uint64_t times, std::vector<CountedKey>& list) {
  for (CountedKey& entry : list) entry.count = times < 64 ? entry.count >> times : 0;
  std::erase_if(list, [](const CountedKey& entry) { return entry.count == 0; });
}

}  // namespace

// Holds all stripes: nothing changes meanwhile.
class DurableAssociations::AllStripes {
 public:
  explicit AllStripes(std::array<Stripe, kStripes>& stripes) {
    locks_.reserve(stripes.size());
    for (Stripe& stripe : stripes) locks_.emplace_back(stripe.mutex);
  }

 private:
  std::vector<std::unique_lock<std::mutex>> locks_;
};

DurableAssociations::DurableAssociations(store::Store& store, const DurableOptions& options)
    : store_(store),
      options_(options),
      counter_(WithoutQuota(options.counter)),
      log_(store, LogOptions(options)) {}

DurableAssociations::~DurableAssociations() { log_.Flush().IgnoreError(); }

absl::StatusOr<std::unique_ptr<DurableAssociations>> DurableAssociations::Open(
    store::Store& store, const DurableOptions& options) {
  std::unique_ptr<DurableAssociations> opened(new DurableAssociations(store, options));
  if (absl::Status status = opened->Recover(); !status.ok()) return status;
  return opened;
}

std::string DurableAssociations::ListKey(std::string_view associator) const {
  std::string key = options_.prefix;
  key += 'A';
  key += associator;
  return key;
}

std::string DurableAssociations::HeadKey(std::string_view associator) const {
  std::string key = options_.prefix;
  key += 'T';
  key += associator;
  return key;
}

DurableAssociations::Stripe& DurableAssociations::StripeOf(std::string_view associator) {
  return stripes_[HashKey(KeyKind::kBytes, associator, 0) % kStripes];
}

absl::Status DurableAssociations::Recover() {
  const auto age = store_.Get(options_.prefix + "H");
  if (!age.ok()) return age.status();
  if (age->has_value()) {
    uint64_t half_lives;
    std::string_view bytes = **age;
    if (!TakeVarint(bytes, half_lives)) return absl::DataLossError("stored age: not a number");
    counter_.SetAge(half_lives);
  }
  uint64_t newest = 0;
  absl::Status status;
  absl::Status scanned =
      store_.ScanPrefix(options_.prefix + "T", [&](std::string_view, std::string_view bytes) {
        const auto head = DecodeListHead(bytes);
        if (!head.ok()) {
          status = head.status();
          return false;
        }
        newest = std::max(newest, head->sequence);
        ++away_associators_;
        away_pairs_ += head->pairs;
        away_count_ += head->total;
        return true;
      });
  if (!scanned.ok()) return scanned;
  if (!status.ok()) return status;
  absl::flat_hash_map<std::string, uint64_t> contained;
  uint64_t first = 0;
  status = log_.Replay([&](uint64_t number, const Change& change) -> absl::Status {
    if (first == 0) first = number;
    Stripe& stripe = StripeOf(change.associator);
    {
      const std::lock_guard<std::mutex> lock(stripe.mutex);
      uint64_t& last = contained[change.associator];
      if (absl::Status read = Load(stripe, change.associator, &last); !read.ok()) return read;
      if (number <= last) return absl::OkStatus();
      switch (change.kind) {
        case Change::Kind::kIncrement: {
          auto counted = counter_.Increment(change.associator, change.key, change.weight);
          if (!counted.ok()) return counted.status();
          break;
        }
        case Change::Kind::kDeletePair:
          counter_.DeletePair(change.associator, change.key);
          break;
        case Change::Kind::kDeleteAssociator:
          counter_.DeleteAssociator(change.associator);
          break;
      }
      MarkChanged(stripe, change.associator, number);
    }
    return EvictIfNeeded();
  });
  if (!status.ok()) return status;
  log_.ContinueAfter(newest);
  checkpointed_ = first == 0 ? log_.last() : first - 1;
  return absl::OkStatus();
}

absl::Status DurableAssociations::Load(Stripe& stripe, std::string_view associator,
                                       uint64_t* sequence) {
  if (away_associators_.load(std::memory_order_relaxed) == 0 || !IsName(associator)) {
    return absl::OkStatus();
  }
  if (counter_.TotalsOf(associator).pairs != 0) return absl::OkStatus();
  if (stripe.changed.contains(AbslView(associator))) return absl::OkStatus();  // deleted since
  const auto bytes = store_.Get(ListKey(associator));
  if (!bytes.ok()) return bytes.status();
  if (!bytes->has_value()) return absl::OkStatus();
  auto record = DecodeList(**bytes);
  if (!record.ok()) return record.status();
  const uint64_t pairs = record->list.size();
  const uint64_t count = Sum(record->list);
  if (record->age < counter_.Age()) {
    Halve(counter_.Age() - record->age, record->list);
    if (record->list.empty()) {
      // Nothing of it is left. The log is younger than its age, so no change of it can return.
      store::Batch batch;
      batch.Delete(ListKey(associator));
      batch.Delete(HeadKey(associator));
      if (absl::Status status = store_.Write(batch, store::Reach::kOs); !status.ok()) return status;
    }
  }
  if (absl::Status status = counter_.Load(associator, record->list); !status.ok()) {
    return absl::DataLossError(absl::StrCat("stored list: ", status.message()));
  }
  if (sequence != nullptr) *sequence = record->sequence;
  --away_associators_;
  away_pairs_ -= pairs;
  away_count_ -= count;
  return absl::OkStatus();
}

void DurableAssociations::MarkChanged(Stripe& stripe, std::string_view associator,
                                      uint64_t number) {
  const auto found = stripe.changed.find(AbslView(associator));
  if (found != stripe.changed.end()) {
    found->second = number;
  } else {
    stripe.changed.emplace(std::string(associator), number);
  }
}

absl::Status DurableAssociations::CheckQuota(const AssociationIncrement& item) const {
  const uint64_t most = options_.counter.max_pairs;
  if (most == std::numeric_limits<uint64_t>::max() || Totals().pairs < most) {
    return absl::OkStatus();
  }
  if (counter_.CountAndRank(item.associator, item.key).has_value()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the namespace is full: it may have ", most, " pairs"));
}

absl::StatusOr<uint64_t> DurableAssociations::CountOne(Stripe& stripe,
                                                       const AssociationIncrement& item,
                                                       uint64_t& number) {
  if (absl::Status status = Load(stripe, item.associator); !status.ok()) return status;
  if (absl::Status status = CheckQuota(item); !status.ok()) return status;
  auto counted = counter_.Increment(item.associator, item.key, item.weight);
  if (!counted.ok()) return counted;
  std::string change;
  AppendChange(Change::Kind::kIncrement, item.associator, item.key, item.weight, change);
  number = log_.Append(change, 1);
  MarkChanged(stripe, item.associator, number);
  return counted;
}

absl::Status DurableAssociations::Count(Stripe& stripe, std::span<const AssociationIncrement> items,
                                        uint64_t& number,
                                        std::vector<AssociationBatchError>& refused) {
  for (const AssociationIncrement& item : items) {
    if (absl::Status status = Load(stripe, item.associator); !status.ok()) return status;
  }
  const uint64_t accepted = counter_.IncrementBatch(items, &refused);
  if (accepted == 0) return absl::OkStatus();
  std::string changes;
  const auto for_each_accepted = [&](const auto& body) {
    auto wrong = refused.begin();
    for (size_t i = 0; i < items.size(); ++i) {
      if (wrong != refused.end() && wrong->index == i) {
        ++wrong;
      } else {
        body(items[i]);
      }
    }
  };
  for_each_accepted([&](const AssociationIncrement& item) {
    AppendChange(Change::Kind::kIncrement, item.associator, item.key, item.weight, changes);
  });
  number = log_.Append(changes, accepted);
  // The last number for all: those between its own and this are of other associators.
  for_each_accepted(
      [&](const AssociationIncrement& item) { MarkChanged(stripe, item.associator, number); });
  return absl::OkStatus();
}

absl::Status DurableAssociations::CountStripe(Stripe& stripe,
                                              std::span<const AssociationIncrement> items,
                                              std::span<const size_t> indices, uint64_t& number,
                                              std::vector<AssociationBatchError>& refused) {
  const std::lock_guard<std::mutex> lock(stripe.mutex);
  if (options_.counter.max_pairs != std::numeric_limits<uint64_t>::max()) {
    // One by one: whether there is room depends on the item before.
    for (const size_t index : indices) {
      const auto counted = CountOne(stripe, items[index], number);
      if (!counted.ok()) refused.push_back({index, counted.status()});
    }
    return absl::OkStatus();
  }
  std::vector<AssociationIncrement> own;
  own.reserve(indices.size());
  for (const size_t index : indices) own.push_back(items[index]);
  std::vector<AssociationBatchError> wrong;
  if (absl::Status status = Count(stripe, own, number, wrong); !status.ok()) return status;
  for (AssociationBatchError& error : wrong) {
    refused.push_back({indices[error.index], std::move(error.status)});
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> DurableAssociations::IncrementBatch(
    std::span<const AssociationIncrement> items, std::vector<AssociationBatchError>* errors) {
  std::array<std::vector<size_t>, kStripes> by_stripe;
  for (size_t i = 0; i < items.size(); ++i) {
    by_stripe[&StripeOf(items[i].associator) - stripes_.data()].push_back(i);
  }
  uint64_t last = 0;
  std::vector<AssociationBatchError> refused;
  absl::Status status;
  for (size_t i = 0; i < kStripes && status.ok(); ++i) {
    if (by_stripe[i].empty()) continue;
    uint64_t number = 0;
    status = CountStripe(stripes_[i], items, by_stripe[i], number, refused);
    last = std::max(last, number);
  }
  // What was counted before something failed is in memory and must be in the log.
  if (absl::Status committed = log_.Commit(last); !committed.ok()) return committed;
  if (status.ok()) status = EvictIfNeeded();
  if (!status.ok()) return status;
  const uint64_t accepted = items.size() - refused.size();
  if (errors != nullptr) {
    std::sort(refused.begin(), refused.end(),
              [](const auto& a, const auto& b) { return a.index < b.index; });
    std::move(refused.begin(), refused.end(), std::back_inserter(*errors));
  }
  return accepted;
}

absl::StatusOr<uint64_t> DurableAssociations::Increment(std::string_view associator,
                                                        std::string_view key, uint64_t weight) {
  uint64_t number = 0;
  absl::StatusOr<uint64_t> counted;
  {
    Stripe& stripe = StripeOf(associator);
    const std::lock_guard<std::mutex> lock(stripe.mutex);
    counted = CountOne(stripe, {associator, key, weight}, number);
  }
  if (!counted.ok()) return counted;
  if (absl::Status status = log_.Commit(number); !status.ok()) return status;
  if (absl::Status status = EvictIfNeeded(); !status.ok()) return status;
  return counted;
}

absl::Status DurableAssociations::ReadStored(std::string_view associator,
                                             absl::FunctionRef<void()> read) {
  if (away_associators_.load() == 0 || !IsName(associator)) return absl::OkStatus();
  {
    Stripe& stripe = StripeOf(associator);
    const std::lock_guard<std::mutex> lock(stripe.mutex);
    if (absl::Status status = Load(stripe, associator); !status.ok()) return status;
    read();
  }
  return EvictIfNeeded();
}

absl::StatusOr<std::vector<CountedKey>> DurableAssociations::Top(std::string_view associator,
                                                                 int64_t k, int64_t offset,
                                                                 uint64_t min) {
  auto top = counter_.Top(associator, k, offset, min);
  if (!top.ok() || !top->empty()) return top;
  const absl::Status status =
      ReadStored(associator, [&] { top = counter_.Top(associator, k, offset, min); });
  if (!status.ok()) return status;
  return top;
}

absl::StatusOr<std::optional<PairStanding>> DurableAssociations::CountAndRank(
    std::string_view associator, std::string_view key) {
  auto standing = counter_.CountAndRank(associator, key);
  if (standing.has_value()) return standing;
  const absl::Status status =
      ReadStored(associator, [&] { standing = counter_.CountAndRank(associator, key); });
  if (!status.ok()) return status;
  return standing;
}

absl::StatusOr<AssociatorTotals> DurableAssociations::TotalsOf(std::string_view associator) {
  AssociatorTotals totals = counter_.TotalsOf(associator);
  if (totals.pairs != 0) return totals;
  const absl::Status status =
      ReadStored(associator, [&] { totals = counter_.TotalsOf(associator); });
  if (!status.ok()) return status;
  return totals;
}

absl::StatusOr<bool> DurableAssociations::DeletePair(std::string_view associator,
                                                     std::string_view key) {
  uint64_t number;
  {
    Stripe& stripe = StripeOf(associator);
    const std::lock_guard<std::mutex> lock(stripe.mutex);
    if (absl::Status status = Load(stripe, associator); !status.ok()) return status;
    if (!counter_.DeletePair(associator, key)) return false;
    std::string change;
    AppendChange(Change::Kind::kDeletePair, associator, key, 1, change);
    number = log_.Append(change, 1);
    MarkChanged(stripe, associator, number);
  }
  if (absl::Status status = log_.Commit(number); !status.ok()) return status;
  if (absl::Status status = EvictIfNeeded(); !status.ok()) return status;
  return true;
}

absl::StatusOr<uint64_t> DurableAssociations::DeleteAssociator(std::string_view associator) {
  uint64_t number;
  uint64_t pairs;
  {
    Stripe& stripe = StripeOf(associator);
    const std::lock_guard<std::mutex> lock(stripe.mutex);
    if (absl::Status status = Load(stripe, associator); !status.ok()) return status;
    pairs = counter_.DeleteAssociator(associator);
    if (pairs == 0) return pairs;
    std::string change;
    AppendChange(Change::Kind::kDeleteAssociator, associator, {}, 1, change);
    number = log_.Append(change, 1);
    MarkChanged(stripe, associator, number);
  }
  if (absl::Status status = log_.Commit(number); !status.ok()) return status;
  return pairs;
}

absl::StatusOr<uint64_t> DurableAssociations::DeleteKeyEverywhere(std::string_view key) {
  uint64_t lists = 0;
  absl::Status status;
  const absl::Status visited = ForEachAssociator([&](std::string_view associator) {
    const auto deleted = DeletePair(associator, key);
    status = deleted.status();
    lists += deleted.ok() && *deleted ? 1 : 0;
    return status.ok();
  });
  if (!visited.ok()) return visited;
  if (!status.ok()) return status;
  return lists;
}

absl::Status DurableAssociations::ForEachAssociator(
    absl::FunctionRef<bool(std::string_view associator)> visit) {
  if (absl::Status status = Checkpoint(); !status.ok()) return status;
  const std::string prefix = options_.prefix + "T";
  return store_.ScanPrefix(prefix, [&](std::string_view key, std::string_view) {
    return visit(key.substr(prefix.size()));
  });
}

AssociationTotals DurableAssociations::Totals() const {
  AssociationTotals totals = counter_.Totals();
  totals.associators += away_associators_;
  totals.pairs += away_pairs_;
  totals.count += away_count_;
  return totals;
}

uint64_t DurableAssociations::LogChanges() const { return log_.last() - checkpointed_; }

absl::Status DurableAssociations::Sync() {
  if (absl::Status status = log_.Flush(); !status.ok()) return status;
  return store_.Sync();
}

void DurableAssociations::Store(std::string_view associator, uint64_t number, store::Batch& batch) {
  ListRecord record{.sequence = number, .age = counter_.Age(), .list = {}};
  counter_.ForEachKey(associator, [&](std::string_view key, uint64_t count) {
    record.list.push_back({std::string(key), count});
    return true;
  });
  if (record.list.empty()) {
    batch.Delete(ListKey(associator));
    batch.Delete(HeadKey(associator));
  } else {
    batch.Put(ListKey(associator), EncodeList(record));
    batch.Put(HeadKey(associator), EncodeListHead(HeadOf(record)));
  }
}

absl::Status DurableAssociations::CheckpointLocked(store::Batch batch) {
  const uint64_t last = log_.last();
  if (absl::Status status = log_.Flush(); !status.ok()) return status;
  store::Batch lists;
  for (Stripe& stripe : stripes_) {
    for (const auto& [associator, number] : stripe.changed) {
      Store(associator, number, lists);
      if (lists.bytes() < kCheckpointBytes) continue;
      if (absl::Status status = store_.Write(lists, store::Reach::kOs); !status.ok()) return status;
      lists.Clear();
    }
  }
  if (absl::Status status = store_.Write(lists, store::Reach::kOs); !status.ok()) return status;
  log_.Truncate(last, batch);
  if (absl::Status status = store_.Write(batch, store::Reach::kDisk); !status.ok()) return status;
  for (Stripe& stripe : stripes_) stripe.changed.clear();
  checkpointed_ = last;
  return absl::OkStatus();
}

absl::Status DurableAssociations::Checkpoint() {
  const AllStripes all(stripes_);
  return CheckpointLocked({});
}

absl::Status DurableAssociations::SetAge(uint64_t half_lives) {
  const AllStripes all(stripes_);
  if (half_lives <= counter_.Age()) return absl::OkStatus();
  std::string age;
  AppendVarint(half_lives, age);
  store::Batch batch;
  batch.Put(options_.prefix + "H", age);
  if (absl::Status status = CheckpointLocked(std::move(batch)); !status.ok()) return status;
  counter_.SetAge(half_lives);
  return absl::OkStatus();
}

absl::Status DurableAssociations::EvictIfNeeded() {
  if (counter_.MemoryBytes() <= options_.memory_bytes) return absl::OkStatus();
  const std::unique_lock<std::mutex> lock(evict_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return absl::OkStatus();
  while (counter_.MemoryBytes() > options_.memory_bytes) {
    const std::vector<std::string> cold = counter_.ColdAssociators(kEvictedAtOnce);
    for (const std::string& associator : cold) {
      if (absl::Status status = Evict(associator); !status.ok()) return status;
      if (counter_.MemoryBytes() <= options_.memory_bytes) return absl::OkStatus();
    }
    if (cold.size() < kEvictedAtOnce) break;  // nothing else can go
  }
  return absl::OkStatus();
}

absl::Status DurableAssociations::Evict(std::string_view associator) {
  Stripe& stripe = StripeOf(associator);
  const std::lock_guard<std::mutex> lock(stripe.mutex);
  const auto changed = stripe.changed.find(AbslView(associator));
  std::optional<uint64_t> outdated;  // by what is stored; the last change of what is in memory
  if (changed != stripe.changed.end()) {
    outdated = changed->second;
  } else if (counter_.Age() != 0) {
    // It may have been halved since it was loaded.
    const auto bytes = store_.Get(HeadKey(associator));
    if (!bytes.ok()) return bytes.status();
    if (!bytes->has_value()) return absl::OkStatus();  // gone already
    const auto head = DecodeListHead(**bytes);
    if (!head.ok()) return head.status();
    if (head->age != counter_.Age()) outdated = head->sequence;
  }
  if (outdated.has_value()) {
    if (absl::Status status = log_.Flush(); !status.ok()) return status;
    store::Batch batch;
    Store(associator, *outdated, batch);
    if (absl::Status status = store_.Write(batch, store::Reach::kOs); !status.ok()) return status;
  }
  // First: a reader that finds nothing looks at the store only if lists are away.
  ++away_associators_;
  const std::vector<CountedKey> list = counter_.Extract(associator);
  if (list.empty()) {
    --away_associators_;
    return absl::OkStatus();
  }
  away_pairs_ += list.size();
  away_count_ += Sum(list);
  if (changed != stripe.changed.end()) stripe.changed.erase(changed);
  return absl::OkStatus();
}

}  // namespace escalona::assoc

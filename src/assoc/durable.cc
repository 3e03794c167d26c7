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

constexpr size_t kCheckpointBytes = 256 << 10;  // lists go to the store in batches of this size
constexpr size_t kGatheredBytes = 64 << 10;     // of the log, between two calls of Sync
constexpr size_t kEvictedAtOnce = 64;

absl::string_view AbslView(std::string_view text) { return {text.data(), text.size()}; }

// The counter alone knows what is in memory; what may be in the store besides, this class does.
AssociationOptions InMemory(AssociationOptions options) {
  options.max_pairs = std::numeric_limits<uint64_t>::max();
  options.keep_faded = true;
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

absl::Status Full(uint64_t most) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the namespace is full: it may have ", most, " pairs"));
}

absl::Status CountedBefore() {
  return absl::AlreadyExistsError("the event has been counted before");
}

// Of one item; the store has no part in it.
bool IsRefusal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status) ||
         absl::IsAlreadyExists(status);
}

uint64_t Sum(const std::vector<CountedKey>& list) {
  uint64_t sum = 0;
  for (const CountedKey& entry : list) sum += entry.count;
  return sum;
}

uint64_t CountOf(std::string_view key, const ListRecord& record) {
  const auto found = std::find_if(record.list.begin(), record.list.end(),
                                  [&](const CountedKey& entry) { return entry.key == key; });
  return found == record.list.end() ? 0 : found->count;
}

uint64_t Halved(uint64_t count, uint64_t times) { return times < 64 ? count >> times : 0; }

void Halve(uint64_t times, std::vector<CountedKey>& list) {
  for (CountedKey& entry : list) entry.count = Halved(entry.count, times);
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
      counter_(InMemory(options.counter)),
      log_(store, LogOptions(options)),
      events_(options.event_window),
      stored_events_(store, options.prefix + "E"),
      max_pairs_(options.counter.max_pairs),
      memory_bytes_(options.memory_bytes) {}

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
  if (absl::Status status = ReadHeads(newest); !status.ok()) return status;
  absl::Status status = stored_events_.Load([&](const EventId& id) { AdmitStored(id); });
  if (!status.ok()) return status;
  newest = std::max(newest, stored_events_.newest());
  uint64_t first = 0;
  status = log_.Replay([&](uint64_t number, std::string_view changes) -> absl::StatusOr<uint64_t> {
    if (first == 0) first = number;
    return KeepForReplay(number, changes);
  });
  if (!status.ok()) return status;
  log_.ContinueAfter(newest);
  checkpointed_ = first == 0 ? log_.last() : first - 1;
  return absl::OkStatus();
}

void DurableAssociations::AdmitStored(const EventId& id) {
  if (events_.Admit(id)) return;
  events_.Forget(id);
  static_cast<void>(events_.Admit(id));
}

absl::Status DurableAssociations::ReadHeads(uint64_t& newest) {
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
  return scanned.ok() ? status : scanned;
}

absl::StatusOr<uint64_t> DurableAssociations::KeepForReplay(uint64_t first,
                                                            std::string_view changes) {
  std::string_view rest = log_records_.emplace_back(changes);
  uint64_t number = first;
  std::string_view associator;
  std::string text;
  EventId event;
  for (; !rest.empty(); ++number) {
    if (TakeEvent(rest, event)) {
      AdmitStored(event);
      stored_events_.Note(number, event);
      continue;
    }
    const char* const begin = rest.data();
    if (!PassChange(rest, associator, text) || replay_.size() >= kNoChange) {
      return absl::DataLossError("change log: a record that is no list of changes");
    }
    const auto place = static_cast<uint32_t>(replay_.size());
    replay_.push_back({begin, static_cast<uint32_t>(rest.data() - begin), kNoChange, number});
    Stripe& stripe = StripeOf(associator);
    const auto [at, is_new] = stripe.replay.try_emplace(AbslView(associator));
    ReplayChain& chain = at->second;
    if (is_new) {
      ++replayed_later_;
      chain.first = place;
    } else {
      replay_[chain.last].next = place;
    }
    chain.last = place;
  }
  return number - first;
}

absl::StatusOr<ListRecord> DurableAssociations::ReadRecord(std::string_view associator) {
  const auto bytes = store_.Get(ListKey(associator));
  if (!bytes.ok()) return bytes.status();
  if (!bytes->has_value()) return ListRecord{.sequence = 0, .age = counter_.Age(), .list = {}};
  return DecodeList(**bytes);
}

absl::StatusOr<bool> DurableAssociations::Replay(std::string_view associator,
                                                 const ReplayChain& chain, ListRecord& record) {
  const std::lock_guard<std::mutex> lock(scratch_mutex_);
  if (scratch_ == nullptr) {
    scratch_ = std::make_unique<AssociationCounter>(InMemory(options_.counter));
  }
  if (absl::Status status = scratch_->Load(associator, record.list); !status.ok()) return status;
  bool any = false;
  Change change;
  for (uint32_t place = chain.first; place != kNoChange; place = replay_[place].next) {
    const uint64_t number = replay_[place].number;
    std::string_view bytes(replay_[place].bytes, replay_[place].size);
    if (!TakeChange(bytes, change)) {
      return absl::DataLossError("change log: what was kept of it is broken");
    }
    if (number <= record.sequence) continue;
    record.sequence = number;
    any = true;
    switch (change.kind) {
      case Change::Kind::kIncrement: {
        const auto counted = scratch_->Increment(associator, change.key, change.weight);
        if (!counted.ok()) return counted.status();
        break;
      }
      case Change::Kind::kDeletePair:
        scratch_->DeletePair(associator, change.key);
        break;
      case Change::Kind::kDeleteAssociator:
        scratch_->DeleteAssociator(associator);
        break;
    }
  }
  record.list = scratch_->Extract(associator);
  return any;
}

absl::Status DurableAssociations::Load(Stripe& stripe, std::string_view associator) {
  if (NothingAway() || !IsName(associator)) return absl::OkStatus();
  if (counter_.TotalsOf(associator).pairs != 0) return absl::OkStatus();
  if (counter_.Contains(associator)) return DropFaded(associator);
  const auto replay = stripe.replay.find(AbslView(associator));
  const bool has_replay = replay != stripe.replay.end();
  if (!has_replay && stripe.changed.contains(AbslView(associator))) {
    return absl::OkStatus();  // deleted since
  }
  auto record = ReadRecord(associator);
  if (!record.ok()) return record.status();
  const bool stored = !record->list.empty();
  const uint64_t pairs = record->list.size();
  const uint64_t count = Sum(record->list);
  bool outdated = false;
  if (record->age < counter_.Age()) {
    Halve(counter_.Age() - record->age, record->list);
    if (record->list.empty() && !has_replay) {
      if (absl::Status status = DropFaded(associator); !status.ok()) return status;
    }
    outdated = has_replay;
  }
  if (has_replay) {
    const auto replayed = Replay(associator, replay->second, *record);
    if (!replayed.ok()) return replayed.status();
    outdated |= *replayed;
  }
  const std::lock_guard<std::mutex> moving(moving_mutex_);
  if (absl::Status status = counter_.Load(associator, record->list); !status.ok()) {
    return absl::DataLossError(absl::StrCat("stored list: ", status.message()));
  }
  if (outdated) MarkChanged(stripe, associator, record->sequence);
  if (has_replay) {
    stripe.replay.erase(replay);
    --replayed_later_;
  }
  if (stored) {
    --away_associators_;
    away_pairs_ -= pairs;
    away_count_ -= count;
  }
  return absl::OkStatus();
}

absl::Status DurableAssociations::DropFaded(std::string_view associator) {
  // The log is younger than its age, so no change of it can return.
  store::Batch batch;
  batch.Delete(ListKey(associator));
  batch.Delete(HeadKey(associator));
  if (absl::Status status = store_.Write(batch, store::Reach::kOs); !status.ok()) return status;
  counter_.DeleteAssociator(associator);
  return absl::OkStatus();
}

bool DurableAssociations::IsAway(std::string_view associator) const {
  return !NothingAway() && IsName(associator) && counter_.TotalsOf(associator).pairs == 0;
}

void DurableAssociations::MarkChanged(Stripe& stripe, std::string_view associator,
                                      uint64_t number) {
  if (stripe.watched.has_value()) stripe.watched->insert(std::string(associator));
  const auto found = stripe.changed.find(AbslView(associator));
  if (found != stripe.changed.end()) {
    found->second = number;
  } else {
    stripe.changed.emplace(std::string(associator), number);
  }
}

uint64_t DurableAssociations::PairsInAll() const {
  const std::lock_guard<std::mutex> moving(moving_mutex_);
  return Totals().pairs;
}

absl::Status DurableAssociations::CheckQuota(const AssociationIncrement& item) const {
  const uint64_t most = max_pairs_.load(std::memory_order_relaxed);
  if (most == std::numeric_limits<uint64_t>::max()) return absl::OkStatus();
  if (PairsInAll() < most) return absl::OkStatus();
  if (counter_.CountAndRank(item.associator, item.key).has_value()) return absl::OkStatus();
  return Full(most);
}

absl::StatusOr<uint64_t> DurableAssociations::CountInMemory(Stripe& stripe,
                                                            const AssociationIncrement& item,
                                                            std::string& changes) {
  if (absl::Status status = Load(stripe, item.associator); !status.ok()) return status;
  if (absl::Status status = CheckQuota(item); !status.ok()) return status;
  stripe.changed.prefetch(AbslView(item.associator));  // arrives while it is counted
  auto counted = counter_.Increment(item.associator, item.key, item.weight);
  if (!counted.ok()) return counted;
  AppendChange(Change::Kind::kIncrement, item.associator, item.key, item.weight, changes);
  return counted;
}

absl::StatusOr<uint64_t> DurableAssociations::CountOne(Stripe& stripe,
                                                       const AssociationIncrement& item,
                                                       const std::optional<EventId>& event,
                                                       uint64_t& number) {
  if (event.has_value() && !events_.Admit(*event)) return CountedBefore();
  stripe.change.clear();
  auto counted = CountInMemory(stripe, item, stripe.change);
  if (!counted.ok()) {
    if (event.has_value()) events_.Forget(*event);
    return counted;
  }
  if (event.has_value()) {
    AppendEvent(*event, stripe.change);
    number = log_.Append(stripe.change, 2);
    stored_events_.Note(number, *event);
  } else {
    number = log_.Append(stripe.change, 1);
  }
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
    stripe.changed.prefetch(AbslView(item.associator));
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

absl::Status DurableAssociations::CountByStripe(std::span<const AssociationIncrement> items,
                                                uint64_t& last,
                                                std::vector<AssociationBatchError>& refused) {
  std::array<std::vector<size_t>, kStripes> by_stripe;
  for (size_t i = 0; i < items.size(); ++i) {
    by_stripe[&StripeOf(items[i].associator) - stripes_.data()].push_back(i);
  }
  for (size_t i = 0; i < kStripes; ++i) {
    if (by_stripe[i].empty()) continue;
    uint64_t number = 0;
    const absl::Status status = CountStripe(stripes_[i], items, by_stripe[i], number, refused);
    last = std::max(last, number);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status DurableAssociations::CountInOrder(std::span<const AssociationIncrement> items,
                                               std::span<const std::optional<EventId>> events,
                                               uint64_t& last,
                                               std::vector<AssociationBatchError>& refused) {
  constexpr std::optional<EventId> kNone;
  for (size_t i = 0; i < items.size(); ++i) {
    Stripe& stripe = StripeOf(items[i].associator);
    const std::lock_guard<std::mutex> lock(stripe.mutex);
    const auto counted = CountOne(stripe, items[i], events.empty() ? kNone : events[i], last);
    if (counted.ok()) continue;
    if (!IsRefusal(counted.status())) return counted.status();
    refused.push_back({i, counted.status()});
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> DurableAssociations::IncrementBatch(
    std::span<const AssociationIncrement> items, std::vector<AssociationBatchError>* errors,
    std::span<const std::optional<EventId>> events) {
  uint64_t last = 0;
  std::vector<AssociationBatchError> refused;
  absl::Status status;
  if (events.empty() &&
      max_pairs_.load(std::memory_order_relaxed) == std::numeric_limits<uint64_t>::max()) {
    status = CountByStripe(items, last, refused);
  } else {
    status = CountInOrder(items, events, last, refused);
    const bool known = std::any_of(refused.begin(), refused.end(), [](const auto& error) {
      return absl::IsAlreadyExists(error.status);
    });
    if (known) last = log_.last();  // who counted it may still be waiting for the log
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

uint64_t DurableAssociations::CountLocked(std::span<const AssociationIncrement> items,
                                          const EventId& event,
                                          std::vector<AssociationBatchError>& refused) {
  std::string changes;
  std::vector<std::string_view> changed;
  for (size_t i = 0; i < items.size(); ++i) {
    const auto counted = CountInMemory(StripeOf(items[i].associator), items[i], changes);
    if (counted.ok()) {
      changed.push_back(items[i].associator);
    } else {
      refused.push_back({i, counted.status()});
    }
  }
  if (changed.empty()) {
    events_.Forget(event);
    return 0;
  }
  AppendEvent(event, changes);
  const uint64_t number = log_.Append(changes, changed.size() + 1);
  stored_events_.Note(number, event);
  for (const std::string_view associator : changed) {
    MarkChanged(StripeOf(associator), associator, number);
  }
  return number;
}

absl::StatusOr<uint64_t> DurableAssociations::IncrementTogether(
    std::span<const AssociationIncrement> items, const EventId& event,
    std::vector<AssociationBatchError>* errors) {
  std::vector<AssociationBatchError> refused;
  uint64_t number;
  bool known;
  {
    const AllStripes all(stripes_);
    // First: what cannot be read is not left out of what is one event.
    for (const AssociationIncrement& item : items) {
      absl::Status status = Load(StripeOf(item.associator), item.associator);
      if (!status.ok()) return status;
    }
    known = !events_.Admit(event);
    number = known ? log_.last() : CountLocked(items, event, refused);
  }
  if (absl::Status status = log_.Commit(number); !status.ok()) return status;
  if (known) return CountedBefore();
  if (absl::Status status = EvictIfNeeded(); !status.ok()) return status;
  const uint64_t accepted = items.size() - refused.size();
  if (errors != nullptr) std::move(refused.begin(), refused.end(), std::back_inserter(*errors));
  return accepted;
}

absl::StatusOr<uint64_t> DurableAssociations::Increment(std::string_view associator,
                                                        std::string_view key, uint64_t weight,
                                                        const std::optional<EventId>& event) {
  uint64_t number = 0;
  absl::StatusOr<uint64_t> counted;
  {
    Stripe& stripe = StripeOf(associator);
    const std::lock_guard<std::mutex> lock(stripe.mutex);
    counted = CountOne(stripe, {associator, key, weight}, event, number);
  }
  if (absl::IsAlreadyExists(counted.status())) {
    number = log_.last();  // who counted it may still be waiting for the log
  } else if (!counted.ok()) {
    return counted;
  }
  if (absl::Status status = log_.Commit(number); !status.ok()) return status;
  if (!counted.ok()) return counted;
  if (absl::Status status = EvictIfNeeded(); !status.ok()) return status;
  return counted;
}

absl::Status DurableAssociations::ReadStored(const Glance& glance, std::string_view associator,
                                             absl::FunctionRef<void()> read) {
  if (!IsName(associator)) return absl::OkStatus();
  if (glance.nothing_away && glance.evictions == evictions_.load()) return absl::OkStatus();
  {
    Stripe& stripe = StripeOf(associator);
    const std::lock_guard<std::mutex> lock(stripe.mutex);
    if (absl::Status status = Load(stripe, associator); !status.ok()) return status;
    read();
  }
  return EvictIfNeeded();
}

bool DurableAssociations::VisitHead(
    std::string_view associator, int64_t k, uint64_t min,
    absl::FunctionRef<void(std::string_view key, uint64_t count)> visit) const {
  int64_t visited = 0;
  counter_.ForEachKey(associator, [&](std::string_view key, uint64_t count) {
    if (count < min) return false;  // counts descend
    visit(key, count);
    return ++visited < k;
  });
  return visited > 0;
}

absl::StatusOr<std::vector<CountedKey>> DurableAssociations::Top(std::string_view associator,
                                                                 int64_t k, int64_t offset,
                                                                 uint64_t min) {
  const Glance glance = Look();
  auto top = counter_.Top(associator, k, offset, min);
  if (!top.ok() || !top->empty()) return top;
  const absl::Status status =
      ReadStored(glance, associator, [&] { top = counter_.Top(associator, k, offset, min); });
  if (!status.ok()) return status;
  return top;
}

absl::StatusOr<std::optional<PairStanding>> DurableAssociations::CountAndRank(
    std::string_view associator, std::string_view key) {
  const Glance glance = Look();
  auto standing = counter_.CountAndRank(associator, key);
  if (standing.has_value()) return standing;
  const absl::Status status =
      ReadStored(glance, associator, [&] { standing = counter_.CountAndRank(associator, key); });
  if (!status.ok()) return status;
  return standing;
}

absl::StatusOr<AssociatorTotals> DurableAssociations::TotalsOf(std::string_view associator) {
  const Glance glance = Look();
  AssociatorTotals totals = counter_.TotalsOf(associator);
  if (totals.pairs != 0) return totals;
  const absl::Status status =
      ReadStored(glance, associator, [&] { totals = counter_.TotalsOf(associator); });
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

absl::StatusOr<bool> DurableAssociations::HasKey(std::string_view associator,
                                                 std::string_view key) {
  if (counter_.CountAndRank(associator, key).has_value()) return true;
  if (!IsAway(associator) || StripeOf(associator).changed.contains(AbslView(associator))) {
    return false;
  }
  // Read, not loaded: there may be more of them than memory.
  const auto record = ReadRecord(associator);
  if (!record.ok()) return record.status();
  return Halved(CountOf(key, *record), counter_.Age() - record->age) != 0;
}

absl::StatusOr<std::vector<std::string>> DurableAssociations::ListsWith(std::string_view key) {
  std::vector<std::string> lists;
  absl::Status status;
  const absl::Status visited = ForEachAssociator([&](std::string_view associator) {
    const std::lock_guard<std::mutex> lock(StripeOf(associator).mutex);  // it stays where it is
    const absl::StatusOr<bool> has = HasKey(associator, key);
    status = has.status();
    if (has.ok() && *has) lists.emplace_back(associator);
    return status.ok();
  });
  if (!visited.ok()) return visited;
  if (!status.ok()) return status;
  return lists;
}

absl::Status DurableAssociations::LookAgain(std::string_view key, bool at_all,
                                            std::vector<std::string>& lists) {
  for (Stripe& stripe : stripes_) {
    for (const std::string& associator : *stripe.watched) lists.push_back(associator);
  }
  std::sort(lists.begin(), lists.end());
  lists.erase(std::unique(lists.begin(), lists.end()), lists.end());
  absl::Status status;
  std::erase_if(lists, [&](const std::string& associator) {
    if (!status.ok()) return false;
    if (!at_all && !StripeOf(associator).watched->contains(associator)) return false;
    const absl::StatusOr<bool> has = HasKey(associator, key);
    status = has.status();
    return has.ok() && !*has;
  });
  return status;
}

absl::Status DurableAssociations::EraseStored(std::span<const std::string> lists,
                                              std::string_view key, uint64_t number) {
  store::Batch batch;
  AssociationTotals change;  // by the batch, modulo 2^64
  const auto write = [&]() -> absl::Status {
    if (batch.empty()) return absl::OkStatus();
    if (absl::Status status = store_.Write(batch, store::Reach::kOs); !status.ok()) return status;
    away_associators_ += change.associators;
    away_pairs_ += change.pairs;
    away_count_ += change.count;
    batch.Clear();
    change = {};
    return absl::OkStatus();
  };
  for (const std::string& associator : lists) {
    auto record = ReadRecord(associator);
    if (!record.ok()) return record.status();
    change.pairs -= record->list.size();
    change.count -= Sum(record->list);
    Halve(counter_.Age() - record->age, record->list);
    std::erase_if(record->list, [&](const CountedKey& entry) { return entry.key == key; });
    change.pairs += record->list.size();
    change.count += Sum(record->list);
    if (record->list.empty()) {
      --change.associators;
      batch.Delete(ListKey(associator));
      batch.Delete(HeadKey(associator));
    } else {
      record->sequence = number;
      record->age = counter_.Age();
      batch.Put(ListKey(associator), EncodeList(*record));
      batch.Put(HeadKey(associator), EncodeListHead(HeadOf(*record)));
    }
    if (batch.bytes() < kCheckpointBytes) continue;
    if (absl::Status status = write(); !status.ok()) return status;
  }
  return write();
}

absl::Status DurableAssociations::EraseFrom(std::span<const std::string> lists,
                                            std::string_view key) {
  // One record of the log has them all.
  std::string changes;
  for (const std::string& associator : lists) {
    AppendChange(Change::Kind::kDeletePair, associator, key, 1, changes);
  }
  const uint64_t number = log_.Append(changes, lists.size());
  std::vector<std::string> stored;
  for (const std::string& associator : lists) {
    if (counter_.DeletePair(associator, key)) {
      MarkChanged(StripeOf(associator), associator, number);
    } else {
      stored.push_back(associator);
    }
  }
  if (absl::Status status = log_.Commit(number); !status.ok()) return status;
  if (stored.empty()) return absl::OkStatus();
  // The log goes ahead of the lists.
  if (absl::Status status = log_.Flush(); !status.ok()) return status;
  return EraseStored(stored, key, number);
}

absl::StatusOr<uint64_t> DurableAssociations::DeleteKeyEverywhere(std::string_view key) {
  if (!IsName(key)) return 0;
  const std::lock_guard<std::mutex> one(watch_mutex_);
  {
    const AllStripes all(stripes_);
    for (Stripe& stripe : stripes_) stripe.watched.emplace();
  }
  const uint64_t age = counter_.Age();
  absl::StatusOr<std::vector<std::string>> lists = ListsWith(key);
  const AllStripes all(stripes_);
  absl::Status status = lists.status();
  if (status.ok()) status = LookAgain(key, counter_.Age() != age, *lists);
  for (Stripe& stripe : stripes_) stripe.watched.reset();
  if (!status.ok()) return status;
  if (lists->empty()) return 0;
  if (status = EraseFrom(*lists, key); !status.ok()) return status;
  return lists->size();
}

absl::Status DurableAssociations::Replace(std::string_view associator,
                                          std::span<const CountedKey> list) {
  if (!IsName(associator)) return absl::InvalidArgumentError("an empty or over-long associator");
  uint64_t number;
  {
    Stripe& stripe = StripeOf(associator);
    const std::lock_guard<std::mutex> lock(stripe.mutex);
    if (absl::Status status = Load(stripe, associator); !status.ok()) return status;
    const uint64_t others = PairsInAll() - counter_.TotalsOf(associator).pairs;
    const uint64_t most = max_pairs_.load(std::memory_order_relaxed);
    if (others > most || list.size() > most - others) return Full(most);
    if (absl::Status status = counter_.Load(associator, list); !status.ok()) return status;
    // As writes that give this order: of equals >= 2 the last comes first, of those at 1 the first.
    std::string changes;
    AppendChange(Change::Kind::kDeleteAssociator, associator, {}, 1, changes);
    const auto ones = std::partition_point(list.begin(), list.end(),
                                           [](const auto& entry) { return entry.count > 1; });
    for (auto at = ones; at != list.begin();) {
      --at;
      AppendChange(Change::Kind::kIncrement, associator, at->key, at->count, changes);
    }
    for (auto at = ones; at != list.end(); ++at) {
      AppendChange(Change::Kind::kIncrement, associator, at->key, 1, changes);
    }
    number = log_.Append(changes, list.size() + 1);
    MarkChanged(stripe, associator, number);
  }
  if (absl::Status status = log_.Commit(number); !status.ok()) return status;
  return EvictIfNeeded();
}

absl::StatusOr<std::vector<std::string>> DurableAssociations::AssociatorsAfter(
    std::string_view after, size_t limit) {
  const std::string prefix = options_.prefix + "T";
  // The least key that is greater.
  const std::string begin = after.empty() ? prefix : prefix + std::string(after) + '\0';
  std::vector<std::string> names;
  const absl::Status status =
      store_.Scan(begin, store::EndOfPrefix(prefix), [&](std::string_view key, std::string_view) {
        names.emplace_back(key.substr(prefix.size()));
        return names.size() < limit;
      });
  if (!status.ok()) return status;
  return names;
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
  ListEncoder encoder;
  counter_.ForEachKey(associator, [&](std::string_view key, uint64_t count) {
    encoder.Add(key, count);
    return true;
  });
  if (encoder.empty()) {
    batch.Delete(ListKey(associator));
    batch.Delete(HeadKey(associator));
  } else {
    const ListHead head = encoder.Head(number, counter_.Age());
    batch.Put(ListKey(associator), encoder.Encode(head));
    batch.Put(HeadKey(associator), EncodeListHead(head));
  }
}

absl::Status DurableAssociations::CheckpointSlice(Stripe& stripe,
                                                  std::span<const std::string> names, uint64_t upto,
                                                  size_t& done) {
  const std::lock_guard<std::mutex> lock(stripe.mutex);
  store::Batch lists;
  const size_t first = done;
  uint64_t last = 0;
  for (; done < names.size() && lists.bytes() < kCheckpointBytes; ++done) {
    const std::string& name = names[done];
    if (stripe.replay.contains(name)) {
      if (absl::Status status = Load(stripe, name); !status.ok()) return status;
    }
    const auto changed = stripe.changed.find(name);
    if (changed == stripe.changed.end()) continue;  // evicted meanwhile
    Store(name, changed->second, lists);
    last = std::max(last, changed->second);
  }
  if (lists.empty()) return absl::OkStatus();
  if (last > upto) {
    if (absl::Status status = log_.Flush(); !status.ok()) return status;
  }
  if (absl::Status status = store_.Write(lists, store::Reach::kOs); !status.ok()) return status;
  for (size_t i = first; i < done; ++i) stripe.changed.erase(names[i]);
  return absl::OkStatus();
}

absl::Status DurableAssociations::CheckpointStripe(Stripe& stripe, uint64_t upto) {
  std::vector<std::string> names;
  {
    const std::lock_guard<std::mutex> lock(stripe.mutex);
    names.reserve(stripe.changed.size() + stripe.replay.size());
    for (const auto& [associator, number] : stripe.changed) names.push_back(associator);
    for (const auto& [associator, changes] : stripe.replay) names.push_back(associator);
  }
  for (size_t done = 0; done < names.size();) {
    if (absl::Status status = CheckpointSlice(stripe, names, upto, done); !status.ok()) {
      return status;
    }
    if (absl::Status status = EvictIfNeeded(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status DurableAssociations::Checkpoint() {
  const std::lock_guard<std::mutex> one(checkpoint_mutex_);
  // A change up to here is either in a list that its stripe says has changed, or stored.
  const auto upto = log_.FlushAll();
  if (!upto.ok()) return upto.status();
  for (Stripe& stripe : stripes_) {
    if (absl::Status status = CheckpointStripe(stripe, *upto); !status.ok()) return status;
  }
  // Who appended a change up to there held its stripe until its event was noted.
  store::Batch batch;
  if (absl::Status status = CutLog(*upto, batch); !status.ok()) return status;
  // All chains have been followed; who follows one holds its mutex.
  const std::lock_guard<std::mutex> lock(scratch_mutex_);
  log_records_ = {};
  replay_ = {};
  return absl::OkStatus();
}

absl::Status DurableAssociations::CutLog(uint64_t number, store::Batch& batch) {
  log_.Truncate(number, batch);
  stored_events_.Save(number, events_.capacity(), batch);
  if (absl::Status status = store_.Write(batch, store::Reach::kDisk); !status.ok()) return status;
  stored_events_.Saved();
  checkpointed_ = number;
  return absl::OkStatus();
}

absl::Status DurableAssociations::CheckpointLocked(store::Batch batch) {
  const auto last = log_.FlushAll();
  if (!last.ok()) return last.status();
  store::Batch lists;
  for (Stripe& stripe : stripes_) {
    while (!stripe.replay.empty()) {
      const std::string associator = stripe.replay.begin()->first;
      if (absl::Status status = Load(stripe, associator); !status.ok()) return status;
    }
    for (const auto& [associator, number] : stripe.changed) {
      Store(associator, number, lists);
      if (lists.bytes() < kCheckpointBytes) continue;
      if (absl::Status status = store_.Write(lists, store::Reach::kOs); !status.ok()) return status;
      lists.Clear();
    }
  }
  if (absl::Status status = store_.Write(lists, store::Reach::kOs); !status.ok()) return status;
  if (absl::Status status = CutLog(*last, batch); !status.ok()) return status;
  for (Stripe& stripe : stripes_) stripe.changed.clear();
  return absl::OkStatus();
}

absl::Status DurableAssociations::SetAge(uint64_t half_lives) {
  if (half_lives <= counter_.Age()) return absl::OkStatus();
  // Most of the work while writers go on; the rest while they wait.
  if (absl::Status status = Checkpoint(); !status.ok()) return status;
  const std::lock_guard<std::mutex> one(checkpoint_mutex_);
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
  if (counter_.MemoryBytes() <= memory_bytes_.load(std::memory_order_relaxed))
    return absl::OkStatus();
  const std::unique_lock<std::mutex> lock(evict_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return absl::OkStatus();
  while (counter_.MemoryBytes() > memory_bytes_.load(std::memory_order_relaxed)) {
    const std::vector<std::string> cold = counter_.ColdAssociators(kEvictedAtOnce);
    for (const std::string& associator : cold) {
      if (absl::Status status = Evict(associator); !status.ok()) return status;
      if (counter_.MemoryBytes() <= memory_bytes_.load(std::memory_order_relaxed))
        return absl::OkStatus();
    }
    if (cold.size() < kEvictedAtOnce) break;  // nothing else can go
  }
  return absl::OkStatus();
}

absl::Status DurableAssociations::Evict(std::string_view associator) {
  Stripe& stripe = StripeOf(associator);
  const std::lock_guard<std::mutex> lock(stripe.mutex);
  // Evicted or deleted since it was called cold: what is stored is not to be replaced by nothing.
  if (!counter_.Contains(associator)) return absl::OkStatus();
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
  const std::lock_guard<std::mutex> moving(moving_mutex_);
  // First: a reader that finds nothing looks at the store only if lists are away, or went away.
  ++away_associators_;
  ++evictions_;
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

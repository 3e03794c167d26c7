#include "frontier/put_call.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace escalona::frontier {
namespace {

// The slashes of the path, those at its end left out, as the scheduler counts.
uint64_t DepthOf(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("?#"));
  const size_t last = url.find_last_not_of('/');
  url = url.substr(0, last == std::string_view::npos ? 0 : last + 1);
  constexpr uint64_t kDeepest = 0xFFFF;
  return std::min<uint64_t>(static_cast<uint64_t>(std::count(url.begin(), url.end(), '/')),
                            kDeepest);
}

}  // namespace

PutCall::PutCall(Core& core, std::span<const FrontierPut> items)
    : core_(core), puts_(items), now_(core.NowMillis()), items_(items.size()) {
  statuses_.resize(items.size(), PutStatus::kSkipped);
}

std::vector<PutStatus> PutCall::Run(absl::Status* error) {
  const Core::StripeLock lock(core_, NameItems());
  FindQueues();
  FindLeases();
  absl::Status status = FindKnown();
  if (status.ok()) {
    for (size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].queue != nullptr) statuses_[i] = Decide(puts_[i], items_[i]);
    }
    status = Write();
  }
  if (status.ok()) {
    Commit();
  } else {
    GiveUp();
  }
  if (error != nullptr) *error = status;
  return std::move(statuses_);
}

Core::StripeSet PutCall::NameItems() {
  Core::StripeSet stripes;
  for (size_t i = 0; i < items_.size(); ++i) {
    const FrontierPut& put = puts_[i];
    Core::QueueName& name = items_[i].name;
    name.crawl = Core::CrawlName(put.crawl);
    name.key = put.key.empty() ? DeriveQueueKey(put.url) : put.key;
    if (!IsQueueKey(name.key)) {
      name.key = {};
      continue;
    }
    items_[i].hash = Core::NameHash()(name);
    stripes.set(Core::StripeOf(items_[i].hash));
  }
  return stripes;
}

void PutCall::FindQueues() {
  for (size_t i = 0; i < items_.size(); ++i) {
    Item& item = items_[i];
    if (item.name.key.empty()) continue;
    Queue* const queue = core_.FindOrAdd(item.name, item.hash);
    if (queue->touched == 0) {
      Touched& touched = touched_.emplace_back();
      touched.queue = queue;
      touched.record = queue->record;
      touched.becomes_known = !queue->known;
      if (touched.becomes_known) {
        queue->id = core_.NewQueueId();
        touched.record.turn = core_.next_turn_.fetch_add(1);  // behind all that are known
      }
      queue->touched = static_cast<uint32_t>(touched_.size());
    }
    item.queue = queue;
    item.url = FingerprintOf(core_.hash_key_, queue->id, puts_[i].url);
    core_.known_urls_.Prefetch(item.url);
  }
}

// Discovered items need not know more of a URL than whether it is known; others do, and stand for
// all items with their URL.
bool PutCall::NeedsRecord(const FrontierPut& put) {
  return put.kind != PutKind::kDiscovered || put.lease != 0;
}

void PutCall::FindLeases() {
  if (std::none_of(puts_.begin(), puts_.end(), NeedsRecord)) return;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].queue != nullptr && NeedsRecord(puts_[i])) StateOf(items_[i]);
  }
  const std::lock_guard<std::mutex> lock(core_.agenda_mutex_);
  core_.agenda_.Advance(now_);
  for (Item& item : items_) {
    if (item.queue == nullptr) continue;
    const Lease* const lease = item.queue->FindLease(item.url);
    if (lease != nullptr) item.state = {lease->url, lease->live ? lease->id : 0, true};
  }
}

absl::Status PutCall::FindKnown() {
  // Before a look at what is remembered: all may be there only since. Whether something is
  // forgotten is asked after it: it may be so only since.
  const bool had_all = core_.remembered_all_.load();
  std::vector<size_t> asked;
  for (size_t i = 0; i < items_.size(); ++i) {
    Item& item = items_[i];
    if (item.queue == nullptr || item.state.record.has_value()) continue;
    const QueueRecord& record = item.queue->record;
    if (record.scheduled + record.completed == 0) continue;
    const bool remembered = core_.known_urls_.Contains(item.url);
    if (remembered && !NeedsRecord(puts_[i])) {
      item.state.record.emplace();  // which does not matter
    } else if (remembered || !had_all || core_.known_urls_.has_forgotten()) {
      asked.push_back(i);
    }
  }
  if (asked.empty()) return absl::OkStatus();
  constexpr size_t kKeyBytes = kQueuePrefixBytes + Fingerprint::kBytes;
  std::string buffer;
  buffer.reserve(asked.size() * kKeyBytes);
  for (size_t i : asked) {
    AppendQueueKey(Kind::kFinger, items_[i].queue->Id(), buffer);
    buffer.append(items_[i].url.bytes());
  }
  std::vector<std::string_view> keys(asked.size());
  for (size_t k = 0; k < keys.size(); ++k) {
    keys[k] = std::string_view(buffer).substr(k * kKeyBytes, kKeyBytes);
  }
  absl::Status damage;
  const absl::Status read =
      core_.store_->MultiGet(keys, [&](size_t k, std::optional<std::string_view> value) {
        Item& item = items_[asked[k]];
        if (!value.has_value()) return;
        UrlRecord record;
        if (!Decode(*value, record)) {
          damage = Damaged("a URL record of queue " + std::string(item.queue->key()));
          return;
        }
        item.state.record = record;
        core_.known_urls_.Insert(item.url);
      });
  return read.ok() ? damage : read;
}

PutCall::UrlState& PutCall::StateOf(Item& item) {
  const auto index = static_cast<uint32_t>(&item - items_.data());
  const auto [found, is_first] = latest_.emplace(item.url, index);
  return items_[found->second].state;
}

PutStatus PutCall::Decide(const FrontierPut& put, Item& item) {
  UrlState& state = StateOf(item);
  if (put.lease != 0 && put.lease != state.lease) return PutStatus::kStale;
  if (put.kind == PutKind::kDiscovered && state.record.has_value()) return PutStatus::kSkipped;
  Touched& touched = touched_[item.queue->touched - 1];
  if (!state.record.has_value() && !ClaimRoom(touched)) return PutStatus::kSkipped;
  Store(put, item, state, touched);
  return PutStatus::kOk;
}

bool PutCall::ClaimRoom(Touched& touched) {
  const FrontierOptions& options = core_.options_;
  if (touched.record.scheduled + touched.record.completed >= options.max_urls_per_queue) {
    return false;
  }
  Crawl& crawl = *touched.queue->crawl;
  if (crawl.claimed.fetch_add(1) >= options.max_urls_per_crawl) {
    --crawl.claimed;
    return false;
  }
  claims_.push_back(&crawl);
  return true;
}

Place PutCall::PlaceOf(const FrontierPut& put, Touched& touched) const {
  switch (put.kind) {
    case PutKind::kDiscovered:
      break;
    case PutKind::kScheduled:
      return {UrlClass::kDate, static_cast<uint64_t>(SecondsOf(put.date))};
    case PutKind::kCompleted:
      return {UrlClass::kCompleted, 0};
  }
  if (touched.queue->crawl->order == UrlOrder::kDate) {
    return {UrlClass::kDate, static_cast<uint64_t>(std::max<int64_t>(now_ / 1000, 0))};
  }
  constexpr int kArrivalBits = 48;
  const uint64_t arrival = touched.record.arrivals++;
  return {UrlClass::kDepth, DepthOf(put.url) << kArrivalBits | arrival};
}

// Changes the batch, and what becomes of the queue and the URL.
void PutCall::Store(const FrontierPut& put, const Item& item, UrlState& state, Touched& touched) {
  QueueRecord& record = touched.record;
  const QueueId id = item.queue->Id();
  const auto place_key = [&](Place place) -> const std::string& {
    key_.clear();
    AppendQueueKey(Kind::kPlace, id, key_);
    AppendPlace(place, key_);
    return key_.append(put.url);
  };
  const auto url_key = [&](Kind kind) -> const std::string& {
    key_.clear();
    AppendQueueKey(kind, id, key_);
    return key_.append(item.url.bytes());
  };
  UrlRecord next;
  next.created = state.record ? state.record->created : std::max<int64_t>(now_ / 1000, 0);
  next.place = PlaceOf(put, touched);
  if (state.record) {
    if (state.record->place != next.place) batch_.Delete(place_key(state.record->place));
    const bool was_completed = state.record->place.cls == UrlClass::kCompleted;
    --(was_completed ? record.completed : record.scheduled);
    if (!was_completed && state.lease == 0 &&
        (state.has_lease || DateOf(*state.record) <= record.next_due)) {
      touched.next_due_left = true;
    }
  } else {
    new_urls_.push_back(item.url);
  }
  ++(next.place.cls == UrlClass::kCompleted ? record.completed : record.scheduled);
  if (state.has_lease) {
    batch_.Delete(url_key(Kind::kLease));
    ended_leases_.emplace_back(item.queue, item.url);
  }
  value_.clear();
  const bool is_completed = put.kind == PutKind::kCompleted;
  EncodeEntry(next.created, is_completed ? std::string_view() : put.metadata, value_);
  batch_.Put(place_key(next.place), value_);
  value_.clear();
  Encode(next, value_);
  batch_.Put(url_key(Kind::kFinger), value_);
  if (!is_completed) {
    record.next_due = std::min(record.next_due, DateOf(next));
    if (!touched.lowest ||
        std::pair(next.place, put.url) < std::pair(*touched.lowest, touched.lowest_url)) {
      touched.lowest = next.place;
      touched.lowest_url = put.url;
    }
  }
  touched.changed = true;
  state = {next, 0, false};
}

absl::Status PutCall::Write() {
  for (const Touched& touched : touched_) {
    if (!touched.changed) continue;
    Queue& queue = *touched.queue;
    if (!queue.crawl->stored) Core::AppendCrawl(*queue.crawl, batch_);
    if (queue.told) batch_.Delete(ToldKey(queue.crawl->id, queue.key()));
    if (touched.becomes_known) {
      Core::AppendQueue(queue, touched.record, batch_);
    } else {
      changes_.Add(queue, touched.record);
    }
  }
  return batch_.empty() ? absl::OkStatus() : core_.Write(batch_, changes_);
}

void PutCall::Commit() {
  for (const Fingerprint& url : new_urls_) core_.known_urls_.Insert(url);
  std::string lowest;
  for (const Touched& touched : touched_) {
    Queue& queue = *touched.queue;
    queue.touched = 0;
    if (!touched.changed || !touched.lowest) continue;
    lowest.clear();
    AppendPlace(*touched.lowest, lowest);
    lowest.append(touched.lowest_url);
    // Of a queue that had nothing scheduled, what was served before need not be passed again.
    if (queue.record.scheduled == 0 || lowest < queue.head()) queue.SetHead(lowest);
  }
  {
    const std::lock_guard<std::mutex> lock(core_.agenda_mutex_);
    for (const auto& [queue, url] : ended_leases_) core_.agenda_.EndLease(*queue, url);
    for (const Touched& touched : touched_) {
      if (!touched.changed) continue;
      Queue& queue = *touched.queue;
      queue.crawl->stored = true;
      core_.agenda_.SetRecord(queue, touched.record);
      if (touched.becomes_known) {
        queue.told = false;
        core_.agenda_.Add(queue);
        core_.JoinGroup(queue, now_);
      }
      core_.agenda_.Place(queue, now_);
      if (touched.record.scheduled == 0) queue.SetHead({});
    }
  }
  for (const Touched& touched : touched_) {
    if (touched.next_due_left) core_.FindNextDue(*touched.queue, now_);
    core_.DropIfUnused(touched.queue);
  }
}

void PutCall::GiveUp() {
  for (Crawl* crawl : claims_) --crawl->claimed;
  for (const Touched& touched : touched_) {
    touched.queue->touched = 0;
    core_.DropIfUnused(touched.queue);
  }
  std::fill(statuses_.begin(), statuses_.end(), PutStatus::kFailed);
}

std::vector<PutStatus> Core::Put(std::span<const FrontierPut> items, absl::Status* error) {
  std::vector<PutStatus> statuses = PutCall(*this, items).Run(error);
  Fold();
  if (!remembered_all_.load()) Remember(kRememberAlways + kRememberPerItem * items.size());
  return statuses;
}

}  // namespace escalona::frontier

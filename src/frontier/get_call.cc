#include "frontier/get_call.h"

#include <algorithm>
#include <utility>

namespace escalona::frontier {
namespace {

constexpr uint32_t kQueuesPerRound = 64;

uint32_t Limit(uint32_t number) { return number == 0 ? kNoLimit : number; }

int64_t DeadlineOf(int64_t now, absl::Duration lease) {
  if (lease <= absl::ZeroDuration()) lease = absl::Seconds(30);
  return now + MillisOf(lease);
}

}  // namespace

GetCall::GetCall(Core& core, const GetRequest& request)
    : core_(core),
      request_(request),
      now_(core.NowMillis()),
      deadline_(DeadlineOf(now_, request.lease)),
      gate_(Limit(request.max_urls_per_queue)),
      max_urls_(std::min(gate_, Limit(request.max_urls_at_once))) {
  if (request.crawl.has_value()) crawl_ = Core::CrawlName(*request.crawl);
}

GetCall::~GetCall() {
  if (taken_.empty()) return;
  const std::lock_guard<std::mutex> lock(core_.agenda_mutex_);
  for (Queue* queue : taken_) core_.agenda_.Release(*queue, now_);
}

absl::StatusOr<uint64_t> GetCall::Run(absl::FunctionRef<void(const LeasedUrl&)> visit) {
  if (!core_.active() || (request_.key.has_value() && !request_.crawl.has_value())) return 0;
  uint64_t urls = 0;
  uint32_t queues_left = request_.key.has_value() ? 1 : Limit(request_.max_queues);
  while (queues_left > 0) {
    Take(std::min(queues_left, kQueuesPerRound));
    if (servings_.empty()) break;
    const absl::Status served = Serve();
    TellDamage();
    if (!served.ok()) return served;
    for (const Serving& serving : servings_) queues_left -= serving.found.empty() ? 0 : 1;
    urls += HandOut(visit);
    if (request_.key.has_value()) break;
  }
  return urls;
}

// The stripe of a queue that is asked for by name must be locked to find it; it is taken then as
// any other.
void GetCall::Take(uint32_t most) {
  servings_.clear();
  std::optional<Core::StripeLock> stripe;
  Queue* asked = nullptr;
  if (request_.key.has_value()) {
    const Core::QueueName name = {crawl_, *request_.key};
    stripe.emplace(core_, name);
    asked = core_.Find(name);
    if (asked == nullptr) return;
  }
  const std::lock_guard<std::mutex> lock(core_.agenda_mutex_);
  core_.agenda_.Advance(now_);
  last_asked_ = core_.agenda_.last_asked();
  Crawl* crawl = nullptr;
  if (request_.crawl.has_value()) {
    crawl = core_.FindCrawl(crawl_);
    if (crawl == nullptr) return;
  }
  while (servings_.size() < most) {
    Queue* queue = nullptr;
    if (asked == nullptr) {
      queue = core_.agenda_.Take(crawl, gate_, now_);
    } else if (core_.agenda_.TakeThis(*asked, gate_, now_)) {
      queue = asked;
    }
    if (queue == nullptr) break;
    servings_.emplace_back().queue = queue;
    taken_.push_back(queue);
    if (asked != nullptr) break;
  }
}

// The agenda is locked. What ended by time is looked at again from here on.
void GetCall::Begin(Serving& serving) {
  Queue& queue = *serving.queue;
  serving.confirmed = core_.agenda_.Confirm(queue, gate_, now_);
  if (!serving.confirmed) return;
  serving.record = queue.record;
  serving.delay = core_.agenda_.DelayOf(queue);
  serving.live_leases = queue.live_leases;
  if (queue.leases != nullptr) {
    serving.freed_due = std::exchange(queue.leases->freed_due, kNever);
  }
  if (queue.leases == nullptr || queue.leases->size() == queue.live_leases) return;
  Core::LowerHead(queue);
  for (const auto& [url, lease] : *queue.leases) {
    if (!lease.live) serving.freed.push_back(url);
  }
}

bool GetCall::IsLeased(const Queue& queue, const Fingerprint& url) const {
  const std::lock_guard<std::mutex> lock(core_.agenda_mutex_);
  return queue.IsLeased(url);
}

// Takes leased URLs out of those found from `first` on.
void GetCall::DropLeased(Serving& serving, size_t first) {
  const std::lock_guard<std::mutex> lock(core_.agenda_mutex_);
  const auto is_leased = [&](const Found& found) { return serving.queue->IsLeased(found.url); };
  serving.found.erase(std::remove_if(serving.found.begin() + static_cast<ptrdiff_t>(first),
                                     serving.found.end(), is_leased),
                      serving.found.end());
}

// Reads on from `from` until `wanted` URLs were seen or one that is not due, leased ones too.
absl::Status GetCall::ReadSome(Serving& serving, std::string& from, uint64_t wanted, bool& done) {
  const QueueId id = serving.queue->Id();
  std::string end = QueueKey(Kind::kPlace, id);
  end.push_back(static_cast<char>(UrlClass::kCompleted));
  const int64_t today = now_ / 1000;
  absl::Status damage;
  uint64_t seen = 0;
  bool is_end = false;
  const absl::Status read = core_.store_->ScanFirst(
      QueueKey(Kind::kPlace, id).append(from), end, wanted,
      [&](std::string_view key, std::string_view value) {
        PlaceKey parts;
        Found found;
        std::string_view metadata;
        if (!DecodePlaceKey(key, parts) || !DecodeEntry(value, found.record.created, metadata)) {
          damage = Damaged("the schedule of queue " + std::string(serving.queue->key()));
          return false;
        }
        found.record.place = parts.place;
        const std::string_view place = key.substr(kQueuePrefixBytes);
        ++seen;
        found.url = FingerprintOf(core_.hash_key_, id.queue, parts.url);
        if (DateOf(found.record) > today) {
          if (serving.live_leases > 0 && IsLeased(*serving.queue, found.url)) {
            from.assign(place).push_back('\0');  // it was due before the clock was set back
            return true;
          }
          serving.record.next_due = std::min(serving.record.next_due, DateOf(found.record));
          if (serving.head.empty()) serving.head = place;
          // By depth, something may follow that is due: the clock has been set back.
          is_end = parts.place.cls == UrlClass::kDate;
          if (is_end) return false;
          from.assign(place).push_back('\0');
          return true;
        }
        found.begin = serving.text.size();
        found.url_size = parts.url.size();
        found.metadata_size = metadata.size();
        serving.text.append(parts.url).append(metadata);
        serving.found.push_back(found);
        from.assign(place).push_back('\0');
        return true;
      });
  done = is_end || seen < wanted;
  return read.ok() ? damage : read;
}

absl::Status GetCall::Read(Serving& serving) {
  const uint64_t room =
      std::min<uint64_t>(max_urls_, core_.options_.max_in_process - serving.live_leases);
  serving.record.next_due = kNever;
  std::string from(serving.queue->head());
  constexpr uint64_t kMostAtOnce = 4096;
  bool done = false;
  while (!done && serving.found.size() <= room) {
    const size_t before = serving.found.size();
    const uint64_t wanted = std::min(room - before + 1, kMostAtOnce);
    const absl::Status read = ReadSome(serving, from, wanted, done);
    if (!read.ok()) return read;
    if (serving.live_leases > 0) DropLeased(serving, before);
  }
  if (serving.found.size() > room) {  // one more, so that it is known when there is work again
    const Found& next = serving.found.back();
    serving.record.next_due = std::min(serving.record.next_due, DateOf(next.record));
    std::string place;
    AppendPlace(next.record.place, place);
    place.append(serving.text, next.begin, next.url_size);
    if (serving.head.empty() || place < serving.head) serving.head = place;
    serving.found.pop_back();
  }
  if (serving.head.empty()) serving.head = from;
  return absl::OkStatus();
}

void GetCall::AppendTo(store::Batch& batch, QueueChanges& changes, Serving& serving) {
  Queue& queue = *serving.queue;
  std::string key;
  std::string value;
  for (const Fingerprint& url : serving.freed) {
    key = QueueKey(Kind::kLease, queue.Id()).append(url.bytes());
    batch.Delete(key);
  }
  for (Found& found : serving.found) {
    found.lease = core_.next_lease_.fetch_add(1);
    key.clear();
    AppendQueueKey(Kind::kLease, queue.Id(), key);
    key.append(found.url.bytes());
    value.clear();
    Encode(LeaseRecord{found.lease, deadline_, found.record}, value);
    batch.Put(key, value);
  }
  QueueRecord& record = serving.record;
  record.last_served = std::max(record.last_served, now_);
  record.turn = core_.next_turn_.fetch_add(1);
  if (core_.options_.group != PolitenessGroup::kQueue) {
    record.group_until = now_ + serving.delay;
  }
  changes.Add(queue, record);
}

absl::Status GetCall::Serve() {
  Core::StripeSet stripes;
  for (const Serving& serving : servings_) {
    stripes.set(Core::StripeOf(Core::NameOf(serving.queue)));
  }
  const Core::StripeLock stripe_lock(core_, stripes);
  {
    const std::lock_guard<std::mutex> lock(core_.agenda_mutex_);
    for (Serving& serving : servings_) Begin(serving);
  }
  absl::Status status;
  store::Batch batch;
  QueueChanges changes;
  for (Serving& serving : servings_) {
    if (!serving.confirmed || !status.ok()) continue;
    status = Read(serving);
    if (absl::IsDataLoss(status)) {
      serving.damage = std::exchange(status, absl::OkStatus());
      serving.found.clear();
    }
    if (status.ok() && !serving.found.empty()) AppendTo(batch, changes, serving);
  }
  if (status.ok() && !batch.empty()) status = core_.Write(batch, changes);
  const std::lock_guard<std::mutex> lock(core_.agenda_mutex_);
  for (Serving& serving : servings_) {
    Queue& queue = *serving.queue;
    if (!serving.confirmed) continue;
    if (!serving.damage.ok()) Agenda::SetDamaged(queue);
    if (status.ok() && serving.damage.ok()) {
      Commit(serving);
    } else if (queue.leases != nullptr) {
      queue.leases->freed_due = std::min(queue.leases->freed_due, serving.freed_due);
    }
  }
  if (!status.ok()) core_.agenda_.SetLastAsked(last_asked_);
  return status;
}

void GetCall::Commit(Serving& serving) {
  Queue& queue = *serving.queue;
  // Of a queue that was not served nothing was written: the leases that ended stay until it is.
  if (!serving.found.empty()) {
    for (const Fingerprint& url : serving.freed) core_.agenda_.EndLease(queue, url);
  }
  for (const Found& found : serving.found) {
    core_.agenda_.AddLease(queue, found.url, {found.lease, deadline_, found.record, true});
  }
  queue.SetHead(serving.head);
  core_.agenda_.SetRecord(queue, serving.record);
}

uint64_t GetCall::HandOut(absl::FunctionRef<void(const LeasedUrl&)> visit) {
  uint64_t urls = 0;
  for (const Serving& serving : servings_) {
    for (const Found& found : serving.found) {
      const std::string_view text = serving.text;
      visit({.url = text.substr(found.begin, found.url_size),
             .key = serving.queue->key(),
             .crawl = serving.queue->crawl->name,
             .metadata = text.substr(found.begin + found.url_size, found.metadata_size),
             .lease = found.lease,
             .deadline = absl::FromUnixMillis(deadline_)});
      ++urls;
    }
  }
  return urls;
}

void GetCall::TellDamage() const {
  if (!core_.options_.warn) return;
  for (const Serving& serving : servings_) {
    if (serving.damage.ok()) continue;
    core_.options_.warn(
        "queue " + std::string(serving.queue->key()) + " of crawl " + serving.queue->crawl->name +
        " cannot be read and is put aside: " + std::string(serving.damage.message()));
  }
}

absl::StatusOr<uint64_t> Core::Get(const GetRequest& request,
                                   absl::FunctionRef<void(const LeasedUrl&)> visit) {
  absl::StatusOr<uint64_t> urls = GetCall(*this, request).Run(visit);
  Fold();
  return urls;
}

}  // namespace escalona::frontier

// Looking at queues and URLs without changing them.
#include <algorithm>
#include <string>
#include <utility>

#include "frontier/core.h"

namespace escalona::frontier {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c; }

bool Matches(std::string_view url, const UrlFilter& filter) {
  if (filter.text.empty()) return true;
  if (!filter.ignore_case) return url.find(filter.text) != std::string_view::npos;
  return std::search(url.begin(), url.end(), filter.text.begin(), filter.text.end(),
                     [](char a, char b) { return Lower(a) == Lower(b); }) != url.end();
}

bool IsStopped(const UrlFilter& filter) { return filter.stop && filter.stop(); }

KnownUrl Describe(const UrlRecord& record, const Lease* lease) {
  KnownUrl known = {};
  known.state = record.place.cls == UrlClass::kCompleted ? UrlState::kCompleted
                : lease != nullptr                       ? UrlState::kLeased
                                                         : UrlState::kScheduled;
  known.date = absl::FromUnixSeconds(known.state == UrlState::kCompleted ? 0 : DateOf(record));
  known.created = absl::FromUnixSeconds(record.created);
  known.deadline = lease == nullptr ? absl::UnixEpoch() : absl::FromUnixMillis(lease->deadline);
  return known;
}

absl::Status NoKey() {
  return absl::InvalidArgumentError("no key, and none can be derived of the URL");
}

}  // namespace

std::vector<std::string> Core::ListCrawls() const {
  std::vector<std::string> names;
  {
    const std::lock_guard<std::mutex> lock(agenda_mutex_);
    for (const auto& [name, crawl] : crawls_) {
      if (!crawl->queues.empty()) names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Core::ListQueues(std::string_view crawl, bool inactive, uint64_t start,
                                          uint64_t limit, uint64_t* total) const {
  std::vector<std::string> keys;
  uint64_t count = 0;
  const int64_t now = NowMillis();
  const std::lock_guard<std::mutex> lock(agenda_mutex_);
  const Crawl* const found = FindCrawl(CrawlName(crawl));
  if (found != nullptr) {
    for (const Queue* queue : found->queues) {
      const QueueRecord& record = queue->record;
      if (!inactive && (record.scheduled == 0 || record.blocked_until >= now)) continue;
      if (count++ < start) continue;
      if (keys.size() < limit) keys.emplace_back(queue->key());
      if (keys.size() == limit && total == nullptr) break;
    }
  }
  if (total != nullptr) *total = count;
  return keys;
}

std::vector<std::string> Core::KeysOf(std::string_view crawl) const {
  return ListQueues(crawl, true, 0, std::numeric_limits<uint64_t>::max(), nullptr);
}

FrontierStats Core::Stats(const std::optional<std::string>& crawl,
                          const std::optional<std::string>& key) const {
  FrontierStats stats;
  const std::string_view name = CrawlName(crawl.has_value() ? std::string_view(*crawl) : "");
  std::optional<StripeLock> stripe_lock;
  const Queue* queue = nullptr;
  if (key.has_value()) {
    stripe_lock.emplace(*this, QueueName{name, *key});
    queue = Find({name, *key});
    if (queue == nullptr || !queue->known) return stats;
  }
  const std::lock_guard<std::mutex> lock(agenda_mutex_);
  agenda_.Advance(NowMillis());
  if (queue != nullptr) {
    return {.scheduled = queue->record.scheduled,
            .leased = queue->live_leases,
            .completed = queue->record.completed,
            .queues = 1,
            .active_queues = queue->record.scheduled > 0 ? 1U : 0U,
            .damaged_queues = queue->damaged ? 1U : 0U};
  }
  const auto add = [&](const Crawl& one) {
    stats.scheduled += one.scheduled;
    stats.leased += one.leased;
    stats.completed += one.completed;
    stats.queues += one.queues.size();
    stats.active_queues += one.active_queues;
    stats.damaged_queues += one.damaged_queues;
  };
  if (!crawl.has_value()) {
    for (const auto& [each_name, one] : crawls_) add(*one);
  } else if (const Crawl* const found = FindCrawl(name)) {
    add(*found);
  }
  return stats;
}

absl::Status Core::GetUrl(std::string_view crawl, std::string_view key, std::string_view url,
                          absl::FunctionRef<void(const KnownUrl&)> visit) const {
  if (key.empty()) key = DeriveQueueKey(url);
  if (key.empty()) return NoKey();
  const QueueName name = {CrawlName(crawl), key};
  const absl::Status unknown = absl::NotFoundError("unknown URL");
  std::string value;
  KnownUrl known;
  {
    const StripeLock stripe_lock(*this, name);
    const Queue* const queue = Find(name);
    if (queue == nullptr || !queue->known) return unknown;
    const Fingerprint fingerprint = FingerprintOf(hash_key_, queue->id, url);
    const absl::StatusOr<std::optional<UrlRecord>> record = ReadUrl(*queue, fingerprint);
    if (!record.ok()) return record.status();
    if (!record->has_value()) return unknown;
    std::string place = QueueKey(Kind::kPlace, queue->Id());
    AppendPlace((*record)->place, place);
    absl::StatusOr<std::optional<std::string>> entry = store_->Get(place.append(url));
    if (!entry.ok()) return entry.status();
    if (!entry->has_value())
      return Damaged("a URL of queue " + std::string(queue->key()) + " has no entry");
    value = **std::move(entry);
    const std::lock_guard<std::mutex> lock(agenda_mutex_);
    agenda_.Advance(NowMillis());
    const Lease* const lease = queue->FindLease(fingerprint);
    known = Describe(**record, lease != nullptr && lease->live ? lease : nullptr);
  }
  int64_t created = 0;
  if (!DecodeEntry(value, created, known.metadata)) return Damaged("an entry cannot be read");
  known.url = url;
  known.key = name.key;
  known.crawl = name.crawl;
  visit(known);
  return absl::OkStatus();
}

absl::Status Core::ListQueue(const QueueName& name, const UrlFilter& filter,
                             absl::FunctionRef<bool(const KnownUrl&)> visit, bool& more) const {
  std::optional<StripeLock> stripe_lock;
  stripe_lock.emplace(*this, name);
  const Queue* const queue = Find(name);
  if (queue == nullptr || !queue->known) return absl::OkStatus();
  const QueueId id = queue->Id();
  LeaseTable leases;
  {
    const std::lock_guard<std::mutex> lock(agenda_mutex_);
    agenda_.Advance(NowMillis());
    if (queue->leases != nullptr) leases = *queue->leases;
  }
  absl::Status damage;
  const absl::Status read = store_->ScanPrefix(
      QueueKey(Kind::kPlace, id), [&](std::string_view key, std::string_view value) {
        stripe_lock.reset();  // the moment is fixed
        PlaceKey parts;
        UrlRecord record;
        std::string_view metadata;
        if (!DecodePlaceKey(key, parts) || !DecodeEntry(value, record.created, metadata)) {
          damage = Damaged("the schedule of queue " + std::string(name.key));
          return false;
        }
        if (!Matches(parts.url, filter)) {
          more = !IsStopped(filter);
          return more;
        }
        record.place = parts.place;
        const auto lease = leases.find(FingerprintOf(hash_key_, id.queue, parts.url));
        const bool is_leased = lease != leases.end() && lease->second.live;
        KnownUrl known = Describe(record, is_leased ? &lease->second : nullptr);
        known.url = parts.url;
        known.key = name.key;
        known.crawl = name.crawl;
        known.metadata = metadata;
        more = visit(known);
        return more;
      });
  return read.ok() ? damage : read;
}

absl::Status Core::ListUrls(const UrlFilter& filter,
                            absl::FunctionRef<bool(const KnownUrl&)> visit) const {
  const std::string_view crawl = CrawlName(filter.crawl);
  const std::vector<std::string> keys =
      filter.key.has_value() ? std::vector<std::string>{*filter.key} : KeysOf(crawl);
  bool more = true;
  for (const std::string& key : keys) {
    if (IsStopped(filter)) break;
    const absl::Status listed = ListQueue({crawl, key}, filter, visit, more);
    if (!listed.ok() || !more) return listed;
  }
  return absl::OkStatus();
}

absl::StatusOr<Explanation> Core::Explain(std::string_view crawl, std::string_view key,
                                          std::string_view url) const {
  using Reason = Explanation::Reason;
  Explanation answer;
  if (key.empty()) key = DeriveQueueKey(url);
  if (key.empty()) return NoKey();
  const QueueName name = {CrawlName(crawl), key};
  const StripeLock stripe_lock(*this, name);
  const Queue* const queue = Find(name);
  std::optional<UrlRecord> known;
  Fingerprint fingerprint;
  if (queue != nullptr && queue->known) {
    fingerprint = FingerprintOf(hash_key_, queue->id, url);
    const absl::StatusOr<std::optional<UrlRecord>> record = ReadUrl(*queue, fingerprint);
    if (!record.ok()) return record.status();
    known = *record;
  }
  if (!known.has_value()) {
    answer.reasons = {Reason::kUnknownUrl};
    answer.when = absl::InfiniteFuture();
    return answer;
  }
  if (known->place.cls == UrlClass::kCompleted) {
    answer.reasons = {Reason::kCompleted};
    answer.when = absl::InfiniteFuture();
    return answer;
  }
  const int64_t now = NowMillis();
  int64_t when = now;
  const auto because = [&](Reason reason, int64_t until) {
    if (until <= now) return;
    answer.reasons.push_back(reason);
    when = std::max(when, until);
  };
  LeaseTable leases;
  bool damaged = false;
  {
    const std::lock_guard<std::mutex> lock(agenda_mutex_);
    agenda_.Advance(now);
    const QueueRecord& record = queue->record;
    if (queue->leases != nullptr) leases = *queue->leases;
    because(Reason::kInactive, active() ? now : kNever);
    damaged = queue->damaged;
    because(Reason::kDamaged, damaged ? kNever : now);
    because(Reason::kBlocked, record.blocked_until == kUnset ? now : record.blocked_until + 1);
    because(Reason::kLimitReached,
            record.limit > 0 && record.completed >= record.limit ? kNever : now);
    because(Reason::kNotDue, DateOf(*known) * 1000);
    const auto lease = leases.find(fingerprint);
    because(Reason::kLeased,
            lease != leases.end() && lease->second.live ? lease->second.deadline : now);
    int64_t slot = agenda_.SlotOf(*queue);
    if (queue->part != nullptr) slot = std::max(slot, queue->part->group->open_at);
    because(Reason::kDelay, slot);
    if (queue->live_leases >= options_.max_in_process) {
      std::vector<int64_t> ends;
      for (const auto& [one, other] : leases) {
        if (other.live) ends.push_back(other.deadline);
      }
      std::sort(ends.begin(), ends.end());
      because(Reason::kInProcess,
              options_.max_in_process == 0 ? kNever : ends[ends.size() - options_.max_in_process]);
    }
  }
  if (answer.reasons.empty()) answer.reasons = {Reason::kServable};
  answer.when = when == kNever ? absl::InfiniteFuture() : absl::FromUnixMillis(when);
  if (damaged) return answer;  // those before it cannot be read either
  constexpr uint64_t kCountedUpTo = 1000;
  std::string end = QueueKey(Kind::kPlace, queue->Id());
  AppendPlace(known->place, end);
  end.append(url);
  const bool head_holds =
      leases.size() ==
      static_cast<size_t>(std::count_if(leases.begin(), leases.end(),
                                        [](const auto& lease) { return lease.second.live; }));
  const absl::Status read = store_->ScanFirst(
      QueueKey(Kind::kPlace, queue->Id()).append(head_holds ? queue->head() : ""), end,
      kCountedUpTo + leases.size(), [&](std::string_view place, std::string_view) {
        const std::string_view other = place.substr(kQueuePrefixBytes + kPlaceBytes);
        const auto lease = leases.find(FingerprintOf(hash_key_, queue->id, other));
        const bool is_leased = lease != leases.end() && lease->second.live;
        answer.before += is_leased ? 0 : 1;
        return answer.before < kCountedUpTo;
      });
  if (!read.ok()) return read;
  return answer;
}

}  // namespace escalona::frontier

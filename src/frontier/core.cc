#include "frontier/core.h"

#include <algorithm>
#include <utility>

#include "escalona/url.h"
#include "url/ip_address.h"

namespace escalona::frontier {
namespace {

constexpr int64_t kLastMillis = kLastDate * 1000;

// In UTF-16 units; a byte that is not UTF-8 counts as one.
size_t Utf16Units(std::string_view text) {
  size_t units = 0;
  int rest = 0;  // bytes that may still belong to the character before
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if ((byte & 0xC0) == 0x80 && rest > 0) {
      --rest;
      continue;
    }
    rest = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : byte >= 0xC0 ? 1 : 0;
    units += byte >= 0xF0 ? 2 : 1;
  }
  return units;
}

// The registrable domain of a host, or the host itself if it has none; empty if it is no host.
std::string DomainOf(std::string_view host) {
  std::string text = "http://";
  text.append(host).append("/");
  const absl::StatusOr<Url> url = Url::Parse(text);
  if (!url.ok()) return {};
  const std::string_view domain = url->RegistrableDomain();
  return std::string(domain.empty() ? url->HostKey() : domain);
}

}  // namespace

bool IsQueueKey(std::string_view key) {
  return !key.empty() && (key.size() <= kMaxQueueKey || Utf16Units(key) <= kMaxQueueKey);
}

std::string NormalAddress(std::string_view text) {
  std::string normal;
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  if (const auto ipv6 = url_internal::ParseIpv6(text)) {
    url_internal::AppendIpv6(*ipv6, normal);
  } else if (url_internal::EndsInNumber(text)) {
    if (const auto ipv4 = url_internal::ParseIpv4(text)) url_internal::AppendIpv4(*ipv4, normal);
  }
  return normal;
}

int64_t MillisOf(absl::Time time) {
  return std::clamp<int64_t>(absl::ToUnixMillis(time), 0, kLastMillis);
}

int64_t MillisOf(absl::Duration duration) {
  return std::clamp<int64_t>(absl::ToInt64Milliseconds(duration), 0, kLastMillis);
}

int64_t SecondsOf(absl::Time time) {
  return std::clamp<int64_t>(absl::ToUnixSeconds(time), 0, kLastDate);
}

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError("frontier: the store is damaged: " + std::string(what) +
                             "; restore it from a backup, `escalona store check` tells more");
}

Core::Core(std::unique_ptr<store::Store> store, const FrontierOptions& options, const Clock& clock)
    : store_(std::move(store)),
      options_(options),
      clock_(clock),
      known_urls_(options.memory_bytes / 2),
      agenda_({.max_in_process = options.max_in_process,
               .default_delay = MillisOf(options.default_delay)}) {}

Core::~Core() {
  for (Queue* queue : unfolded_) Unjournal(queue);
  for (Queue* queue : folding_) Unjournal(queue);
  for (Stripe& stripe : stripes_) {
    for (Queue* queue : stripe.queues) {
      ++queue->references;
      agenda_.Remove(*queue, 0);
    }
  }
  agenda_.Advance(kNever);  // lets go of what only leases refer to
  for (Stripe& stripe : stripes_) {
    const std::vector<Queue*> queues(stripe.queues.begin(), stripe.queues.end());
    stripe.queues.clear();
    for (Queue* queue : queues) {
      --queue->references;
      Agenda::FreeIfUnused(queue);
    }
  }
  for (const auto& [name, crawl] : crawls_) delete crawl;
}

std::string_view Core::CrawlName(std::string_view name) {
  return name.find_first_not_of(" \t\n\v\f\r") == std::string_view::npos ? kDefaultCrawl : name;
}

absl::Status Core::Write(const store::Batch& batch) {
  return store_->Write(batch, options_.durability == FrontierDurability::kSync ? store::Reach::kDisk
                                                                               : store::Reach::kOs);
}

Queue* Core::Find(const QueueName& name) const {
  const Stripe& stripe = stripes_[StripeOf(name)];
  const auto found = stripe.queues.find(name);
  return found == stripe.queues.end() ? nullptr : *found;
}

Crawl* Core::FindCrawl(std::string_view name) const {
  const auto found = crawls_.find(absl::string_view(name.data(), name.size()));
  return found == crawls_.end() ? nullptr : found->second;
}

Crawl* Core::FindOrAddCrawl(std::string_view name) {
  if (Crawl* const found = FindCrawl(name)) return found;
  auto* const crawl = new Crawl;
  crawl->id = next_crawl_++;
  crawl->name = name;
  crawl->strategy = options_.strategy;
  crawl->order = options_.url_order;
  crawls_.emplace(crawl->name, crawl);
  return crawl;
}

Queue* Core::FindOrAdd(const QueueName& name, size_t hash) {
  Stripe& stripe = stripes_[StripeOf(hash)];
  const auto found = stripe.queues.find(name, hash);
  if (found != stripe.queues.end()) return *found;
  Queue* const queue = Queue::New(name.key);
  {
    const std::lock_guard<std::mutex> lock(agenda_mutex_);
    queue->crawl = FindOrAddCrawl(name.crawl);
    ++queue->crawl->objects;
  }
  stripe.queues.insert(queue);
  return queue;
}

void Core::DropIfUnused(Queue* queue) {
  if (queue->known || queue->told) return;
  stripes_[StripeOf(NameOf(queue))].queues.erase(queue);
  const std::lock_guard<std::mutex> lock(agenda_mutex_);
  Crawl* const crawl = queue->crawl;
  if (crawl->objects == 1 && !crawl->stored) {
    crawl->dead = true;
    crawls_.erase(crawl->name);
  }
  queue->dead = true;
  Agenda::FreeIfUnused(queue);
}

std::string Core::GroupName(const Queue& queue) const {
  switch (options_.group) {
    case PolitenessGroup::kQueue:
      return {};
    case PolitenessGroup::kDomain:
      return DomainOf(queue.key());
    case PolitenessGroup::kIp:
      break;
  }
  std::string address = NormalAddress(queue.key());
  if (address.empty() && queue.address != nullptr) address = NormalAddress(*queue.address);
  return address;
}

void Core::JoinGroup(Queue& queue, int64_t now) {
  if (options_.group != PolitenessGroup::kQueue) agenda_.SetGroup(queue, GroupName(queue), now);
}

void Core::AppendCrawl(const Crawl& crawl, store::Batch& batch) {
  batch.Put(CrawlKey(crawl.id),
            Encode(CrawlRecord{crawl.name, crawl.told_strategy, crawl.told_order}));
}

void Core::AppendQueue(const Queue& queue, const QueueRecord& record, store::Batch& batch) {
  thread_local std::string key;
  thread_local std::string value;
  key.clear();
  value.clear();
  AppendQueueKey(Kind::kQueue, queue.Id(), key);
  Encode(record, queue.key(), queue.address == nullptr ? "" : *queue.address, value);
  batch.Put(key, value);
}

absl::StatusOr<std::optional<UrlRecord>> Core::ReadUrl(const Queue& queue,
                                                       const Fingerprint& url) const {
  std::string key;
  AppendQueueKey(Kind::kFinger, queue.Id(), key);
  key.append(url.bytes());
  const absl::StatusOr<std::optional<std::string>> value = store_->Get(key);
  if (!value.ok()) return value.status();
  if (!value->has_value()) return std::optional<UrlRecord>();
  UrlRecord record;
  if (!Decode(**value, record)) return Damaged("a URL record of queue " + std::string(queue.key()));
  return std::optional<UrlRecord>(record);
}

void Core::Remember(uint64_t count) {
  const std::unique_lock<std::mutex> lock(remember_mutex_, std::try_to_lock);
  if (!lock.owns_lock() || remembered_all_.load() || known_urls_.has_forgotten()) return;
  const std::string prefix(1, static_cast<char>(Kind::kFinger));
  uint64_t seen = 0;
  const absl::Status read =
      store_->ScanFirst(std::max(prefix, remembered_to_), store::EndOfPrefix(prefix), count,
                        [&](std::string_view key, std::string_view) {
                          ++seen;
                          remembered_to_.assign(key).push_back('\0');
                          if (key.size() == kQueuePrefixBytes + Fingerprint::kBytes) {
                            known_urls_.Insert(Fingerprint::Of(key.substr(kQueuePrefixBytes)));
                          }
                          return !known_urls_.has_forgotten();
                        });
  if (read.ok() && seen < count && !known_urls_.has_forgotten()) remembered_all_ = true;
}

void Core::LowerHead(Queue& queue) {
  if (queue.leases == nullptr || queue.leases->size() == queue.live_leases) return;
  std::string place;
  for (const auto& [url, lease] : *queue.leases) {
    if (lease.live) continue;
    place.clear();
    AppendPlace(lease.url.place, place);
    if (place < queue.head()) queue.SetHead(place);
  }
}

absl::StatusOr<int64_t> Core::FirstDate(const Queue& queue, UrlClass cls,
                                        std::string_view from) const {
  const std::string prefix = QueueKey(Kind::kPlace, queue.Id());
  std::string end = prefix;
  end.push_back(static_cast<char>(static_cast<int>(cls) + 1));
  std::string begin = prefix;
  begin.push_back(static_cast<char>(cls));
  begin = std::max(begin, prefix + std::string(from));
  constexpr uint64_t kAtOnce = 64;
  for (;;) {
    std::vector<std::pair<UrlRecord, Fingerprint>> found;
    absl::Status damage;
    const absl::Status read =
        store_->ScanFirst(begin, end, kAtOnce, [&](std::string_view key, std::string_view value) {
          PlaceKey parts;
          UrlRecord record;
          std::string_view metadata;
          if (!DecodePlaceKey(key, parts) || !DecodeEntry(value, record.created, metadata)) {
            damage = Damaged("the schedule of queue " + std::string(queue.key()));
            return false;
          }
          record.place = parts.place;
          found.emplace_back(record, FingerprintOf(hash_key_, queue.id, parts.url));
          begin.assign(key).push_back('\0');
          return true;
        });
    if (!read.ok()) return read;
    if (!damage.ok()) return damage;
    const std::lock_guard<std::mutex> lock(agenda_mutex_);
    for (const auto& [record, url] : found) {
      if (!queue.IsLeased(url)) return DateOf(record);
    }
    if (found.size() < kAtOnce) return kNever;
  }
}

void Core::FindNextDue(Queue& queue, int64_t now) {
  {
    const std::lock_guard<std::mutex> lock(agenda_mutex_);
    LowerHead(queue);
  }
  QueueRecord record = queue.record;
  record.next_due = kNever;
  for (const UrlClass cls : {UrlClass::kDepth, UrlClass::kDate}) {
    if (cls == UrlClass::kDepth && record.arrivals == 0) continue;
    const absl::StatusOr<int64_t> date = FirstDate(queue, cls, queue.head());
    if (!date.ok()) return;  // what is kept is not wrong, only early
    record.next_due = std::min(record.next_due, *date);
  }
  if (record.next_due != queue.record.next_due) {
    store::Batch batch;
    QueueChanges changes;
    changes.Add(queue, record);
    if (!Write(batch, changes).ok()) return;
  }
  const std::lock_guard<std::mutex> lock(agenda_mutex_);
  agenda_.SetRecord(queue, record);
  if (queue.leases != nullptr) {
    queue.leases->freed_due = kNever;
    for (const auto& [url, lease] : *queue.leases) {
      if (lease.live) continue;
      queue.leases->freed_due = std::min(queue.leases->freed_due, DateOf(lease.url));
    }
  }
  agenda_.Place(queue, now);
}

}  // namespace escalona::frontier

namespace escalona {

std::string_view DeriveQueueKey(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  return url.substr(0, url.find_first_of(":/?&"));
}

}  // namespace escalona

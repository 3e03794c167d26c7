// What is told about queues and crawls, and their removal.
#include <algorithm>
#include <utility>

#include "frontier/core.h"

namespace escalona::frontier {

absl::Status Core::SetActive(bool active) {
  const std::lock_guard<std::mutex> lock(meta_mutex_);
  store::Batch batch;
  batch.Put(MetaKey(), MetaOf(told_default_delay_, active));
  absl::Status written = Write(batch);
  if (written.ok()) active_ = active;
  return written;
}

absl::Status Core::SetDefaultDelay(absl::Duration delay) {
  const std::lock_guard<std::mutex> lock(meta_mutex_);
  store::Batch batch;
  batch.Put(MetaKey(), MetaOf(MillisOf(delay), active_));
  absl::Status written = Write(batch);
  if (!written.ok()) return written;
  told_default_delay_ = MillisOf(delay);
  const std::lock_guard<std::mutex> agenda_lock(agenda_mutex_);
  agenda_.SetDefaultDelay(told_default_delay_, NowMillis());
  return written;
}

absl::Status Core::Tell(std::string_view crawl, std::string_view key, bool must_be_known,
                        absl::FunctionRef<void(QueueRecord&)> change,
                        std::optional<std::string_view> address) {
  absl::Status told = ChangeTold(crawl, key, must_be_known, change, address);
  Fold();
  return told;
}

absl::Status Core::ChangeTold(std::string_view crawl, std::string_view key, bool must_be_known,
                              absl::FunctionRef<void(QueueRecord&)> change,
                              std::optional<std::string_view> address) {
  const QueueName name = {CrawlName(crawl), key};
  const StripeLock stripe_lock(*this, name);
  Queue* queue = Find(name);
  if (must_be_known && (queue == nullptr || !queue->known)) {
    return absl::NotFoundError("no queue " + std::string(key) + " in crawl " +
                               std::string(name.crawl));
  }
  if (!IsQueueKey(key)) return absl::OkStatus();  // there will never be such a queue
  if (queue == nullptr) queue = FindOrAdd(name);
  QueueRecord record = queue->record;
  change(record);
  std::string next_address = queue->address == nullptr ? "" : *queue->address;
  if (address.has_value()) next_address = *address;
  std::string value;
  Encode(record, queue->known ? queue->key() : std::string_view(), next_address, value);
  store::Batch batch;
  QueueChanges changes;
  if (!queue->crawl->stored) AppendCrawl(*queue->crawl, batch);
  if (!queue->known) batch.Put(ToldKey(queue->crawl->id, queue->key()), value);
  if (queue->known) changes.Add(*queue, record);
  if (queue->known && address.has_value()) batch.Put(QueueKey(Kind::kQueue, queue->Id()), value);
  absl::Status written = Write(batch, changes);
  if (!written.ok()) {
    DropIfUnused(queue);
    return written;
  }
  const std::lock_guard<std::mutex> lock(agenda_mutex_);
  queue->crawl->stored = true;
  if (!queue->known) queue->told = true;
  agenda_.SetRecord(*queue, record);
  if (address.has_value()) {
    queue->address =
        next_address.empty() ? nullptr : std::make_unique<std::string>(std::move(next_address));
    if (queue->known) JoinGroup(*queue, NowMillis());
  }
  agenda_.Place(*queue, NowMillis());
  return written;
}

absl::Status Core::SetDelay(std::string_view crawl, std::string_view key, absl::Duration delay) {
  return Tell(crawl, key, false, [&](QueueRecord& record) { record.delay = MillisOf(delay); });
}

absl::Status Core::BlockQueueUntil(std::string_view crawl, std::string_view key, absl::Time until) {
  const int64_t millis = MillisOf(until);
  return Tell(crawl, key, false,
              [&](QueueRecord& record) { record.blocked_until = millis == 0 ? kUnset : millis; });
}

absl::Status Core::SetCrawlLimit(std::string_view crawl, std::string_view key, uint32_t limit) {
  return Tell(crawl, key, true, [&](QueueRecord& record) { record.limit = limit; });
}

absl::Status Core::SetQueueAddress(std::string_view crawl, std::string_view key,
                                   std::string_view ip) {
  if (!ip.empty() && NormalAddress(ip).empty()) {
    return absl::InvalidArgumentError("'" + std::string(ip) + "' is no IP address");
  }
  return Tell(
      crawl, key, false, [](QueueRecord&) {}, ip);
}

absl::Status Core::SetStrategy(std::string_view crawl, Strategy strategy, UrlOrder order) {
  const StripeLock stripe_lock(*this, StripeSet().set());
  Crawl* found = nullptr;
  {
    const std::lock_guard<std::mutex> lock(agenda_mutex_);
    found = FindOrAddCrawl(CrawlName(crawl));
  }
  store::Batch batch;
  batch.Put(CrawlKey(found->id), Encode(CrawlRecord{found->name, strategy, order}));
  absl::Status written = Write(batch);
  const std::lock_guard<std::mutex> lock(agenda_mutex_);
  if (!written.ok()) {
    if (!found->stored && found->objects == 0) {
      crawls_.erase(found->name);
      delete found;
    }
    return written;
  }
  found->stored = true;
  found->told_strategy = strategy;
  found->told_order = order;
  found->order = order;
  agenda_.SetStrategy(*found, strategy, NowMillis());
  return written;
}

absl::StatusOr<uint64_t> Core::DeleteQueue(std::string_view crawl, std::string_view key) {
  const QueueName name = {CrawlName(crawl), key};
  const StripeLock stripe_lock(*this, name);
  Queue* const queue = Find(name);
  if (queue == nullptr) return 0;
  store::Batch batch;
  if (queue->known) {
    batch.Delete(QueueKey(Kind::kQueue, queue->Id()));
    for (const Kind kind : {Kind::kLease, Kind::kPlace, Kind::kFinger}) {
      batch.DeletePrefix(QueueKey(kind, queue->Id()));
    }
  } else {
    batch.Delete(ToldKey(queue->crawl->id, queue->key()));
  }
  const absl::Status written = Write(batch);
  if (!written.ok()) return written;
  stripes_[StripeOf(name)].queues.erase(queue);
  const uint64_t urls = queue->record.scheduled + queue->record.completed;
  queue->crawl->claimed -= urls;
  const std::lock_guard<std::mutex> lock(agenda_mutex_);
  agenda_.Remove(*queue, NowMillis());
  Agenda::FreeIfUnused(queue);
  return urls;
}

absl::StatusOr<uint64_t> Core::DeleteCrawl(std::string_view crawl) {
  const StripeLock stripe_lock(*this, StripeSet().set());
  Crawl* found = nullptr;
  {
    const std::lock_guard<std::mutex> lock(agenda_mutex_);
    found = FindCrawl(CrawlName(crawl));
    if (found == nullptr) return 0;
  }
  store::Batch batch;
  for (const Kind kind :
       {Kind::kCrawl, Kind::kTold, Kind::kLease, Kind::kQueue, Kind::kPlace, Kind::kFinger}) {
    batch.DeletePrefix(CrawlPrefix(kind, found->id));
  }
  const absl::Status written = Write(batch);
  if (!written.ok()) return written;
  const int64_t now = NowMillis();
  const std::lock_guard<std::mutex> lock(agenda_mutex_);
  const uint64_t urls = found->scheduled + found->completed;
  crawls_.erase(found->name);
  found->dead = true;
  ++found->objects;  // while it is used here
  for (Stripe& stripe : stripes_) {
    std::vector<Queue*> gone;
    for (Queue* queue : stripe.queues) {
      if (queue->crawl == found) gone.push_back(queue);
    }
    for (Queue* queue : gone) {
      stripe.queues.erase(queue);
      agenda_.Remove(*queue, now);
      Agenda::FreeIfUnused(queue);
    }
  }
  if (--found->objects == 0) delete found;
  return urls;
}

absl::StatusOr<uint64_t> Core::PurgeSome(const QueueName& name, int64_t before, std::string& from,
                                         bool& done) {
  const StripeLock stripe_lock(*this, name);
  Queue* const queue = Find(name);
  done = true;
  if (queue == nullptr || !queue->known) return 0;
  const QueueId id = queue->Id();
  const std::string prefix = QueueKey(Kind::kPlace, id);
  // At first, and if the queue was deleted and came again, with another id, since the last part.
  if (!from.starts_with(prefix)) from = prefix;
  QueueRecord record = queue->record;
  store::Batch batch;
  std::vector<Fingerprint> gone;
  absl::Status damage;
  uint64_t seen = 0;
  constexpr uint64_t kAtOnce = 10000;
  const absl::Status read = store_->ScanFirst(
      from, store::EndOfPrefix(prefix), kAtOnce, [&](std::string_view key, std::string_view value) {
        PlaceKey parts;
        int64_t created = 0;
        std::string_view metadata;
        if (!DecodePlaceKey(key, parts) || !DecodeEntry(value, created, metadata)) {
          damage = Damaged("the schedule of queue " + std::string(queue->key()));
          return false;
        }
        ++seen;
        from.assign(key).push_back('\0');
        if (created >= before) return true;
        const Fingerprint url = FingerprintOf(hash_key_, id.queue, parts.url);
        batch.Delete(key);
        batch.Delete(QueueKey(Kind::kFinger, id).append(url.bytes()));
        batch.Delete(QueueKey(Kind::kLease, id).append(url.bytes()));
        --(parts.place.cls == UrlClass::kCompleted ? record.completed : record.scheduled);
        gone.push_back(url);
        return true;
      });
  if (!read.ok()) return read;
  if (!damage.ok()) return damage;
  done = seen < kAtOnce;
  if (gone.empty()) return 0;
  QueueChanges changes;
  changes.Add(*queue, record);
  const absl::Status written = Write(batch, changes);
  if (!written.ok()) return written;
  {
    const std::lock_guard<std::mutex> lock(remember_mutex_);
    for (const Fingerprint& url : gone) known_urls_.Erase(url);
  }
  queue->crawl->claimed -= gone.size();
  const int64_t now = NowMillis();
  {
    const std::lock_guard<std::mutex> lock(agenda_mutex_);
    for (const Fingerprint& url : gone) agenda_.EndLease(*queue, url);
    agenda_.SetRecord(*queue, record);
    agenda_.Place(*queue, now);
  }
  FindNextDue(*queue, now);
  return gone.size();
}

absl::StatusOr<uint64_t> Core::Purge(std::string_view crawl, const std::optional<std::string>& key,
                                     absl::Time before) {
  const std::string_view name = CrawlName(crawl);
  const std::vector<std::string> keys =
      key.has_value() ? std::vector<std::string>{*key} : KeysOf(name);
  // A part of a second before it is after its beginning.
  const int64_t date = SecondsOf(absl::FromUnixSeconds(absl::ToUnixSeconds(before)) == before
                                     ? before
                                     : before + absl::Seconds(1));
  uint64_t purged = 0;
  for (const std::string& queue : keys) {
    std::string from;
    for (bool done = false; !done;) {
      const absl::StatusOr<uint64_t> some = PurgeSome({name, queue}, date, from, done);
      Fold();
      if (!some.ok()) return some.status();
      purged += *some;
    }
  }
  return purged;
}

}  // namespace escalona::frontier

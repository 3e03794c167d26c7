#include "frontier/check.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "frontier/agenda.h"
#include "frontier/core.h"
#include "frontier/stored.h"

namespace escalona::frontier {
namespace {

using QueueNumber = std::pair<uint32_t, uint64_t>;

absl::StatusOr<MetaRecord> ReadMeta(store::Store& store) {
  const absl::StatusOr<std::optional<std::string>> stored = store.Get(MetaKey());
  if (!stored.ok()) return stored.status();
  MetaRecord meta;
  if (!stored->has_value()) return Damaged("its first record is missing");
  if (!Decode(**stored, meta)) return Damaged("its first record cannot be read");
  if (meta.version > kFormatVersion) {
    return absl::FailedPreconditionError("frontier: the data have format " +
                                         std::to_string(meta.version) +
                                         ", which this program does not know");
  }
  return meta;
}

class Checker {
 public:
  Checker(store::Store& store, const MetaRecord& meta,
          absl::FunctionRef<void(const std::string&)> found)
      : store_(store), meta_(meta), found_(found) {}

  absl::Status Run(bool with_urls) {
    for (const auto step : {&Checker::Crawls, &Checker::Queues, &Checker::Told, &Checker::Leases}) {
      const absl::Status status = (this->*step)();
      if (!status.ok()) return status;
    }
    if (!with_urls) return absl::OkStatus();
    for (const auto step : {&Checker::Places, &Checker::Fingers, &Checker::Others}) {
      const absl::Status status = (this->*step)();
      if (!status.ok()) return status;
    }
    for (const auto& [id, queue] : queues_) Compare(queue);
    for (const auto& [url, lease] : leases_) {
      if (!lease.second) found_("a lease of queue " + std::to_string(url.first) + " has no URL");
    }
    return absl::OkStatus();
  }

  StoreCounts Counts(bool with_urls) const {
    StoreCounts counts = {.format = meta_.version,
                          .openings = meta_.openings,
                          .crawls = crawls_.size(),
                          .queues = queues_.size(),
                          .told = told_,
                          .leases = leases_.size()};
    for (const auto& [id, queue] : queues_) {
      counts.scheduled += with_urls ? queue.scheduled : queue.record.scheduled;
      counts.completed += with_urls ? queue.completed : queue.record.completed;
    }
    return counts;
  }

 private:
  struct Sums {
    QueueRecord record;
    std::string name;
    uint64_t scheduled = 0;
    uint64_t completed = 0;
    uint64_t fingers = 0;
    int64_t next_due = kNever;
    bool by_depth = false;  // has a URL by depth that is not leased
    // Of all places, and of all fingerprints, so that they are the same without being kept.
    uint64_t place_sum = 0;
    uint64_t finger_sum = 0;
  };
  using Visitor = absl::FunctionRef<void(std::string_view key, std::string_view value)>;

  absl::Status ForEach(Kind kind, Visitor visit) {
    return store_.ScanPrefix(std::string(1, static_cast<char>(kind)),
                             [&](std::string_view key, std::string_view value) {
                               visit(key, value);
                               return true;
                             });
  }

  absl::Status Crawls() {
    return ForEach(Kind::kCrawl, [&](std::string_view key, std::string_view value) {
      uint32_t id = 0;
      std::string_view rest;
      CrawlRecord record;
      if (!DecodeCrawlKey(key, id, rest) || !rest.empty() || !Decode(value, record)) {
        return found_("a crawl record cannot be read");
      }
      if (!crawl_names_.insert(record.name).second) found_("crawl " + record.name + " is twice");
      crawls_.emplace(id, record.name);
    });
  }

  absl::Status Queues() {
    StoredJournal journal;
    if (absl::Status read = journal.Read(store_); absl::IsDataLoss(read)) {
      found_("a record of the journal cannot be read");
    } else if (!read.ok()) {
      return read;
    }
    std::set<std::pair<uint32_t, std::string>> names;
    return ForEach(Kind::kQueue, [&](std::string_view key, std::string_view value) {
      QueueId id;
      std::string_view rest;
      std::string_view name;
      std::string_view address;
      Sums queue;
      if (!DecodeQueueKey(key, id, rest) || !rest.empty() ||
          !Decode(value, queue.record, name, address)) {
        return found_("a queue record cannot be read");
      }
      queue.name = name;
      journal.Find(id, queue.record);
      if (!crawls_.contains(id.crawl)) found_("the crawl of queue " + queue.name + " is missing");
      if (!names.emplace(id.crawl, name).second) found_("queue " + queue.name + " is twice");
      queues_.emplace(QueueNumber(id.crawl, id.queue), std::move(queue));
    });
  }

  absl::Status Told() {
    return ForEach(Kind::kTold, [&](std::string_view key, std::string_view value) {
      uint32_t crawl = 0;
      std::string_view name;
      std::string_view none;
      std::string_view address;
      QueueRecord record;
      if (!DecodeCrawlKey(key, crawl, name) || !Decode(value, record, none, address)) {
        return found_("what was told about a queue cannot be read");
      }
      if (!crawls_.contains(crawl))
        found_("the crawl of queue " + std::string(name) + ", which has no URL yet, is missing");
      ++told_;
    });
  }

  absl::Status Leases() {
    return ForEach(Kind::kLease, [&](std::string_view key, std::string_view value) {
      QueueId id;
      std::string_view rest;
      LeaseRecord record;
      if (!DecodeQueueKey(key, id, rest) || rest.size() != Fingerprint::kBytes ||
          !Decode(value, record)) {
        return found_("a lease cannot be read");
      }
      if (!queues_.contains({id.crawl, id.queue})) found_("the queue of a lease is missing");
      leases_[{id.queue, Fingerprint::Of(rest)}] = {record.url, false};
    });
  }

  // The sums of the queue an entry belongs to; null if there is none.
  Sums* SumsOf(QueueId id, const char* what) {
    if (last_ != queues_.end() && last_->first == QueueNumber(id.crawl, id.queue)) {
      return &last_->second;
    }
    const auto queue = queues_.find({id.crawl, id.queue});
    if (queue == queues_.end()) {
      if (strays_.insert(id.queue).second) found_(std::string(what) + " of an unknown queue");
      return nullptr;
    }
    last_ = queue;
    return &queue->second;
  }

  static uint64_t SumOf(const Fingerprint& url, const UrlRecord& record) {
    std::string text(url.bytes());
    Encode(record, text);
    return SipHash<1, 3>({}, text)[0];
  }

  absl::Status Places() {
    last_ = queues_.end();
    return ForEach(Kind::kPlace, [&](std::string_view key, std::string_view value) {
      PlaceKey parts;
      UrlRecord record;
      std::string_view metadata;
      if (!DecodePlaceKey(key, parts) || !DecodeEntry(value, record.created, metadata)) {
        return found_("an entry of a schedule cannot be read");
      }
      Sums* const queue = SumsOf(parts.id, "a URL");
      if (queue == nullptr) return;
      record.place = parts.place;
      const Fingerprint url = FingerprintOf(meta_.hash_key, parts.id.queue, parts.url);
      queue->place_sum += SumOf(url, record);
      ++(parts.place.cls == UrlClass::kCompleted ? queue->completed : queue->scheduled);
      if (parts.place.cls == UrlClass::kCompleted) return;
      if (leases_.contains({parts.id.queue, url})) return;
      // One by depth is due since it came, which need not be the moment that is kept.
      if (parts.place.cls == UrlClass::kDepth) {
        queue->by_depth = true;
      } else {
        queue->next_due = std::min(queue->next_due, DateOf(record));
      }
    });
  }

  absl::Status Fingers() {
    last_ = queues_.end();
    return ForEach(Kind::kFinger, [&](std::string_view key, std::string_view value) {
      QueueId id;
      std::string_view rest;
      UrlRecord record;
      if (!DecodeQueueKey(key, id, rest) || rest.size() != Fingerprint::kBytes ||
          !Decode(value, record)) {
        return found_("a URL record cannot be read");
      }
      Sums* const queue = SumsOf(id, "a URL record");
      if (queue == nullptr) return;
      const Fingerprint url = Fingerprint::Of(rest);
      ++queue->fingers;
      queue->finger_sum += SumOf(url, record);
      const auto lease = leases_.find({id.queue, url});
      if (lease == leases_.end()) return;
      lease->second.second = true;
      if (lease->second.first.place != record.place ||
          lease->second.first.created != record.created) {
        found_("a lease of queue " + queue->name + " is of another moment than its URL");
      }
    });
  }

  // Keys that are of no kind.
  absl::Status Others() {
    std::string from;
    for (const Kind kind : {Kind::kCrawl, Kind::kJournal, Kind::kTold, Kind::kLease, Kind::kMeta,
                            Kind::kQueue, Kind::kPlace, Kind::kFinger}) {
      const std::string prefix(1, static_cast<char>(kind));
      const absl::Status status = Strangers(from, prefix);
      if (!status.ok()) return status;
      from = store::EndOfPrefix(prefix);
    }
    return Strangers(from, "");
  }
  absl::Status Strangers(const std::string& begin, const std::string& end) {
    if (!end.empty() && begin >= end) return absl::OkStatus();
    return store_.ScanFirst(begin, end, 1, [&](std::string_view, std::string_view) {
      found_("a record of a kind this program does not know");
      return false;
    });
  }

  void Compare(const Sums& queue) {
    const QueueRecord& record = queue.record;
    if (record.scheduled != queue.scheduled || record.completed != queue.completed) {
      found_("queue " + queue.name + " counts " + std::to_string(record.scheduled) +
             " scheduled and " + std::to_string(record.completed) + " completed URLs, but has " +
             std::to_string(queue.scheduled) + " and " + std::to_string(queue.completed));
    }
    if (queue.fingers != queue.scheduled + queue.completed || queue.finger_sum != queue.place_sum) {
      found_("URLs of queue " + queue.name + " do not stand where their records say");
    }
    if (record.next_due > (queue.by_depth ? kLastDate : queue.next_due)) {
      found_("queue " + queue.name + " has a URL that is due before its record says");
    }
  }

  store::Store& store_;
  const MetaRecord meta_;
  absl::FunctionRef<void(const std::string&)> found_;
  std::map<uint32_t, std::string> crawls_;
  std::set<std::string> crawl_names_;
  std::map<QueueNumber, Sums> queues_;
  std::map<QueueNumber, Sums>::iterator last_ = queues_.end();
  std::set<uint64_t> strays_;
  absl::flat_hash_map<std::pair<uint64_t, Fingerprint>, std::pair<UrlRecord, bool>> leases_;
  uint64_t told_ = 0;
};

}  // namespace

absl::StatusOr<StoreCounts> CountStore(store::Store& store) {
  const absl::StatusOr<MetaRecord> meta = ReadMeta(store);
  if (!meta.ok()) return meta.status();
  std::string first;
  const auto found = [&](const std::string& what) {
    if (first.empty()) first = what;
  };
  Checker checker(store, *meta, found);
  const absl::Status status = checker.Run(false);
  if (!status.ok()) return status;
  if (!first.empty()) return Damaged(first);
  return checker.Counts(false);
}

absl::StatusOr<StoreCounts> CheckStore(store::Store& store,
                                       absl::FunctionRef<void(const std::string&)> found) {
  const absl::StatusOr<MetaRecord> meta = ReadMeta(store);
  if (!meta.ok()) return meta.status();
  Checker checker(store, *meta, found);
  const absl::Status status = checker.Run(true);
  if (!status.ok()) return status;
  return checker.Counts(true);
}

}  // namespace escalona::frontier

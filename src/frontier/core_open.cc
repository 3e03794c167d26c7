// Opening a frontier: reads its queues and leases, not its URLs.
#include <algorithm>
#include <random>
#include <utility>

#include "frontier/core.h"

namespace escalona::frontier {
namespace {

using Visitor = absl::FunctionRef<absl::Status(std::string_view key, std::string_view value)>;

absl::Status ForEach(store::Store& store, Kind kind, Visitor visit) {
  absl::Status result;
  const absl::Status scanned = store.ScanPrefix(std::string(1, static_cast<char>(kind)),
                                                [&](std::string_view key, std::string_view value) {
                                                  result = visit(key, value);
                                                  return result.ok();
                                                });
  return scanned.ok() ? result : scanned;
}

HashKey RandomKey() {
  std::random_device random;
  HashKey key;
  for (uint64_t& word : key) word = uint64_t{random()} << 32 | random();
  return key;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Core>> Core::Open(std::unique_ptr<store::Store> store,
                                                 const FrontierOptions& options,
                                                 const Clock& clock) {
  std::unique_ptr<Core> core(new Core(std::move(store), options, clock));
  const absl::Status loaded = core->Load();
  if (!loaded.ok()) return loaded;
  return core;
}

absl::Status Core::Load() {
  for (const auto load : {&Core::LoadMeta, &Core::LoadCrawls, &Core::LoadQueues, &Core::LoadTold,
                          &Core::LoadLeases}) {
    const absl::Status loaded = (this->*load)();
    if (!loaded.ok()) return loaded;
  }
  // In their order: the tree grows at its end, which is several times as fast as anywhere.
  const int64_t now = NowMillis();
  for (const auto& [name, crawl] : crawls_) {
    for (Queue* queue : crawl->queues) agenda_.Place(*queue, now);
  }
  return absl::OkStatus();
}

std::string Core::MetaOf(int64_t default_delay, bool active) const {
  return Encode(MetaRecord{.openings = openings_,
                           .default_delay = default_delay,
                           .active = active,
                           .hash_key = hash_key_});
}

absl::Status Core::LoadMeta() {
  const absl::StatusOr<std::optional<std::string>> stored = store_->Get(MetaKey());
  if (!stored.ok()) return stored.status();
  MetaRecord meta;
  if (stored->has_value()) {
    if (!Decode(**stored, meta)) return Damaged("its first record cannot be read");
    if (meta.version > kFormatVersion) {
      return absl::FailedPreconditionError(
          "frontier: the data have format " + std::to_string(meta.version) +
          ", this program knows format " + std::to_string(kFormatVersion) +
          "; use the program that wrote them, or a newer one");
    }
  } else {
    bool empty = true;
    const absl::Status scanned =
        store_->ScanFirst("", "", 1, [&](std::string_view, std::string_view) {
          empty = false;
          return false;
        });
    if (!scanned.ok()) return scanned;
    if (!empty) return Damaged("its first record is missing");
    meta.hash_key = RandomKey();
    remembered_all_ = true;
  }
  hash_key_ = meta.hash_key;
  // Leases carry the number of the opening, so that none of an earlier one comes again, whatever
  // was lost in between.
  openings_ = meta.openings + 1;
  constexpr int kLeaseBits = 40;
  next_lease_ = (openings_ << kLeaseBits) + 1;
  told_default_delay_ = meta.default_delay;
  active_ = meta.active;
  if (told_default_delay_ != kUnset) agenda_.SetDefaultDelay(told_default_delay_, 0);
  store::Batch batch;
  batch.Put(MetaKey(), MetaOf(told_default_delay_, active_));
  return store_->Write(batch, store::Reach::kDisk);
}

absl::Status Core::LoadCrawls() {
  return ForEach(*store_, Kind::kCrawl, [this](std::string_view key, std::string_view value) {
    uint32_t id = 0;
    std::string_view rest;
    CrawlRecord record;
    if (!DecodeCrawlKey(key, id, rest) || !rest.empty() || !Decode(value, record)) {
      return Damaged("a crawl record cannot be read");
    }
    if (FindCrawl(record.name) != nullptr) return Damaged("crawl " + record.name + " is twice");
    next_crawl_ = id;
    Crawl* const crawl = FindOrAddCrawl(record.name);
    crawl->stored = true;
    crawl->told_strategy = record.strategy;
    crawl->told_order = record.order;
    crawl->strategy = record.strategy.value_or(options_.strategy);
    crawl->order = record.order.value_or(options_.url_order);
    return absl::OkStatus();
  });
}

absl::Status Core::LoadQueues() {
  StoredJournal journal;
  if (absl::Status read = journal.Read(*store_); !read.ok()) return read;
  std::vector<Queue*> journaled;
  absl::flat_hash_map<uint32_t, Crawl*> by_id;
  for (const auto& [name, crawl] : crawls_) by_id.emplace(crawl->id, crawl);
  std::vector<Queue*> queues;
  uint64_t last_id = 0;
  uint64_t last_turn = 0;
  const absl::Status loaded =
      ForEach(*store_, Kind::kQueue, [&](std::string_view key, std::string_view value) {
        QueueId id;
        std::string_view rest;
        std::string_view name;
        std::string_view address;
        QueueRecord record;
        if (!DecodeQueueKey(key, id, rest) || !rest.empty() ||
            !Decode(value, record, name, address)) {
          return Damaged("a queue record cannot be read");
        }
        const auto crawl = by_id.find(id.crawl);
        if (crawl == by_id.end()) {
          return Damaged("the crawl of queue " + std::string(name) + " is missing");
        }
        const bool is_journaled = journal.Find(id, record);
        Queue* const queue = Queue::New(name);
        if (is_journaled) journaled.push_back(queue);
        queue->crawl = crawl->second;
        queues.push_back(queue);
        ++queue->crawl->objects;
        queue->id = id.queue;
        queue->record = record;
        if (!address.empty()) queue->address = std::make_unique<std::string>(address);
        queue->crawl->claimed += record.scheduled + record.completed;
        // Only what discovered URLs left in order of depth stands before the next date.
        if (record.arrivals == 0 && record.next_due != kNever) {
          std::string head;
          AppendPlace({UrlClass::kDate, static_cast<uint64_t>(record.next_due)}, head);
          queue->SetHead(head);
        }
        agenda_.Add(*queue);
        JoinGroup(*queue, 0);
        last_id = std::max(last_id, id.queue);
        last_turn = std::max(last_turn, record.turn);
        return absl::OkStatus();
      });
  next_queue_ = last_id + 1;
  next_turn_ = last_turn + 1;
  const absl::Status indexed = IndexQueues(queues);
  if (!loaded.ok()) return loaded;
  return indexed.ok() ? FoldLoaded(journaled, journal.end()) : indexed;
}

absl::Status Core::FoldLoaded(const std::vector<Queue*>& queues, uint64_t end) {
  next_change_ = end;
  constexpr size_t kAtOnce = size_t{4} << 20;  // bytes
  store::Batch batch;
  for (const Queue* queue : queues) {
    AppendQueue(*queue, queue->record, batch);
    if (batch.bytes() < kAtOnce) continue;
    if (absl::Status written = store_->Write(batch, store::Reach::kOs); !written.ok()) {
      return written;
    }
    batch.Clear();
  }
  if (end == 1) return absl::OkStatus();  // there was no journal
  batch.DeleteRange(JournalKey(0), JournalKey(end));
  return store_->Write(batch, store::Reach::kOs);
}

// Into sets that have room for all of them: growing would read every queue again.
absl::Status Core::IndexQueues(const std::vector<Queue*>& queues) {
  std::array<size_t, kStripes> sizes = {};
  for (const Queue* queue : queues) ++sizes[StripeOf(NameOf(queue))];
  for (size_t i = 0; i < kStripes; ++i) stripes_[i].queues.reserve(sizes[i]);
  absl::Status status;
  for (Queue* queue : queues) {
    if (stripes_[StripeOf(NameOf(queue))].queues.insert(queue).second) continue;
    status = Damaged("queue " + std::string(queue->key()) + " is twice");
    agenda_.Remove(*queue, 0);
    Agenda::FreeIfUnused(queue);
  }
  return status;
}

absl::Status Core::LoadTold() {
  absl::flat_hash_map<uint32_t, std::string_view> names;
  for (const auto& [name, crawl] : crawls_) names.emplace(crawl->id, crawl->name);
  return ForEach(*store_, Kind::kTold, [&](std::string_view key, std::string_view value) {
    uint32_t crawl = 0;
    std::string_view name;
    std::string_view no_name;
    std::string_view address;
    QueueRecord record;
    if (!DecodeCrawlKey(key, crawl, name) || !Decode(value, record, no_name, address) ||
        !names.contains(crawl)) {
      return Damaged("what was told about a queue cannot be read");
    }
    Queue* const queue = FindOrAdd({names[crawl], name});
    if (queue->known) return Damaged("queue " + std::string(name) + " is twice");
    queue->told = true;
    queue->record = record;
    if (!address.empty()) queue->address = std::make_unique<std::string>(address);
    return absl::OkStatus();
  });
}

absl::Status Core::LoadLeases() {
  absl::flat_hash_map<uint32_t, Crawl*> by_id;
  for (const auto& [name, crawl] : crawls_) by_id.emplace(crawl->id, crawl);
  return ForEach(*store_, Kind::kLease, [&](std::string_view key, std::string_view value) {
    QueueId id;
    std::string_view rest;
    LeaseRecord record;
    if (!DecodeQueueKey(key, id, rest) || rest.size() != Fingerprint::kBytes ||
        !Decode(value, record)) {
      return Damaged("a lease cannot be read");
    }
    const auto crawl = by_id.find(id.crawl);
    if (crawl == by_id.end()) return Damaged("the crawl of a lease is missing");
    const auto queue = crawl->second->queues.find(id.queue);
    if (queue == crawl->second->queues.end()) return Damaged("the queue of a lease is missing");
    agenda_.AddLease(**queue, Fingerprint::Of(rest),
                     {record.lease, record.deadline, record.url, true});
    return absl::OkStatus();
  });
}

}  // namespace escalona::frontier

namespace escalona {

absl::StatusOr<std::unique_ptr<Frontier>> Frontier::Open(const std::string& folder,
                                                         const FrontierOptions& options,
                                                         const Clock& clock) {
  store::RocksOptions rocks;
  rocks.cache_bytes = options.memory_bytes / 4;
  rocks.compress = true;
  rocks.go_on_after_full = true;  // memory changes when a write has succeeded
  rocks.warn = options.warn;
  absl::StatusOr<std::unique_ptr<store::Store>> store = store::OpenRocksStore(folder, rocks);
  if (!store.ok()) return store.status();
  return frontier::Core::Open(*std::move(store), options, clock);
}

std::unique_ptr<Frontier> Frontier::OpenInMemory(const FrontierOptions& options,
                                                 const Clock& clock) {
  return *frontier::Core::Open(store::NewMemoryStore(), options, clock);
}

}  // namespace escalona

// The frontier on a store.
#ifndef ESCALONA_FRONTIER_CORE_H_
#define ESCALONA_FRONTIER_CORE_H_

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/fair_mutex.h"
#include "escalona/frontier.h"
#include "frontier/agenda.h"
#include "frontier/known_urls.h"
#include "frontier/queue.h"
#include "frontier/queue_journal.h"
#include "frontier/stored.h"
#include "store/store.h"

namespace escalona::frontier {

// Order of locks: stripes by number, then the agenda. Everything stored about a queue is read and
// written with its stripe locked, so that what is in memory and in the store of one queue is the
// same whenever its stripe is free. The agenda's mutex is never held while the store works; what it
// guards is told in queue.h. A change is written first and made in memory when that succeeded.
class Core final : public Frontier {
 public:
  static absl::StatusOr<std::unique_ptr<Core>> Open(std::unique_ptr<store::Store> store,
                                                    const FrontierOptions& options,
                                                    const Clock& clock);
  ~Core() override;

  std::vector<PutStatus> Put(std::span<const FrontierPut> items, absl::Status* error) override;
  absl::StatusOr<uint64_t> Get(const GetRequest& request,
                               absl::FunctionRef<void(const LeasedUrl&)> visit) override;

  absl::Status SetActive(bool active) override;
  bool active() const override { return active_.load(); }
  absl::Status SetDefaultDelay(absl::Duration delay) override;
  absl::Status SetDelay(std::string_view crawl, std::string_view key,
                        absl::Duration delay) override;
  absl::Status BlockQueueUntil(std::string_view crawl, std::string_view key,
                               absl::Time until) override;
  absl::Status SetCrawlLimit(std::string_view crawl, std::string_view key, uint32_t limit) override;
  absl::Status SetStrategy(std::string_view crawl, Strategy strategy, UrlOrder order) override;
  absl::Status SetQueueAddress(std::string_view crawl, std::string_view key,
                               std::string_view ip) override;

  absl::StatusOr<uint64_t> DeleteQueue(std::string_view crawl, std::string_view key) override;
  absl::StatusOr<uint64_t> DeleteCrawl(std::string_view crawl) override;
  absl::StatusOr<uint64_t> Purge(std::string_view crawl, const std::optional<std::string>& key,
                                 absl::Time before) override;

  std::vector<std::string> ListCrawls() const override;
  std::vector<std::string> ListQueues(std::string_view crawl, bool inactive, uint64_t start,
                                      uint64_t limit, uint64_t* total) const override;
  FrontierStats Stats(const std::optional<std::string>& crawl,
                      const std::optional<std::string>& key) const override;
  absl::Status GetUrl(std::string_view crawl, std::string_view key, std::string_view url,
                      absl::FunctionRef<void(const KnownUrl&)> visit) const override;
  absl::Status ListUrls(const UrlFilter& filter,
                        absl::FunctionRef<bool(const KnownUrl&)> visit) const override;
  absl::StatusOr<Explanation> Explain(std::string_view crawl, std::string_view key,
                                      std::string_view url) const override;
  uint64_t StoreBytes() const override { return store_->Bytes(); }
  absl::Status Sync() override { return store_->Sync(); }

 private:
  friend class PutCall;
  friend class GetCall;

  // ThreadSanitizer can follow 64 locks of one thread, and some calls take all of these.
  static constexpr int kStripeBits = 5;
  static constexpr size_t kStripes = size_t{1} << kStripeBits;
  // How many URLs a Put takes into memory after a restart, until all are there.
  static constexpr uint64_t kRememberAlways = 64;
  static constexpr uint64_t kRememberPerItem = 4;

  // How a queue is found: the name of its crawl and its key.
  struct QueueName {
    std::string_view crawl;
    std::string_view key;

    friend bool operator==(const QueueName&, const QueueName&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const QueueName& name) {
      return H::combine(std::move(h), absl::string_view(name.crawl.data(), name.crawl.size()),
                        absl::string_view(name.key.data(), name.key.size()));
    }
  };
  static QueueName NameOf(const Queue* queue) { return {queue->crawl->name, queue->key()}; }
  static QueueName NameOf(const QueueName& name) { return name; }
  struct NameHash {
    using is_transparent = void;
    template <typename T>
    size_t operator()(const T& name) const {
      return absl::Hash<QueueName>()(NameOf(name));
    }
  };
  struct NameEqual {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return NameOf(a) == NameOf(b);
    }
  };
  struct Stripe {
    FairMutex mutex;
    absl::flat_hash_set<Queue*, NameHash, NameEqual> queues;
  };
  using StripeSet = std::bitset<kStripes>;
  class StripeLock;

  Core(std::unique_ptr<store::Store> store, const FrontierOptions& options, const Clock& clock);

  // core_open.cc
  absl::Status Load();
  absl::Status LoadMeta();
  absl::Status LoadCrawls();
  absl::Status LoadQueues();
  absl::Status IndexQueues(const std::vector<Queue*>& queues);
  absl::Status FoldLoaded(const std::vector<Queue*>& queues, uint64_t end);
  absl::Status LoadTold();
  absl::Status LoadLeases();

  int64_t NowMillis() const { return absl::ToUnixMillis(clock_.Now()); }
  static std::string_view CrawlName(std::string_view name);
  // By bits of the hash that the set in the stripe does not look at.
  static size_t StripeOf(size_t hash) { return hash >> (64 - kStripeBits); }
  static size_t StripeOf(const QueueName& name) { return StripeOf(NameHash()(name)); }
  absl::Status Write(const store::Batch& batch);
  // queue_journal.cc. The stripes of the queues are locked.
  absl::Status Write(store::Batch& batch, const QueueChanges& changes);
  // Brings changes from the journal into the records of their queues, some more with each call,
  // once there are many. No stripe is locked.
  void Fold();
  void BeginFold();
  void FoldSome();
  void EndFold();
  static void Unjournal(Queue* queue);  // the agenda is locked
  // The caller holds the stripe of the name, or a stripe of the crawl.
  Queue* Find(const QueueName& name) const;
  Crawl* FindCrawl(std::string_view name) const;
  Crawl* FindOrAddCrawl(std::string_view name);
  // Found, or made without an id; a queue that is neither known nor told in the end is dropped.
  Queue* FindOrAdd(const QueueName& name) { return FindOrAdd(name, NameHash()(name)); }
  Queue* FindOrAdd(const QueueName& name, size_t hash);
  void DropIfUnused(Queue* queue);
  uint64_t NewQueueId() { return next_queue_.fetch_add(1); }
  void JoinGroup(Queue& queue, int64_t now);  // the agenda is locked
  std::string GroupName(const Queue& queue) const;
  static void AppendCrawl(const Crawl& crawl, store::Batch& batch);
  static void AppendQueue(const Queue& queue, const QueueRecord& record, store::Batch& batch);
  std::string MetaOf(int64_t default_delay, bool active) const;
  // Changes what is told about a queue, known or not.
  absl::Status Tell(std::string_view crawl, std::string_view key, bool must_be_known,
                    absl::FunctionRef<void(QueueRecord&)> change,
                    std::optional<std::string_view> address = std::nullopt);
  absl::Status ChangeTold(std::string_view crawl, std::string_view key, bool must_be_known,
                          absl::FunctionRef<void(QueueRecord&)> change,
                          std::optional<std::string_view> address);
  // Of one queue, a part at a time; `done` tells whether there is more.
  absl::StatusOr<uint64_t> PurgeSome(const QueueName& name, int64_t before, std::string& from,
                                     bool& done);
  std::vector<std::string> KeysOf(std::string_view crawl) const;
  absl::Status ListQueue(const QueueName& name, const UrlFilter& filter,
                         absl::FunctionRef<bool(const KnownUrl&)> visit, bool& more) const;
  // After a restart: takes some more URLs from the store into memory, unless another call does.
  void Remember(uint64_t count);
  // Finds out when a queue has work again, after a URL was taken away that was not leased: the date
  // kept would be too early, and the queue be asked for nothing. Its stripe is locked.
  void FindNextDue(Queue& queue, int64_t now);
  // The date of the first of the class that is not leased, by place; kNever if there is none.
  absl::StatusOr<int64_t> FirstDate(const Queue& queue, UrlClass cls, std::string_view from) const;
  // Below the leases that ended by time; the agenda is locked.
  static void LowerHead(Queue& queue);
  // What is known of a URL of a known queue, whose stripe is locked.
  absl::StatusOr<std::optional<UrlRecord>> ReadUrl(const Queue& queue,
                                                   const Fingerprint& url) const;

  const std::unique_ptr<store::Store> store_;
  const FrontierOptions options_;
  const Clock& clock_;
  HashKey hash_key_ = {};
  uint64_t openings_ = 0;
  int64_t told_default_delay_ = kUnset;  // guarded by meta_mutex_
  std::mutex meta_mutex_;
  std::atomic<bool> active_ = true;
  std::atomic<uint64_t> next_queue_ = 1;
  std::atomic<uint64_t> next_lease_ = 1;
  std::atomic<uint64_t> next_turn_ = 1;
  // The memory of known URLs had all there are, and has unless it has forgotten some.
  std::atomic<bool> remembered_all_ = false;
  KnownUrls known_urls_;
  // A URL that is read from the store into that memory must not be purged in between.
  std::mutex remember_mutex_;
  std::string remembered_to_;  // guarded by remember_mutex_: the first record not yet read
  mutable std::array<Stripe, kStripes> stripes_;
  std::atomic<uint64_t> next_change_ = 1;  // number of a record of the journal
  std::atomic<uint64_t> journaled_ = 0;    // changes since the last fold began
  std::atomic<bool> is_folding_ = false;
  std::mutex fold_mutex_;
  std::vector<Queue*> folding_;  // guarded by fold_mutex_: journaled ones that this fold has left
  uint64_t fold_end_ = 0;        // guarded by fold_mutex_: it ends records below this number

  mutable std::mutex agenda_mutex_;
  mutable Agenda agenda_;
  std::vector<Queue*> unfolded_;                     // guarded by agenda_mutex_: the journaled ones
  absl::flat_hash_map<std::string, Crawl*> crawls_;  // guarded by agenda_mutex_
  uint32_t next_crawl_ = 1;                          // guarded by agenda_mutex_
};

// Stripes locked in their order; unlocked at the end.
class Core::StripeLock {
 public:
  StripeLock(const Core& core, const StripeSet& set) : core_(core), set_(set) {
    for (size_t i = 0; i < kStripes; ++i) {
      if (set_[i]) core_.stripes_[i].mutex.lock();
    }
  }
  StripeLock(const Core& core, const QueueName& name)
      : StripeLock(core, StripeSet().set(StripeOf(name))) {}
  StripeLock(const StripeLock&) = delete;
  StripeLock& operator=(const StripeLock&) = delete;
  ~StripeLock() { Unlock(); }

  void Unlock() {
    for (size_t i = 0; i < kStripes; ++i) {
      if (set_[i]) core_.stripes_[i].mutex.unlock();
    }
    set_.reset();
  }

 private:
  const Core& core_;
  StripeSet set_;
};

// Parts of an absl::Time that are kept; ends are cut.
int64_t MillisOf(absl::Time time);
int64_t MillisOf(absl::Duration duration);  // not less than 0
int64_t SecondsOf(absl::Time time);
// Whether a queue may have it: not empty and not too long.
bool IsQueueKey(std::string_view key);
// One spelling of an IP address; empty if it is none.
std::string NormalAddress(std::string_view text);
absl::Status Damaged(std::string_view what);

}  // namespace escalona::frontier

#endif  // ESCALONA_FRONTIER_CORE_H_

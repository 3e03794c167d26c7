// The counters of a server: one per namespace, with settings, quotas and usage figures.
#ifndef ESCALONA_ASSOC_NAMESPACES_H_
#define ESCALONA_ASSOC_NAMESPACES_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "assoc/durable.h"
#include "escalona/clock.h"
#include "store/store.h"

namespace escalona::assoc {

inline constexpr std::string_view kDefaultNamespace = "default";
inline constexpr size_t kMaxNamespaceBytes = 128;

struct NamespaceSettings {
  uint64_t k = 20;                 // entries of a list that are given when nobody says how many
  uint64_t max_pairs = 0;          // 0: no quota
  uint64_t writes_per_second = 0;  // 0: no quota
  absl::Duration half_life = absl::ZeroDuration();  // 0: counts do not fade
  uint64_t event_window = 100000;                   // ids that are remembered
  bool saturate_32bit = false;                      // chosen when the namespace is made
  bool intern_ids = false;                          // the same
  friend bool operator==(const NamespaceSettings&, const NamespaceSettings&) = default;
};

// The name, as in the API, of a setting that is out of its range, and what it must be; empty if
// none is.
std::pair<std::string_view, std::string_view> WrongSetting(const NamespaceSettings& settings);
// What a setting must be, by its name in the API.
std::string_view SettingRange(std::string_view name);

struct NamespaceUsage {
  AssociationTotals totals;
  uint64_t memory_bytes = 0;
  // Since the namespace was made; a crash may lose those of the last second.
  uint64_t writes = 0;   // associations counted
  uint64_t reads = 0;    // lists and pairs asked for
  uint64_t refused = 0;  // writes beyond a quota; a stream for which the rate was too high is one
};

// Thread-safe. Lives as long as somebody holds it, even when it has been dropped; Drop waits for
// that, so who waits for a client meanwhile holds it weakly.
class Namespace {
 public:
  Namespace() = default;
  Namespace(const Namespace&) = delete;
  Namespace& operator=(const Namespace&) = delete;
  ~Namespace();

  DurableAssociations& counter() { return *counter_; }
  NamespaceSettings settings() const;
  uint64_t k() const { return k_.load(std::memory_order_relaxed); }
  NamespaceUsage Usage() const;

  // Whether there is a quota of writes.
  bool limited() const { return limited_.load(std::memory_order_relaxed); }
  // Asks for `n` writes of this second's quota. A request may exceed it once, whatever its size;
  // the next ones then wait until the debt is paid. ResourceExhausted: `retry_after` says how long.
  absl::Status TakeWrites(uint64_t n, absl::Time now, absl::Duration& retry_after);
  // `n` more writes of a request that was allowed.
  void OweWrites(uint64_t n);

  void CountWrites(uint64_t n) { writes_.fetch_add(n, std::memory_order_relaxed); }
  void CountReads(uint64_t n) { reads_.fetch_add(n, std::memory_order_relaxed); }
  void CountRefused(uint64_t n) { refused_.fetch_add(n, std::memory_order_relaxed); }
  // Work that takes long looks at this and ends early.
  bool dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  friend class Namespaces;
  // Gets the counter when the last who held a dropped namespace has let go.
  struct Heir {
    std::unique_ptr<DurableAssociations> counter;
    absl::Notification has_it;
  };
  void Apply(const NamespaceSettings& settings);
  uint64_t AgeAt(absl::Time now) const;

  uint64_t id_ = 0;
  bool limit_rate_ = true;
  std::unique_ptr<DurableAssociations> counter_;
  Heir* heir_ = nullptr;  // set when it is dropped
  mutable std::mutex mutex_;
  NamespaceSettings settings_;  // guarded by mutex_, as are the next ones
  absl::Time age_since_;        // the age is base_age_ half-lives at this time
  uint64_t base_age_ = 0;
  double tokens_ = 0;
  absl::Time tokens_at_ = absl::InfinitePast();
  std::atomic<uint64_t> saved_usage_ = 0;
  std::atomic<uint64_t> k_ = 20;
  std::atomic<bool> limited_ = false;
  std::atomic<bool> dropped_ = false;
  std::atomic<uint64_t> writes_ = 0;
  std::atomic<uint64_t> reads_ = 0;
  std::atomic<uint64_t> refused_ = 0;
};

// In the store: "N" name -> settings and number; "U" number -> usage; "C" number -> the counter;
// "D" number: of one that was dropped, and of which something may be left.
//
// Starts no thread: the owner calls Sync each second (with durability interval) and Maintain now
// and then. Thread-safe. The store and the clock outlive it.
class Namespaces {
 public:
  struct Options {
    Durability durability = Durability::kInterval;
    size_t memory_bytes = std::numeric_limits<size_t>::max();  // for all of them together
    // A checkpoint is due when a restart would have to read this many changes.
    uint64_t checkpoint_changes = 4000000;
    // Whether writes_per_second limits anybody: it protects a server from its clients.
    bool limit_rate = true;
    uint64_t hash_seed = 0;
  };

  // Makes the default namespace if it is missing.
  static absl::StatusOr<std::unique_ptr<Namespaces>> Open(store::Store& store, const Clock& clock,
                                                          const Options& options);

  // Null if there is none of that name.
  std::shared_ptr<Namespace> Find(std::string_view name) const;
  const std::shared_ptr<Namespace>& Default() const { return default_; }  // always the same
  std::vector<std::string> Names() const;

  // Makes the namespace, or changes its settings; true if it was made. InvalidArgument: a name that
  // is empty, too long, or has other characters than letters, digits, '-', '_', '.'; a setting out
  // of range. FailedPrecondition: a setting that is chosen once. On failure nothing has changed.
  absl::StatusOr<bool> Put(std::string_view name, const NamespaceSettings& settings);
  // The same for some of the settings: `edit` gets those there are, or the usual ones. Nobody else
  // changes them meanwhile, so `edit` must not call Put, Update or Drop. What it says other than OK
  // is given back.
  absl::StatusOr<bool> Update(std::string_view name,
                              absl::FunctionRef<absl::Status(NamespaceSettings&)> edit);
  // With everything in it; waits for calls under way. NotFound; FailedPrecondition: the default
  // one. On failure nothing has changed.
  absl::Status Drop(std::string_view name);

  // If one namespace fails, these three go on with the others, and return the first error.

  // All writes that have returned are on disk when it returns OK.
  absl::Status Sync();
  // Half-lives, checkpoints that are due, the shares of memory, usage figures.
  absl::Status Maintain();
  // Makes the next start short.
  absl::Status Checkpoint();

 private:
  using Map = std::map<std::string, std::shared_ptr<Namespace>, std::less<>>;

  Namespaces(store::Store& store, const Clock& clock, const Options& options)
      : store_(store), clock_(clock), options_(options) {}
  absl::Status Load();
  absl::Status FinishDrops();
  absl::Status FinishDrop(uint64_t id);
  absl::StatusOr<std::shared_ptr<Namespace>> OpenNamespace(uint64_t id,
                                                           const NamespaceSettings& settings);
  absl::Status Save(std::string_view name, const Namespace& saved);
  absl::Status SaveUsage(Namespace& saved);
  absl::Status Change(std::string_view name, Namespace& changed, const NamespaceSettings& settings);
  void ShareMemory(const std::vector<std::shared_ptr<Namespace>>& all) const;
  std::vector<std::shared_ptr<Namespace>> All() const;

  store::Store& store_;
  const Clock& clock_;
  const Options options_;
  std::shared_ptr<Namespace> default_;
  std::mutex change_mutex_;  // one Put, Update or Drop at a time
  mutable std::shared_mutex mutex_;
  Map map_;  // guarded by mutex_
  uint64_t next_id_ = 1;
};

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_NAMESPACES_H_

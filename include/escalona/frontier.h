// The crawl frontier: crawls of queues of URLs, handed out politely, once, and again when due.
//
//   auto frontier = escalona::Frontier::Open("crawl-data", {}, clock);
//   (*frontier)->Put({{.url = "http://example.org/"}});
//   (*frontier)->Get({.max_queues = 10}, [](const escalona::LeasedUrl& leased) { ... });
//   (*frontier)->Put({{.url = "http://example.org/", .kind = PutKind::kCompleted}});
#ifndef ESCALONA_FRONTIER_H_
#define ESCALONA_FRONTIER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "escalona/clock.h"
#include "escalona/scheduler.h"

namespace escalona {

// The crawl meant by an empty or blank name.
inline constexpr std::string_view kDefaultCrawl = "DEFAULT";
// The longest key of a queue, in UTF-16 units.
inline constexpr size_t kMaxQueueKey = 255;
inline constexpr uint32_t kNoLimit = std::numeric_limits<uint32_t>::max();

enum class FrontierDurability : uint8_t {
  kSync,      // what returned is on disk
  kInterval,  // what returned survives the end of the process; a power failure loses what came
              // since the last Sync()
};

// Which queues share one slot: when one was served, the others of its group wait for the delay that
// one has; one Get serves at most one queue of a group. A group is remembered as long as it has a
// queue, and over a restart by the queue that was served: where that one is deleted, the wait may
// end early.
enum class PolitenessGroup : uint8_t {
  kQueue,   // each queue for itself
  kDomain,  // all queues whose key is a host of the same registrable domain, in all crawls
  kIp,      // all queues with the same IP address: the key if it is one, else the address told by
            // SetQueueAddress; a queue whose address is unknown is for itself
};

// The order of URLs that are due in a queue.
enum class UrlOrder : uint8_t {
  kDate,   // the oldest date first, then by the bytes of the URL
  kDepth,  // discovered URLs first, by depth, then as they arrived; then those with a date
};

struct FrontierOptions {
  FrontierDurability durability = FrontierDurability::kInterval;
  Strategy strategy = Strategy::kBreadthFirst;  // of crawls for which none was set
  UrlOrder url_order = UrlOrder::kDate;         // of crawls for which none was set
  PolitenessGroup group = PolitenessGroup::kQueue;
  absl::Duration default_delay = absl::Seconds(1);  // until SetDefaultDelay; not less than 0
  uint32_t max_in_process = kNoLimit;               // leases of one queue at a time
  uint64_t max_urls_per_queue = std::numeric_limits<uint64_t>::max();  // known ones; more: kSkipped
  uint64_t max_urls_per_crawl = std::numeric_limits<uint64_t>::max();
  // Of caches: blocks of the store and fingerprints of known URLs. Queues are kept beside it.
  size_t memory_bytes = size_t{1} << 30;
  // Changes of queues that are gathered before they are written to the records of the queues: each
  // record once for many changes. Opening after a crash has up to some more than these to read.
  uint64_t journal_changes = uint64_t{1} << 20;
  // Is told if the end of the store's log could not be read and was left out, if a queue cannot be
  // read and is put aside, and if there is room again after a full disk. Calls at the same time may
  // call it at the same time; it must not call the frontier.
  std::function<void(const std::string&)> warn = {};
};

enum class PutKind : uint8_t {
  kDiscovered,  // stored and due now, if unknown; else nothing changes and it is kSkipped
  kScheduled,   // known or not: replaces metadata, ends the lease, due at `date`
  kCompleted,   // known or not: never served again, its metadata is dropped
};

struct FrontierPut {
  std::string_view url = {};
  std::string_view key = {};       // of the queue; empty: derived from the URL (DeriveQueueKey)
  std::string_view crawl = {};     // empty or blank: kDefaultCrawl
  std::string_view metadata = {};  // any bytes; handed back with the URL
  PutKind kind = PutKind::kDiscovered;
  absl::Time date = absl::UnixEpoch();  // of kScheduled; a date in the past is a higher priority
  // The lease under which the URL was fetched, if the caller wants to be fenced: an update is
  // kStale, and changes nothing, unless this is the URL's lease and it has not ended. 0: none.
  uint64_t lease = 0;
};

enum class PutStatus : uint8_t {
  kOk,
  kSkipped,  // known already, no key, key too long, over a budget: sending it again does not help
  kStale,    // its lease has ended or is not this one
  kFailed,   // the store failed or the frontier is closing: it may be sent again
};

struct LeasedUrl {  // the views are valid while the visitor runs
  std::string_view url;
  std::string_view key;
  std::string_view crawl;
  std::string_view metadata;
  uint64_t lease;       // not 0; no two leases of a frontier have the same
  absl::Time deadline;  // of the lease
};

struct GetRequest {
  uint32_t max_urls_per_queue = 1;           // 0: no limit
  uint32_t max_urls_at_once = 0;             // lease no more of a queue; 0: max_urls_per_queue
  uint32_t max_queues = 0;                   // 0: no limit
  std::optional<std::string> key = {};       // only this queue (of `crawl`, which then is needed)
  std::optional<std::string> crawl = {};     // only this crawl; without: all crawls in turn
  absl::Duration lease = absl::Seconds(30);  // zero or less: 30 s
};

enum class UrlState : uint8_t { kScheduled, kLeased, kCompleted };

struct KnownUrl {  // the views are valid while the visitor runs
  std::string_view url;
  std::string_view key;
  std::string_view crawl;
  std::string_view metadata;
  UrlState state;
  absl::Time date;  // when it is due; of kCompleted: the epoch
  absl::Time created;
  absl::Time deadline;  // of kLeased
};

struct FrontierStats {
  uint64_t scheduled = 0;  // leased ones too
  uint64_t leased = 0;
  uint64_t completed = 0;
  uint64_t queues = 0;
  uint64_t active_queues = 0;  // with a scheduled URL
  uint64_t damaged_queues = 0;
};

struct UrlFilter {
  std::optional<std::string> key = {};  // of one queue only
  std::string crawl = {};               // empty or blank: kDefaultCrawl
  std::string text = {};                // a part of the URL; empty: every URL
  bool ignore_case = false;             // of ASCII letters
  // Asked at every queue and every URL that does not match: true ends the walk.
  std::function<bool()> stop = {};
};

// Why a URL is not served now, and when it could be at the earliest, if nothing is put meanwhile.
struct Explanation {
  enum class Reason : uint8_t {
    kServable,  // now
    kUnknownUrl,
    kCompleted,
    kInactive,      // the frontier is told not to serve
    kBlocked,       // until `when`
    kLimitReached,  // of completed URLs of its queue
    kNotDue,
    kLeased,
    kDelay,      // its queue, or its group, was served lately
    kInProcess,  // the queue has as many leases as it may
    kDamaged,    // the queue could not be read, and is put aside
  };
  std::vector<Reason> reasons;  // all that hold; kServable stands alone
  absl::Time when;              // InfiniteFuture: not without a change
  uint64_t before = 0;          // URLs of its queue that stand before it, counted up to 1000
};

// Identity: (crawl, queue key, URL), bytes as they are; nothing is parsed or normalised but by
// DeriveQueueKey. Time: dates are kept in whole seconds (discovered URLs are due from the second
// they came in), leases, delays and slots in milliseconds.
//
// A queue is served when the frontier is active and none of these holds: it is blocked (until t:
// also at t); its completed URLs have reached its limit; it, or its group, was served less than its
// delay ago; it has `max_urls_per_queue` or more live leases, or `max_in_process`. Then its
// first due and unleased URLs are leased in the order of UrlOrder, at most `max_urls_per_queue`
// and `max_urls_at_once`.
// Strategies order the queues that can be served: breadth-first by the moment they were last
// served or, before that, became known, so that a new queue goes behind the others and none has to
// wait for ever; depth-first by the order they became known; best-first by the number of scheduled
// URLs, then as depth-first. A group stands where its first queue stands. Without a crawl in the
// request, crawls that have such queues are asked in turn. A Get serves a queue once.
//
// A queue that cannot be read, because the store is damaged, is put aside when a Get finds that
// out: it is not served until it is deleted, or the frontier is opened again and reads it.
//
// Cost: put and get are O(log queues) plus the store's; a get looks at no queue that cannot be
// served. Memory: per queue about 200 bytes, per lease about 100, per known URL nothing
// beside options.memory_bytes. Opening reads the queues and the leases, not the URLs.
//
// Durable: when a call returns, what it changed is as safe as options.durability says; leases and
// slots are written before URLs are handed out, so a crash neither leases twice nor breaks a delay.
// If the store fails, the call reports it and has changed nothing.
//
// Thread-safe. Starts no thread of its own except the store's. A visitor must not call the
// frontier that calls it.
class Frontier {
 public:
  // Opens the folder, or makes it. FailedPrecondition: it is open elsewhere, or of a newer format;
  // DataLoss: it is damaged. The clock outlives the frontier.
  static absl::StatusOr<std::unique_ptr<Frontier>> Open(const std::string& folder,
                                                        const FrontierOptions& options,
                                                        const Clock& clock);
  // Keeps everything in memory.
  static std::unique_ptr<Frontier> OpenInMemory(const FrontierOptions& options, const Clock& clock);

  Frontier() = default;
  Frontier(const Frontier&) = delete;
  Frontier& operator=(const Frontier&) = delete;
  virtual ~Frontier() = default;

  // Puts the items in order, one status each. One call is one write: many items cost much less than
  // many calls. Of equal discovered items the first is kOk, the others kSkipped. kFailed comes for
  // all items of a call or for none; `error`, if given, gets the reason.
  virtual std::vector<PutStatus> Put(std::span<const FrontierPut> items,
                                     absl::Status* error = nullptr) = 0;

  // Leases URLs and calls `visit` with each, queue after queue. Nothing for a queue that cannot be
  // served, an unknown queue or crawl, a key without a crawl. Returns how many there were. After an
  // error, URLs that were visited are leased, others are not.
  virtual absl::StatusOr<uint64_t> Get(const GetRequest& request,
                                       absl::FunctionRef<void(const LeasedUrl&)> visit) = 0;

  // Control. All of it is durable, and remembered for queues and crawls not yet known.
  virtual absl::Status SetActive(bool active) = 0;
  virtual bool active() const = 0;
  virtual absl::Status SetDefaultDelay(absl::Duration delay) = 0;
  virtual absl::Status SetDelay(std::string_view crawl, std::string_view key,
                                absl::Duration delay) = 0;
  // The epoch unblocks.
  virtual absl::Status BlockQueueUntil(std::string_view crawl, std::string_view key,
                                       absl::Time until) = 0;
  // 0 removes it. NotFound for an unknown queue.
  virtual absl::Status SetCrawlLimit(std::string_view crawl, std::string_view key,
                                     uint32_t limit) = 0;
  // The strategy holds at once, the order for URLs put from then on.
  virtual absl::Status SetStrategy(std::string_view crawl, Strategy strategy, UrlOrder order) = 0;
  // For PolitenessGroup::kIp. An empty one is none; InvalidArgument if it is no IP address.
  virtual absl::Status SetQueueAddress(std::string_view crawl, std::string_view key,
                                       std::string_view ip) = 0;

  // Removal, with everything told about the queue or crawl; how many URLs there were.
  virtual absl::StatusOr<uint64_t> DeleteQueue(std::string_view crawl, std::string_view key) = 0;
  virtual absl::StatusOr<uint64_t> DeleteCrawl(std::string_view crawl) = 0;
  // URLs created before `before`, of one queue or all of the crawl; the queues stay. A part at a
  // time: after an error some are gone.
  virtual absl::StatusOr<uint64_t> Purge(std::string_view crawl,
                                         const std::optional<std::string>& key,
                                         absl::Time before) = 0;

  // Inspection. Crawls that have a queue, in order of their names.
  virtual std::vector<std::string> ListCrawls() const = 0;
  // Queues in the order they became known: those after the first `start`, at most `limit`; `total`,
  // if given, gets the number there is. Without `inactive`: not the blocked ones and those without
  // a scheduled URL.
  virtual std::vector<std::string> ListQueues(std::string_view crawl, bool inactive, uint64_t start,
                                              uint64_t limit, uint64_t* total) const = 0;
  // Of a queue, a crawl, or all crawls; zeros for unknown ones. O(1) but for active_queues and
  // leases that ended by time, which cost O(log) each, once.
  virtual FrontierStats Stats(const std::optional<std::string>& crawl,
                              const std::optional<std::string>& key) const = 0;
  // NotFound: unknown; InvalidArgument: no key was given and none can be derived.
  virtual absl::Status GetUrl(std::string_view crawl, std::string_view key, std::string_view url,
                              absl::FunctionRef<void(const KnownUrl&)> visit) const = 0;
  // In the order of queues as they became known, and a fixed one within a queue, as of one moment
  // per queue; until `visit` returns false or the filter says stop.
  virtual absl::Status ListUrls(const UrlFilter& filter,
                                absl::FunctionRef<bool(const KnownUrl&)> visit) const = 0;
  // InvalidArgument as of GetUrl(); a URL that is not known has that as its reason.
  virtual absl::StatusOr<Explanation> Explain(std::string_view crawl, std::string_view key,
                                              std::string_view url) const = 0;
  // Bytes on disk, about; 0 in memory.
  virtual uint64_t StoreBytes() const = 0;

  // Everything returned so far is on disk.
  virtual absl::Status Sync() = 0;
};

// The key of the queue of a URL, as every server of the URLFrontier API derives it: what stands
// after "://" up to the first of ':', '/', '?', '&'. Empty if there is none. A view into `url`.
std::string_view DeriveQueueKey(std::string_view url);

}  // namespace escalona

#endif  // ESCALONA_FRONTIER_H_

// Which page of a server is visited next, and when: the page-selection policies.
//
// An allocation (allocation.h) says how often each page is to be visited; a policy turns that into
// a sequence of requests. One object serves one server. It has no clock: every call that depends on
// time is told the time. A server asks NextTime(), waits, and calls Take():
//
//   auto policy = MakeRevisitPolicy(PolicyKind::kHybrid, {.politeness = 30, .seed = 1});
//   policy->Add(7, {.frequency = 0.01, .change_rate = 0.02}, now);
//   ...
//   if (now >= policy->NextTime()) Fetch(*policy->Take(now));
//
// Many servers are kept in a ServerHeap by their NextTime().
#ifndef ESCALONA_REVISIT_POLICY_H_
#define ESCALONA_REVISIT_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "escalona/policy_freshness.h"

namespace escalona::revisit {

// A page of one server: a small number chosen by the caller. Memory grows with the greatest one in
// use, so number pages densely and use numbers again.
using PageId = uint32_t;

// The time of the last visit of a page that was never visited.
inline constexpr double kNever = -std::numeric_limits<double>::infinity();

// What a policy knows of a page. All three are finite and >= 0.
struct RevisitPage {
  double frequency = 0;    // f: planned visits per unit of time. 0: never due
  double change_rate = 0;  // L; only HYBRID looks at it, and only for pages never visited
  double weight = 1;       // w; likewise
};

enum class PolicyKind : uint8_t {
  kRandom,         // each slot draws a page with probability f/f_s (alias method)
  kMerge,          // each slot takes the least key of a heap, whose key then grows by 1/f
  kBucketedMerge,  // MERGE with frequencies rounded to ratios of e^0.1: O(1) whatever the size
  kDelayed,        // each page at its own evenly spaced times, later where politeness demands it
  kHybrid,         // page-timed, relative lateness where saturated, pages never visited first
};
// "random", "merge", "bucketed", "delayed", "hybrid".
[[nodiscard]] std::string_view PolicyName(PolicyKind kind) noexcept;
[[nodiscard]] std::optional<PolicyKind> PolicyFromName(std::string_view name) noexcept;

struct PolicyOptions {
  double politeness = 0;  // P: least time between two requests, finite and >= 0
  uint64_t seed = 0;      // of random phases and draws; servers should have different ones
};

// Chooses the requests to one server.
//
// Invariants: two successful Take() lie at least `politeness` apart, computed in doubles as
// `now - previous >= politeness`, whatever the caller does between. A page with f > 0 that stays is
// taken again and again: none starves. Time never runs backwards: a `now` before an earlier one is
// taken for that earlier one.
//
// A caller that comes late loses slots rather than catching up in a burst; DELAYED alone, which
// holds on to its ideal times, catches up as fast as politeness allows.
// Not thread-safe: one object, one thread at a time. Calls that fail change nothing.
class RevisitPolicy {
 public:
  virtual ~RevisitPolicy() = default;
  RevisitPolicy(const RevisitPolicy&) = delete;
  RevisitPolicy& operator=(const RevisitPolicy&) = delete;

  // Adds page `id`, last visited at `last_visit` (<= now, or kNever). Without a last visit its
  // phase is drawn at random (HYBRID: it joins the pages never visited). Fails with AlreadyExists,
  // or InvalidArgument for a number that is NaN, infinite or negative, or a last visit after now.
  absl::Status Add(PageId id, const RevisitPage& page, double now, double last_visit = kNever);

  // Replaces what is known of page `id`, such as its frequency after a re-plan. Its pending time t
  // becomes now + (t - now) f_old/f_new. Fails with NotFound or InvalidArgument.
  absl::Status Update(PageId id, const RevisitPage& page, double now);

  // Forgets page `id`. Fails with NotFound.
  absl::Status Remove(PageId id, double now);

  // Changes P; the next request already keeps the new one. InvalidArgument unless finite and >= 0.
  absl::Status SetPoliteness(double politeness);

  // When the server is to be asked next; infinity when no page has f > 0. Changes by Take, Add,
  // Update, Remove and SetPoliteness only, never by the passage of time. O(1).
  [[nodiscard]] double NextTime() const noexcept { return due_ > earliest_ ? due_ : earliest_; }

  // The page to visit now, which counts as requested at `now`. nullopt, and nothing changed, when
  // now < NextTime(). Cost: RANDOM, bucketed MERGE and HYBRID O(1) amortised, MERGE and DELAYED
  // O(log pages).
  std::optional<PageId> Take(double now);

  [[nodiscard]] bool Contains(PageId id) const noexcept {
    return id < pages_.size() && pages_[id].present;
  }
  [[nodiscard]] size_t size() const noexcept { return size_; }              // pages
  [[nodiscard]] double total_frequency() const noexcept { return total_; }  // f_s
  [[nodiscard]] double politeness() const noexcept { return politeness_; }

 protected:
  struct KnownPage {
    double frequency = 0;
    double change_rate = 0;
    double weight = 0;
    bool present = false;
  };

  explicit RevisitPolicy(const PolicyOptions& options);

  // The hooks of a policy. When they run, `pages_`, `size_` and `total_` already hold the new
  // state; `old_total` and `old` are what stood there before.
  virtual void OnAdd(PageId id, double now, double last_visit, double old_total) = 0;
  virtual void OnUpdate(PageId id, const KnownPage& old, double now, double old_total) = 0;
  virtual void OnRemove(PageId id, const KnownPage& old, double now, double old_total) = 0;
  // When a page is due, politeness left aside; infinity: never.
  [[nodiscard]] virtual double Due() const = 0;
  // The choice at `now` >= Due(); `total_` > 0.
  virtual PageId Choose(double now) = 0;
  // politeness() changed; `now` is the latest time known.
  virtual void OnPoliteness(double /*now*/) {}

  std::vector<KnownPage> pages_;

 private:
  double Advance(double now);  // the greatest time seen so far
  void RefreshTotal(double change);

  size_t size_ = 0;
  double total_ = 0;
  double peak_total_ = 0;  // the greatest total_ since it was last added up anew
  size_t changes_ = 0;     // since then
  double politeness_;
  double last_request_ = kNever;
  double earliest_ = kNever;  // least t with t - last_request_ >= politeness_
  double due_ = std::numeric_limits<double>::infinity();  // what Due() said after the last change
  double clock_ = kNever;
};

// Never null. Invalid options (a politeness that is NaN, infinite or negative) are taken for 0;
// SetPoliteness reports them.
[[nodiscard]] std::unique_ptr<RevisitPolicy> MakeRevisitPolicy(PolicyKind kind,
                                                               const PolicyOptions& options = {});

// Servers by the time at which each is to be asked next: an indexed heap. A server is a small
// number chosen by the caller. Not thread-safe. Set and Remove O(log servers), Earliest O(1).
class ServerHeap {
 public:
  using ServerId = uint32_t;

  ServerHeap();
  ~ServerHeap();
  ServerHeap(ServerHeap&&) noexcept;
  ServerHeap& operator=(ServerHeap&&) noexcept;

  // Adds the server, or moves it to another time. A time of infinity or NaN removes it.
  void Set(ServerId server, double time);
  void Remove(ServerId server);
  [[nodiscard]] size_t size() const noexcept;
  // The server with the least time, the lesser number first among equals; nullopt when empty.
  [[nodiscard]] std::optional<std::pair<ServerId, double>> Earliest() const noexcept;

 private:
  struct Heap;
  std::unique_ptr<Heap> heap_;
};

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_POLICY_H_

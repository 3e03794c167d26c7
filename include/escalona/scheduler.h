// The URL scheduler: queues per host, three strategies.
//
//   escalona::Scheduler scheduler(escalona::Strategy::kBreadthFirst);
//   CHECK_OK(scheduler.Add("http://www.globo.com/videos/").status());
//   scheduler.Take(10, [](const escalona::ScheduledUrl& url) { Fetch(url.ToString()); });
#ifndef ESCALONA_SCHEDULER_H_
#define ESCALONA_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace escalona {

// The order among hosts. Within a host, URLs of smaller depth come first; of equal depth, the one
// that arrived first.
enum class Strategy {
  kDepthFirst,    // all URLs of the first known host that has any, then the next host's
  kBreadthFirst,  // one URL of each host in turn, in the order the hosts became known
  kBestFirst,     // one URL at a time from the host that has the most; ties: the host known first
};

// A URL in the scheduler. The views are valid only while the visitor that got it runs.
struct ScheduledUrl {
  std::string_view host;  // lower case, without a leading "www."; a port belongs to it
  std::string_view path;  // path and query

  void AppendTo(std::string& text) const { text.append("http://").append(host).append(path); }
  std::string ToString() const {
    std::string text;
    AppendTo(text);
    return text;
  }
};

// What became of a URL that was added.
enum class Added {
  kAccepted,   // new: it stands in its host's queue
  kKnown,      // it already stands there; nothing changed
  kDiscarded,  // the rules refuse it (not http, no host, a picture or document); nothing changed
};

// Keeps URLs in one queue per host and hands them out in the order of a strategy. A host is known
// from its first accepted URL on, and stays known when its queue runs empty. A URL that stands in
// a queue is not added again; once handed out or dropped it may come back, as new. What is a URL,
// and which two are the same, is told in docs/scheduler.md: scheme and "www." are not kept, letters
// of the host are lowered, the fragment and slashes at the end are cut.
//
// Cost, per URL: adding is O(length) amortised, handing out O(1) amortised (best-first O(log16
// hosts)), whatever the number of hosts, URLs and depths; about 30 bytes of memory beside the path.
// Holds at most 32 GiB of URLs (URLs longer than 32 KiB not counted) and 2^32 - 2 hosts.
//
// Not thread safe: calls on one scheduler must not overlap. Different schedulers share nothing. A
// scheduler of more than 64 MB has a thread of its own, which prepares memory and ends with it.
// A visitor must not call the scheduler that calls it.
class Scheduler {
 public:
  using UrlVisitor = absl::FunctionRef<void(const ScheduledUrl&)>;
  using HostVisitor = absl::FunctionRef<void(std::string_view host)>;

  static constexpr uint64_t kMaxBytes = uint64_t{32} << 30;

  // `max_bytes` limits the memory of the queues (at most kMaxBytes; counted in steps of 2 MiB).
  explicit Scheduler(Strategy strategy, uint64_t max_bytes = kMaxBytes);
  // What was moved from may only be assigned to or destroyed.
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;
  ~Scheduler();

  // Whether the scheduler keeps the text of a URL itself, or trusts the caller to keep it where it
  // is, unchanged, until the URL was handed out or dropped: 16 bytes then stand for a long path.
  enum class Texts { kCopied, kStay };

  // Adds one URL. ResourceExhausted when the scheduler is full; nothing is changed then.
  [[nodiscard]] absl::StatusOr<Added> Add(std::string_view url);

  // Adds URLs in order: the same as one Add() each, several times as fast. Returns how many were
  // accepted. ResourceExhausted when the scheduler is full: those before stay, the rest is not
  // added.
  [[nodiscard]] absl::StatusOr<size_t> AddAll(std::span<const std::string_view> urls,
                                              Texts texts = Texts::kCopied);

  // Hands out at most `limit` URLs in the strategy's order: calls `visit` with each and removes it.
  // Returns how many there were.
  uint64_t Take(uint64_t limit, UrlVisitor visit);

  // Hands out at most `limit` URLs of one host. Neither depends on the strategy nor moves the place
  // of breadth-first. A host is compared as it is, in lower case; an unknown one has no URLs.
  uint64_t TakeFromHost(std::string_view host, uint64_t limit, UrlVisitor visit);

  // Visits the URLs of one host in order and removes nothing. Returns how many there are.
  uint64_t VisitHost(std::string_view host, UrlVisitor visit) const;

  // Visits all known hosts in the order they became known.
  void VisitHosts(HostVisitor visit) const;

  // Removes the URLs of one host; it stays known, in its place. Returns how many there were.
  uint64_t DropHost(std::string_view host);

  // Removes everything, hosts too, and gives the memory back.
  void DropAll();

  // URLs in all queues; known hosts.
  uint64_t size() const;
  uint64_t host_count() const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace escalona

#endif  // ESCALONA_SCHEDULER_H_

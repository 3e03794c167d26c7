// The scheduler puts the parts of this room together: a queue per host, an index of the URLs that
// stand in them, an index of the hosts, and the ranking the strategies choose by.
#include "escalona/scheduler.h"

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "frontier/chunk_pool.h"
#include "frontier/fingerprint_index.h"
#include "frontier/host.h"
#include "frontier/host_ranking.h"
#include "url/command_url.h"

namespace escalona {
namespace {

// URLs that are worked on together, so that the memory each needs is fetched while the others are
// looked at.
constexpr size_t kBatch = 32;

uint32_t Fingerprint(std::string_view host) {
  return static_cast<uint32_t>(absl::HashOf(absl::string_view(host.data(), host.size())) >> 32);
}

uint32_t Fingerprint(uint32_t host, std::string_view path) {
  return static_cast<uint32_t>(absl::HashOf(host, absl::string_view(path.data(), path.size())) >>
                               32);
}

absl::Status Full() {
  return absl::ResourceExhaustedError(
      "the scheduler is full: its queues have reached the limit of bytes or hosts; hand out or "
      "drop URLs before more are added");
}

}  // namespace

class Scheduler::Core {
 public:
  Core(Strategy strategy, uint64_t max_bytes)
      : strategy_(strategy), pool_(supply_, max_bytes), hosts_(supply_) {}
  ~Core() { DropAll(); }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  absl::StatusOr<Added> Add(std::string_view url);
  absl::StatusOr<size_t> AddAll(std::span<const std::string_view> urls, Texts texts);
  uint64_t Take(uint64_t limit, UrlVisitor visit);
  uint64_t TakeFromHost(std::string_view host, uint64_t limit, UrlVisitor visit);
  uint64_t VisitHost(std::string_view host, UrlVisitor visit) const;
  void VisitHosts(HostVisitor visit) const;
  uint64_t DropHost(std::string_view host);
  void DropAll();
  uint64_t size() const { return url_count_; }
  uint64_t host_count() const { return hosts_.size(); }

 private:
  static constexpr uint32_t kNoHost = HostRanking::kNoHost;

  // A URL on its way into its queue.
  struct Arrival {
    CommandUrl url;
    std::string scratch;  // holds the host when it had to be lowered
    uint32_t host_fingerprint;
    uint32_t url_fingerprint;
    uint32_t host;
  };

  uint32_t FindHost(uint32_t fingerprint, std::string_view name) const;
  uint32_t FindHost(std::string_view name) const;
  uint32_t FindOrAddHost(const Arrival& arrival);
  bool IsKnown(const Arrival& arrival) const;
  absl::StatusOr<Added> Enqueue(const Arrival& arrival, Texts texts);
  void FindHosts(std::span<Arrival> arrivals);
  void ForgetHostsWithoutUrls(size_t first);
  absl::StatusOr<size_t> AddBatch(std::span<const std::string_view> urls, Texts texts,
                                  Added* outcome);

  uint64_t TakeDepthFirst(uint64_t limit, UrlVisitor visit);
  uint64_t TakeBreadthFirst(uint64_t limit, UrlVisitor visit);
  uint64_t TakeBestFirst(uint64_t limit, UrlVisitor visit);
  uint64_t TakeFrom(uint32_t host, uint64_t limit, UrlVisitor visit);
  uint32_t TakeOneOfEach(uint32_t from, uint32_t count, uint64_t limit, UrlVisitor visit);
  void Forget(uint32_t host, ChunkPool::Reference reference);
  void ForgetNow();

  const Strategy strategy_;
  BlockSupply supply_;
  ChunkPool pool_;
  HostTable hosts_;                     // in the order they became known
  std::deque<std::string> long_names_;  // of hosts that cannot hold them
  FingerprintIndex host_index_;         // reference: number of the host + 1
  FingerprintIndex url_index_;  // reference: the URL's record; exactly the URLs in the queues
  HostRanking ranking_;         // the number of URLs in each queue
  uint64_t url_count_ = 0;      // and in all of them
  uint32_t first_place_ = 0;    // depth-first: no host before it has URLs
  uint32_t ring_place_ = 0;     // breadth-first: the host behind the one served last
  bool draining_ = false;       // everything is being handed out: url_index_ goes as a whole
  std::array<Arrival, kBatch> arrivals_ = {};
  std::array<std::pair<uint32_t, ChunkPool::Reference>, 16> forgotten_ = {};
  size_t forgotten_count_ = 0;  // 0 between calls
};

// ---- adding

uint32_t Scheduler::Core::FindHost(uint32_t fingerprint, std::string_view name) const {
  const FingerprintIndex::Reference found = host_index_.Find(
      fingerprint, [&](FingerprintIndex::Reference i) { return hosts_[i - 1].name() == name; });
  return found == FingerprintIndex::kNone ? kNoHost : found - 1;
}

uint32_t Scheduler::Core::FindHost(std::string_view name) const {
  std::string lower;
  AppendLowerCase(name, lower);
  return FindHost(Fingerprint(lower), lower);
}

uint32_t Scheduler::Core::FindOrAddHost(const Arrival& arrival) {
  if (const uint32_t host = FindHost(arrival.host_fingerprint, arrival.url.host); host != kNoHost) {
    return host;
  }
  if (hosts_.size() == kNoHost - 1) return kNoHost;
  const auto host = static_cast<uint32_t>(hosts_.size());
  if (arrival.url.host.size() <= Host::kMaxInline) {
    hosts_.Append(arrival.url.host);
  } else {
    hosts_.Append(long_names_.emplace_back(arrival.url.host));
  }
  host_index_.Insert(arrival.host_fingerprint, host + 1);
  ranking_.Append();
  return host;
}

bool Scheduler::Core::IsKnown(const Arrival& arrival) const {
  return url_index_.Find(arrival.url_fingerprint, [&](ChunkPool::Reference reference) {
    const Record& record = Record::At(pool_, reference);
    return record.owner == arrival.host && record.text() == arrival.url.path;
  }) != FingerprintIndex::kNone;
}

absl::StatusOr<Added> Scheduler::Core::Enqueue(const Arrival& arrival, Texts texts) {
  if (arrival.host == kNoHost) return Full();
  if (IsKnown(arrival)) return Added::kKnown;
  const ChunkPool::Reference reference = hosts_[arrival.host].queue.Append(
      pool_, arrival.host, arrival.url.depth, arrival.url.path, texts == Texts::kStay);
  if (reference == ChunkPool::kNone) return Full();
  url_index_.Insert(arrival.url_fingerprint, reference);
  ranking_.Increment(arrival.host);
  first_place_ = std::min(first_place_, arrival.host);
  ++url_count_;
  return Added::kAccepted;
}

// Finds the hosts of a batch, or makes them known, and asks for the memory Enqueue() will touch.
// Each loop uses what the one before has asked for.
void Scheduler::Core::FindHosts(std::span<Arrival> arrivals) {
  for (Arrival& arrival : arrivals) {
    arrival.host_fingerprint = Fingerprint(arrival.url.host);
    host_index_.Prefetch(arrival.host_fingerprint);
  }
  for (Arrival& arrival : arrivals) {
    const auto likely = host_index_.Find(arrival.host_fingerprint, [](auto) { return true; });
    arrival.host = likely == FingerprintIndex::kNone ? kNoHost : likely - 1;
    if (arrival.host != kNoHost) __builtin_prefetch(&hosts_[arrival.host]);
  }
  for (const Arrival& arrival : arrivals) {
    if (arrival.host == kNoHost) continue;
    hosts_[arrival.host].queue.PrefetchDepths(pool_);
    ranking_.Prefetch(arrival.host);
  }
  for (Arrival& arrival : arrivals) {
    arrival.host = FindOrAddHost(arrival);
    if (arrival.host == kNoHost) continue;
    arrival.url_fingerprint = Fingerprint(arrival.host, arrival.url.path);
    url_index_.Prefetch(arrival.url_fingerprint);
    hosts_[arrival.host].queue.PrefetchDepth(pool_, arrival.url.depth);
  }
  for (const Arrival& arrival : arrivals) {
    if (arrival.host == kNoHost) continue;
    hosts_[arrival.host].queue.PrefetchTail(pool_, arrival.url.depth);
    const auto likely = url_index_.Find(arrival.url_fingerprint, [](auto) { return true; });
    if (likely != FingerprintIndex::kNone) pool_.Prefetch(likely);
  }
}

// A host is known from its first accepted URL on: takes back those that got none.
void Scheduler::Core::ForgetHostsWithoutUrls(size_t first) {
  while (hosts_.size() > first && hosts_.back().queue.empty()) {
    host_index_.Erase(Fingerprint(hosts_.back().name()), static_cast<uint32_t>(hosts_.size()));
    if (hosts_.back().name_size > Host::kMaxInline) long_names_.pop_back();
    hosts_.RemoveLast();
    ranking_.RemoveLast();
  }
}

absl::StatusOr<size_t> Scheduler::Core::AddBatch(std::span<const std::string_view> urls,
                                                 Texts texts, Added* outcome) {
  size_t count = 0;
  for (std::string_view url : urls) {
    Arrival& arrival = arrivals_[count];
    if (ParseCommandUrl(url, arrival.scratch, arrival.url)) ++count;
  }
  const std::span<Arrival> arrivals(arrivals_.data(), count);
  const size_t known_hosts = hosts_.size();
  FindHosts(arrivals);
  size_t accepted = 0;
  for (const Arrival& arrival : arrivals) {
    const absl::StatusOr<Added> added = Enqueue(arrival, texts);
    if (!added.ok()) {
      ForgetHostsWithoutUrls(known_hosts);
      return added.status();
    }
    *outcome = *added;
    accepted += *added == Added::kAccepted;
  }
  return accepted;
}

absl::StatusOr<Added> Scheduler::Core::Add(std::string_view url) {
  Added outcome = Added::kDiscarded;
  const absl::StatusOr<size_t> added = AddBatch({&url, 1}, Texts::kCopied, &outcome);
  if (!added.ok()) return added.status();
  return outcome;
}

absl::StatusOr<size_t> Scheduler::Core::AddAll(std::span<const std::string_view> urls,
                                               Texts texts) {
  size_t accepted = 0;
  while (!urls.empty()) {
    const size_t size = std::min(urls.size(), kBatch);
    Added last;
    const absl::StatusOr<size_t> added = AddBatch(urls.first(size), texts, &last);
    if (!added.ok()) return added.status();
    accepted += *added;
    urls = urls.subspan(size);
  }
  return accepted;
}

// ---- handing out

// Removes a URL from the index, a little later: when the memory it needs has arrived.
void Scheduler::Core::Forget(uint32_t host, ChunkPool::Reference reference) {
  if (draining_) return;
  const uint32_t fingerprint = Fingerprint(host, Record::At(pool_, reference).text());
  url_index_.Prefetch(fingerprint);
  forgotten_[forgotten_count_++] = {fingerprint, reference};
  if (forgotten_count_ == forgotten_.size()) ForgetNow();
}

void Scheduler::Core::ForgetNow() {
  for (size_t i = 0; i < forgotten_count_; ++i) {
    url_index_.Erase(forgotten_[i].first, forgotten_[i].second);
  }
  forgotten_count_ = 0;
}

uint64_t Scheduler::Core::TakeFrom(uint32_t host, uint64_t limit, UrlVisitor visit) {
  const auto taken = static_cast<uint32_t>(std::min<uint64_t>(limit, ranking_.count(host)));
  hosts_[host].queue.Take(pool_, taken, [&](ChunkPool::Reference url) {
    visit({hosts_[host].name(), Record::At(pool_, url).text()});
    Forget(host, url);
  });
  ranking_.Set(host, ranking_.count(host) - taken);
  url_count_ -= taken;
  return taken;
}

uint64_t Scheduler::Core::TakeDepthFirst(uint64_t limit, UrlVisitor visit) {
  uint64_t taken = 0;
  while (taken < limit) {
    const uint32_t host = ranking_.FirstFrom(first_place_, 1);
    if (host == kNoHost) break;
    first_place_ = host;
    taken += TakeFrom(host, limit - taken, visit);
  }
  return taken;
}

// One URL from each of the next hosts, from number `from` on, that have at least `count`: at most
// kBatch and at most `limit` of them. Returns the number behind the last one, or kNoHost when there
// is none.
uint32_t Scheduler::Core::TakeOneOfEach(uint32_t from, uint32_t count, uint64_t limit,
                                        UrlVisitor visit) {
  std::array<uint32_t, kBatch> next;
  size_t size = 0;
  for (uint32_t host = from; size < std::min<uint64_t>(kBatch, limit); host = next[size++] + 1) {
    next[size] = ranking_.FirstFrom(host, count);
    if (next[size] == kNoHost) break;
  }
  const std::span<const uint32_t> hosts(next.data(), size);
  for (uint32_t host : hosts) __builtin_prefetch(&hosts_[host]);
  for (uint32_t host : hosts) hosts_[host].queue.PrefetchDepths(pool_);
  for (uint32_t host : hosts) hosts_[host].queue.PrefetchHead(pool_);
  for (uint32_t host : hosts) hosts_[host].queue.PrefetchFront(pool_);
  for (uint32_t host : hosts) hosts_[host].queue.PrefetchFrontText(pool_);
  for (uint32_t host : hosts) TakeFrom(host, 1, visit);
  return hosts.empty() ? kNoHost : hosts.back() + 1;
}

uint64_t Scheduler::Core::TakeBreadthFirst(uint64_t limit, UrlVisitor visit) {
  const uint64_t before = url_count_;
  for (uint64_t left = limit; left > 0 && url_count_ > 0; left = limit - (before - url_count_)) {
    const uint32_t place = TakeOneOfEach(ring_place_, 1, left, visit);
    ring_place_ = place == kNoHost ? 0 : place;
  }
  return before - url_count_;
}

// The hosts that have the most come in the order they became known, since each has one URL less
// once it was served.
uint64_t Scheduler::Core::TakeBestFirst(uint64_t limit, UrlVisitor visit) {
  const uint64_t before = url_count_;
  for (uint64_t left = limit; left > 0 && url_count_ > 0; left = limit - (before - url_count_)) {
    TakeOneOfEach(0, ranking_.Most(), left, visit);
  }
  return before - url_count_;
}

uint64_t Scheduler::Core::Take(uint64_t limit, UrlVisitor visit) {
  draining_ = limit >= url_count_;
  uint64_t taken = 0;
  switch (strategy_) {
    case Strategy::kDepthFirst:
      taken = TakeDepthFirst(limit, visit);
      break;
    case Strategy::kBreadthFirst:
      taken = TakeBreadthFirst(limit, visit);
      break;
    case Strategy::kBestFirst:
      taken = TakeBestFirst(limit, visit);
      break;
  }
  ForgetNow();
  if (std::exchange(draining_, false)) {
    url_index_.Clear();
    pool_.Clear();
  }
  return taken;
}

uint64_t Scheduler::Core::TakeFromHost(std::string_view name, uint64_t limit, UrlVisitor visit) {
  const uint32_t host = FindHost(name);
  if (host == kNoHost) return 0;
  const uint64_t taken = TakeFrom(host, limit, visit);
  ForgetNow();
  return taken;
}

// ---- looking and dropping

uint64_t Scheduler::Core::VisitHost(std::string_view name, UrlVisitor visit) const {
  const uint32_t host = FindHost(name);
  if (host == kNoHost) return 0;
  hosts_[host].queue.ForEach(pool_, [&](ChunkPool::Reference url) {
    visit({hosts_[host].name(), Record::At(pool_, url).text()});
  });
  return ranking_.count(host);
}

void Scheduler::Core::VisitHosts(HostVisitor visit) const {
  for (size_t i = 0; i < hosts_.size(); ++i) visit(hosts_[i].name());
}

uint64_t Scheduler::Core::DropHost(std::string_view name) {
  return TakeFromHost(name, UINT64_MAX, [](const ScheduledUrl&) {});
}

void Scheduler::Core::DropAll() {
  if (url_count_ > 0) {  // or all queues are empty, and a pass over millions would find it
    for (size_t i = 0; i < hosts_.size(); ++i) hosts_[i].queue.Clear(pool_);
  }
  hosts_.Clear();
  long_names_ = {};
  host_index_.Clear();
  url_index_.Clear();
  ranking_.Clear();
  pool_.Clear();
  url_count_ = 0;
  first_place_ = 0;
  ring_place_ = 0;
}

// ---- the public face

Scheduler::Scheduler(Strategy strategy, uint64_t max_bytes)
    : core_(std::make_unique<Core>(strategy, max_bytes)) {}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

absl::StatusOr<Added> Scheduler::Add(std::string_view url) { return core_->Add(url); }
absl::StatusOr<size_t> Scheduler::AddAll(std::span<const std::string_view> urls, Texts texts) {
  return core_->AddAll(urls, texts);
}
uint64_t Scheduler::Take(uint64_t limit, UrlVisitor visit) { return core_->Take(limit, visit); }
uint64_t Scheduler::TakeFromHost(std::string_view host, uint64_t limit, UrlVisitor visit) {
  return core_->TakeFromHost(host, limit, visit);
}
uint64_t Scheduler::VisitHost(std::string_view host, UrlVisitor visit) const {
  return core_->VisitHost(host, visit);
}
void Scheduler::VisitHosts(HostVisitor visit) const { core_->VisitHosts(visit); }
uint64_t Scheduler::DropHost(std::string_view host) { return core_->DropHost(host); }
void Scheduler::DropAll() { core_->DropAll(); }
uint64_t Scheduler::size() const { return core_->size(); }
uint64_t Scheduler::host_count() const { return core_->host_count(); }

}  // namespace escalona

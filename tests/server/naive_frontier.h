// A frontier that is as simple as can be: maps and walks. For tests of what stands on one.
#ifndef ESCALONA_TESTS_SERVER_NAIVE_FRONTIER_H_
#define ESCALONA_TESTS_SERVER_NAIVE_FRONTIER_H_

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "escalona/frontier.h"

namespace escalona {

class NaiveFrontier final : public Frontier {
 public:
  explicit NaiveFrontier(const Clock& clock) : clock_(clock) {}

  // From now on there is no end of URLs that do not match.
  void WalkForEver() { endless_ = true; }
  // From now on a walk that comes to the end finds damage there.
  void DamageTheEnd() { damaged_ = true; }

  // While set, the store fails.
  void FailWrites(bool fail) {
    absl::MutexLock lock(&mutex_);
    failing_ = fail;
  }

  std::vector<PutStatus> Put(std::span<const FrontierPut> items, absl::Status* error) override {
    absl::MutexLock lock(&mutex_);
    ++writes_;
    if (failing_) {
      if (error != nullptr) *error = absl::ResourceExhaustedError("no space left on device");
      return std::vector<PutStatus>(items.size(), PutStatus::kFailed);
    }
    std::vector<PutStatus> statuses;
    for (const FrontierPut& item : items) statuses.push_back(PutOne(item));
    return statuses;
  }

  absl::StatusOr<uint64_t> Get(const GetRequest& request,
                               absl::FunctionRef<void(const LeasedUrl&)> visit) override {
    absl::MutexLock lock(&mutex_);
    uint64_t count = 0;
    uint32_t queues = 0;
    if (!active_ || (request.key && !request.crawl)) return count;
    const absl::Duration lease =
        request.lease > absl::ZeroDuration() ? request.lease : absl::Seconds(30);
    for (auto& [name, queue] : queues_) {
      if (request.crawl && *request.crawl != name.first) continue;
      if (request.key && *request.key != name.second) continue;
      const uint64_t got = Serve(name, queue, request.max_urls_per_queue, lease, visit);
      count += got;
      queues += got > 0 ? 1 : 0;
      if (request.max_queues != 0 && queues == request.max_queues) break;
    }
    return count;
  }

  absl::Status SetActive(bool active) override {
    absl::MutexLock lock(&mutex_);
    active_ = active;
    return absl::OkStatus();
  }
  bool active() const override {
    absl::MutexLock lock(&mutex_);
    return active_;
  }
  absl::Status SetDefaultDelay(absl::Duration delay) override {
    absl::MutexLock lock(&mutex_);
    delay_ = delay;
    return absl::OkStatus();
  }
  absl::Status SetDelay(std::string_view, std::string_view, absl::Duration) override {
    return absl::UnimplementedError("naive");
  }
  absl::Status BlockQueueUntil(std::string_view, std::string_view, absl::Time) override {
    return absl::UnimplementedError("naive");
  }
  absl::Status SetCrawlLimit(std::string_view, std::string_view, uint32_t) override {
    return absl::NotFoundError("naive");
  }
  absl::Status SetStrategy(std::string_view, Strategy, UrlOrder) override {
    return absl::UnimplementedError("naive");
  }
  absl::Status SetQueueAddress(std::string_view, std::string_view, std::string_view) override {
    return absl::UnimplementedError("naive");
  }
  absl::StatusOr<uint64_t> DeleteQueue(std::string_view crawl, std::string_view key) override {
    absl::MutexLock lock(&mutex_);
    const auto found = queues_.find({std::string(crawl), std::string(key)});
    if (found == queues_.end()) return 0;
    const uint64_t count = found->second.urls.size();
    queues_.erase(found);
    return count;
  }
  absl::StatusOr<uint64_t> DeleteCrawl(std::string_view crawl) override {
    absl::MutexLock lock(&mutex_);
    uint64_t count = 0;
    std::erase_if(queues_, [&](const auto& entry) {
      if (entry.first.first != crawl) return false;
      count += entry.second.urls.size();
      return true;
    });
    return count;
  }
  absl::StatusOr<uint64_t> Purge(std::string_view, const std::optional<std::string>&,
                                 absl::Time) override {
    return absl::UnimplementedError("naive");
  }
  std::vector<std::string> ListCrawls() const override {
    absl::MutexLock lock(&mutex_);
    std::vector<std::string> crawls;
    for (const auto& [name, queue] : queues_) {
      if (crawls.empty() || crawls.back() != name.first) crawls.push_back(name.first);
    }
    return crawls;
  }
  std::vector<std::string> ListQueues(std::string_view crawl, bool, uint64_t, uint64_t,
                                      uint64_t*) const override {
    absl::MutexLock lock(&mutex_);
    std::vector<std::string> keys;
    for (const auto& [name, queue] : queues_) {
      if (name.first == crawl) keys.push_back(name.second);
    }
    return keys;
  }
  FrontierStats Stats(const std::optional<std::string>& crawl,
                      const std::optional<std::string>& key) const override {
    absl::MutexLock lock(&mutex_);
    FrontierStats stats;
    for (const auto& [name, queue] : queues_) {
      if (crawl && *crawl != name.first) continue;
      if (key && *key != name.second) continue;
      uint64_t scheduled = 0;
      for (const auto& [text, url] : queue.urls) {
        scheduled += url.completed ? 0 : 1;
        stats.completed += url.completed ? 1 : 0;
        stats.leased += !url.completed && url.deadline > clock_.Now() ? 1 : 0;
      }
      stats.scheduled += scheduled;
      stats.active_queues += scheduled > 0 ? 1 : 0;
      ++stats.queues;
    }
    return stats;
  }
  absl::Status GetUrl(std::string_view crawl, std::string_view key, std::string_view url,
                      absl::FunctionRef<void(const KnownUrl&)> visit) const override {
    absl::MutexLock lock(&mutex_);
    if (key.empty()) key = DeriveQueueKey(url);
    const auto queue = queues_.find({std::string(crawl), std::string(key)});
    if (queue == queues_.end()) return absl::NotFoundError("unknown queue");
    const auto found = queue->second.urls.find(std::string(url));
    if (found == queue->second.urls.end()) return absl::NotFoundError("unknown URL");
    visit(Known(queue->first, *found));
    return absl::OkStatus();
  }
  absl::Status ListUrls(const UrlFilter& filter,
                        absl::FunctionRef<bool(const KnownUrl&)> visit) const override {
    const absl::Time end = absl::Now() + absl::Seconds(60);  // nobody wants to see a test hang
    while (endless_ && absl::Now() < end && !(filter.stop && filter.stop())) {
      absl::SleepFor(absl::Microseconds(10));
    }
    for (const auto& [name, url] : Copy(filter)) {
      if (url.first.find(filter.text) == std::string::npos) continue;
      if (!visit(Known(name, url))) return absl::OkStatus();
    }
    return damaged_ ? absl::DataLossError("the last queue cannot be read") : absl::OkStatus();
  }
  absl::StatusOr<Explanation> Explain(std::string_view, std::string_view,
                                      std::string_view) const override {
    return absl::UnimplementedError("naive");
  }
  uint64_t StoreBytes() const override { return 0; }
  absl::Status Sync() override { return absl::OkStatus(); }

  uint64_t writes() const {
    absl::MutexLock lock(&mutex_);
    return writes_;
  }
  // Puts that gave a URL an earlier date than it had.
  uint64_t set_back() const {
    absl::MutexLock lock(&mutex_);
    return set_back_;
  }

 private:
  using Name = std::pair<std::string, std::string>;
  struct Url {
    std::string metadata;
    bool completed = false;
    absl::Time date;
    absl::Time created;
    absl::Time deadline = absl::InfinitePast();
  };
  struct Queue {
    std::map<std::string, Url> urls;
    absl::Time served = absl::InfinitePast();
  };

  PutStatus PutOne(const FrontierPut& item) {
    const std::string_view key = item.key.empty() ? DeriveQueueKey(item.url) : item.key;
    if (key.empty()) return PutStatus::kSkipped;
    const std::string crawl(item.crawl.empty() ? kDefaultCrawl : item.crawl);
    Queue& queue = queues_[{crawl, std::string(key)}];
    const auto [place, is_new] = queue.urls.try_emplace(std::string(item.url));
    Url& url = place->second;
    if (is_new) url.created = clock_.Now();
    if (!is_new && item.kind == PutKind::kDiscovered) return PutStatus::kSkipped;
    if (!is_new && item.kind == PutKind::kScheduled && item.date < url.date) ++set_back_;
    url.metadata = item.kind == PutKind::kCompleted ? "" : std::string(item.metadata);
    url.completed = item.kind == PutKind::kCompleted;
    url.date = item.kind == PutKind::kScheduled ? item.date : clock_.Now();
    url.deadline = absl::InfinitePast();
    return PutStatus::kOk;
  }

  uint64_t Serve(const Name& name, Queue& queue, uint32_t most, absl::Duration lease,
                 absl::FunctionRef<void(const LeasedUrl&)> visit) {
    const absl::Time now = clock_.Now();
    if (queue.served + delay_ > now) return 0;
    uint64_t count = 0;
    for (auto& [text, url] : queue.urls) {
      if (url.completed || url.date > now || url.deadline > now) continue;
      if (most != 0 && count == most) break;
      url.deadline = now + lease;
      visit({text, name.second, name.first, url.metadata, ++lease_, url.deadline});
      ++count;
    }
    if (count > 0) queue.served = now;
    return count;
  }

  KnownUrl Known(const Name& name, const std::pair<const std::string, Url>& url) const {
    const Url& known = url.second;
    const UrlState state = known.completed                 ? UrlState::kCompleted
                           : known.deadline > clock_.Now() ? UrlState::kLeased
                                                           : UrlState::kScheduled;
    return {url.first,      name.second,   name.first,
            known.metadata, state,         known.completed ? absl::UnixEpoch() : known.date,
            known.created,  known.deadline};
  }

  std::vector<std::pair<Name, std::pair<const std::string, Url>>> Copy(
      const UrlFilter& filter) const {
    absl::MutexLock lock(&mutex_);
    std::vector<std::pair<Name, std::pair<const std::string, Url>>> copy;
    for (const auto& [name, queue] : queues_) {
      if (name.first != filter.crawl || (filter.key && *filter.key != name.second)) continue;
      for (const auto& url : queue.urls) copy.emplace_back(name, url);
    }
    return copy;
  }

  const Clock& clock_;
  mutable absl::Mutex mutex_;
  std::map<Name, Queue> queues_;
  absl::Duration delay_ = absl::Seconds(1);
  bool active_ = true;
  bool failing_ = false;
  std::atomic<bool> endless_ = false;
  std::atomic<bool> damaged_ = false;
  uint64_t lease_ = 0;
  uint64_t writes_ = 0;
  uint64_t set_back_ = 0;
};

}  // namespace escalona

#endif  // ESCALONA_TESTS_SERVER_NAIVE_FRONTIER_H_

// The frontier as plainly as it can be said: one list of everything, looked through for each
// question. Shares no code with the real one.
#ifndef ESCALONA_TESTS_FRONTIER_FRONTIER_MODEL_H_
#define ESCALONA_TESTS_FRONTIER_FRONTIER_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "escalona/frontier.h"

namespace escalona::frontier_model {

constexpr int64_t kForever = int64_t{1} << 60;

struct Url {
  bool completed = false;
  bool by_depth = false;
  int64_t depth = 0;
  int64_t arrival = 0;
  int64_t date = 0;
  int64_t created = 0;
  std::string metadata;
  uint64_t lease = 0;
  int64_t deadline = 0;
};

struct Told {
  std::optional<int64_t> delay;
  int64_t blocked = -1;
  std::string address;
};

struct Queue {
  int64_t number = 0;
  std::map<std::string, Url> urls;
  uint32_t limit = 0;
  std::optional<int64_t> served;
  int64_t turn = 0;
  int64_t group_until = -1;
  int64_t arrivals = 0;
  bool taken = false;

  uint64_t Count(bool completed) const {
    return static_cast<uint64_t>(std::count_if(urls.begin(), urls.end(), [&](const auto& url) {
      return url.second.completed == completed;
    }));
  }
  uint64_t Leases() const {
    return static_cast<uint64_t>(std::count_if(
        urls.begin(), urls.end(), [](const auto& url) { return url.second.lease != 0; }));
  }
};

struct Crawl {
  int64_t number = 0;
  Strategy strategy;
  UrlOrder order;
  std::map<std::string, Queue> queues;
  std::map<std::string, Told> told;  // of known queues too
};

struct Served {
  std::string crawl, key, url, metadata;
  int64_t deadline;
  friend bool operator==(const Served&, const Served&) = default;
};

class Model {
 public:
  explicit Model(const FrontierOptions& options)
      : options_(options), delay_(absl::ToInt64Milliseconds(options.default_delay)) {}

  static std::string Name(std::string_view crawl) {
    for (char c : crawl) {
      if (c != ' ' && c != '\t') return std::string(crawl);
    }
    return "DEFAULT";
  }

  void Tick(int64_t now) {
    now_ = now;
    ForEach([&](const std::string&, const std::string&, Crawl&, Queue& queue) {
      for (auto& [text, url] : queue.urls) {
        if (url.lease != 0 && url.deadline <= now) url.lease = 0;
      }
    });
  }

  void Restart() {
    last_asked_ = 0;
    group_open_.clear();
    ForEach([&](const std::string& crawl, const std::string& key, Crawl&, Queue& queue) {
      Join(crawl, key, queue);
    });
  }

  std::vector<PutStatus> Put(const std::vector<FrontierPut>& items) {
    // Who is touched first stands first, if it becomes known by this call.
    std::vector<PutStatus> statuses;
    std::map<std::pair<std::string, std::string>, int64_t> queue_numbers;
    std::map<std::string, int64_t> crawl_numbers;
    for (const FrontierPut& item : items) {
      const std::string crawl = Name(item.crawl);
      const std::string key(item.key);
      queue_numbers.emplace(std::pair(crawl, key), ++next_number_);
      crawl_numbers.emplace(crawl, ++next_number_);
      statuses.push_back(
          PutOne(item, crawl, key, crawl_numbers[crawl], queue_numbers[{crawl, key}]));
    }
    return statuses;
  }

  std::vector<Served> Get(const GetRequest& request) {
    std::vector<Served> served;
    if (!active || (request.key && !request.crawl)) return served;
    const uint64_t gate = request.max_urls_per_queue == 0 ? kNoLimit : request.max_urls_per_queue;
    const uint64_t at_once = request.max_urls_at_once == 0 ? kNoLimit : request.max_urls_at_once;
    const uint64_t most = request.max_queues == 0 ? kNoLimit : request.max_queues;
    for (uint64_t i = 0; i < (request.key ? 1 : most); ++i) {
      std::optional<std::pair<std::string, std::string>> next;
      if (request.key) {
        next = AskedFor(Name(*request.crawl), *request.key, gate);
      } else if (request.crawl) {
        next = First(Name(*request.crawl), gate);
      } else {
        next = InTurn(gate);
      }
      if (!next) break;
      Serve(next->first, next->second, std::min(gate, at_once), request.lease, served);
    }
    ForEach(
        [](const std::string&, const std::string&, Crawl&, Queue& queue) { queue.taken = false; });
    return served;
  }

  void Lease(const std::string& crawl, const std::string& key, const std::string& url,
             uint64_t lease) {
    crawls_.at(crawl).queues.at(key).urls.at(url).lease = lease;
  }

  Told& Tell(std::string_view crawl, const std::string& key) {
    return Ensure(Name(crawl), ++next_number_).told[key];
  }
  void SetAddress(std::string_view crawl, const std::string& key, const std::string& ip) {
    const std::string name = Name(crawl);
    Tell(crawl, key).address = ip;
    if (Queue* const queue = Find(name, key)) Join(name, key, *queue);
    Prune();
  }
  void SetDefaultDelay(int64_t delay) { delay_ = delay; }
  void SetStrategy(std::string_view crawl, Strategy strategy, UrlOrder order) {
    Crawl& found = Ensure(Name(crawl), ++next_number_);
    found.strategy = strategy;
    found.order = order;
  }
  uint64_t DeleteQueue(std::string_view crawl, const std::string& key) {
    const auto found = crawls_.find(Name(crawl));
    if (found == crawls_.end()) return 0;
    const uint64_t urls =
        found->second.queues.contains(key) ? found->second.queues[key].urls.size() : 0;
    found->second.queues.erase(key);
    found->second.told.erase(key);
    Prune();
    return urls;
  }
  uint64_t DeleteCrawl(std::string_view crawl) {
    uint64_t urls = 0;
    const auto found = crawls_.find(Name(crawl));
    if (found == crawls_.end()) return 0;
    for (const auto& [key, queue] : found->second.queues) urls += queue.urls.size();
    crawls_.erase(found);
    Prune();
    return urls;
  }
  uint64_t Purge(std::string_view crawl, const std::optional<std::string>& key, int64_t before) {
    uint64_t purged = 0;
    ForEach([&](const std::string& name, const std::string& one, Crawl&, Queue& queue) {
      if (name != Name(crawl) || (key && *key != one)) return;
      purged +=
          std::erase_if(queue.urls, [&](const auto& url) { return url.second.created < before; });
    });
    return purged;
  }

  Queue* Find(const std::string& crawl, const std::string& key) {
    const auto found = crawls_.find(crawl);
    if (found == crawls_.end() || !found->second.queues.contains(key)) return nullptr;
    return &found->second.queues[key];
  }
  const std::map<std::string, Crawl>& crawls() const { return crawls_; }
  const Told& ToldOf(const std::string& crawl, const std::string& key) {
    return crawls_[crawl].told[key];
  }
  std::vector<std::string> KeysInOrder(const std::string& crawl) {
    std::vector<std::pair<int64_t, std::string>> keys;
    if (crawls_.contains(crawl)) {
      for (const auto& [key, queue] : crawls_[crawl].queues) keys.emplace_back(queue.number, key);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::string> names;
    for (auto& [number, key] : keys) names.push_back(key);
    return names;
  }
  FrontierStats StatsOf(const Queue& queue) const {
    return {queue.Count(false), queue.Leases(), queue.Count(true), 1,
            queue.Count(false) > 0 ? 1U : 0U};
  }
  // When the queue could be served; kForever: not by itself.
  int64_t QueueWake(const std::string& crawl, const std::string& key) {
    Queue& queue = *Find(crawl, key);
    const Told& told = ToldOf(crawl, key);
    int64_t wake = -1;
    if (queue.limit > 0 && queue.Count(true) >= queue.limit) return kForever;
    if (told.blocked >= 0) wake = std::max(wake, told.blocked + 1);
    wake = std::max(wake, SlotOf(queue, told));
    const std::string group = GroupOf(crawl, key);
    if (!group.empty()) wake = std::max(wake, group_open_[group]);
    return wake;
  }

  bool active = true;

 private:
  template <typename F>
  void ForEach(F visit) {
    for (auto& [name, crawl] : crawls_) {
      for (auto& [key, queue] : crawl.queues) visit(name, key, crawl, queue);
    }
  }

  Crawl& Ensure(const std::string& name, int64_t number) {
    const auto found = crawls_.find(name);
    if (found != crawls_.end()) return found->second;
    Crawl& crawl = crawls_[name];
    crawl.number = number;
    crawl.strategy = options_.strategy;
    crawl.order = options_.url_order;
    return crawl;
  }

  std::string GroupOf(const std::string& crawl, const std::string& key) {
    if (options_.group == PolitenessGroup::kQueue) return "";
    if (options_.group == PolitenessGroup::kDomain) {
      return key == "a.example.com" || key == "b.example.com" ? "example.com" : key;
    }
    if (key == "10.0.0.1") return key;
    return crawls_[crawl].told[key].address;
  }

  // The group remembers until when it is closed, as long as it has a queue.
  void Join(const std::string& crawl, const std::string& key, const Queue& queue) {
    const std::string group = GroupOf(crawl, key);
    if (group.empty()) return;
    group_open_.emplace(group, -1);
    group_open_[group] = std::max(group_open_[group], queue.group_until);
  }
  void Prune() {
    std::set<std::string> used;
    ForEach([&](const std::string& crawl, const std::string& key, Crawl&, Queue&) {
      used.insert(GroupOf(crawl, key));
    });
    std::erase_if(group_open_, [&](const auto& group) { return !used.contains(group.first); });
  }

  PutStatus PutOne(const FrontierPut& item, const std::string& crawl_name, const std::string& key,
                   int64_t crawl_number, int64_t queue_number) {
    if (key.empty()) return PutStatus::kSkipped;
    Queue* queue = Find(crawl_name, key);
    Url* known = nullptr;
    const std::string text(item.url);
    if (queue != nullptr && queue->urls.contains(text)) known = &queue->urls[text];
    if (item.lease != 0 && (known == nullptr || known->lease != item.lease)) {
      return PutStatus::kStale;
    }
    if (known != nullptr && item.kind == PutKind::kDiscovered) return PutStatus::kSkipped;
    if (known == nullptr) {
      uint64_t in_crawl = 0;
      if (crawls_.contains(crawl_name)) {
        for (const auto& [other, one] : crawls_[crawl_name].queues) in_crawl += one.urls.size();
      }
      if ((queue == nullptr ? 0 : queue->urls.size()) >= options_.max_urls_per_queue ||
          in_crawl >= options_.max_urls_per_crawl) {
        return PutStatus::kSkipped;
      }
    }
    Crawl& crawl = Ensure(crawl_name, crawl_number);
    if (queue == nullptr) {
      queue = &crawl.queues[key];
      queue->number = queue_number;
      queue->turn = queue_number;
      crawl.told.emplace(key, Told());
      Join(crawl_name, key, *queue);
    }
    Url& url = queue->urls[text];
    if (known == nullptr) url.created = now_ / 1000;
    url.lease = 0;
    url.completed = item.kind == PutKind::kCompleted;
    url.metadata = url.completed ? "" : std::string(item.metadata);
    url.by_depth = item.kind == PutKind::kDiscovered && crawl.order == UrlOrder::kDepth;
    url.date = item.kind == PutKind::kDiscovered ? now_ / 1000 : absl::ToUnixSeconds(item.date);
    if (url.completed) url.date = 0;
    if (url.by_depth) {
      url.arrival = queue->arrivals++;
      const std::string path = text.substr(7, text.find('?') - 7);  // after http://
      url.depth = std::count(path.begin(), path.end(), '/');
    }
    return PutStatus::kOk;
  }

  int64_t SlotOf(const Queue& queue, const Told& told) const {
    const int64_t delay = told.delay.value_or(delay_);
    return queue.served && delay > 0 ? *queue.served + delay : -1;
  }

  static bool IsFree(const Url& url, int64_t now) {
    return !url.completed && url.lease == 0 && url.date <= now / 1000;
  }

  // But for its group and the request's gate.
  bool CanBeServed(const std::string& crawl, const std::string& key, const Queue& queue) {
    const Told& told = ToldOf(crawl, key);
    if (queue.taken || (told.blocked >= 0 && told.blocked >= now_)) return false;
    if (queue.limit > 0 && queue.Count(true) >= queue.limit) return false;
    if (SlotOf(queue, told) > now_ || queue.Leases() >= options_.max_in_process) return false;
    return std::any_of(queue.urls.begin(), queue.urls.end(),
                       [&](const auto& url) { return IsFree(url.second, now_); });
  }
  bool GroupIsOpen(const std::string& crawl, const std::string& key) {
    const std::string group = GroupOf(crawl, key);
    if (group.empty()) return true;
    bool taken = false;  // by this very call
    ForEach([&](const std::string& other, const std::string& one, Crawl&, Queue& queue) {
      taken |= queue.taken && GroupOf(other, one) == group;
    });
    return !taken && group_open_[group] <= now_;
  }

  using Order = std::tuple<int64_t, int64_t>;
  static Order OrderOf(const Crawl& crawl, const Queue& queue) {
    switch (crawl.strategy) {
      case Strategy::kBreadthFirst:
        return {queue.turn, queue.number};
      case Strategy::kDepthFirst:
        return {queue.number, 0};
      case Strategy::kBestFirst:
        break;
    }
    return {-static_cast<int64_t>(queue.Count(false)), queue.number};
  }

  std::optional<std::pair<std::string, std::string>> AskedFor(const std::string& crawl,
                                                              const std::string& key,
                                                              uint64_t gate) {
    Queue* const queue = Find(crawl, key);
    if (queue == nullptr || !CanBeServed(crawl, key, *queue) || !GroupIsOpen(crawl, key) ||
        queue->Leases() >= gate) {
      return std::nullopt;
    }
    return std::pair(crawl, key);
  }

  // Groups stand where their first queue stands.
  std::optional<std::pair<std::string, std::string>> First(const std::string& name, uint64_t gate) {
    const auto found = crawls_.find(name);
    if (found == crawls_.end()) return std::nullopt;
    std::map<std::string, Order> group_order;
    for (auto& [key, queue] : found->second.queues) {
      if (!CanBeServed(name, key, queue) || !GroupIsOpen(name, key)) continue;
      const Order order = OrderOf(found->second, queue);
      const std::string group = GroupOf(name, key);
      if (group.empty()) continue;
      group_order.emplace(group, order);
      group_order[group] = std::min(group_order[group], order);
    }
    std::optional<std::tuple<Order, Order, std::string>> best;
    for (auto& [key, queue] : found->second.queues) {
      if (!CanBeServed(name, key, queue) || !GroupIsOpen(name, key) || queue.Leases() >= gate) {
        continue;
      }
      const Order order = OrderOf(found->second, queue);
      const std::string group = GroupOf(name, key);
      const std::tuple<Order, Order, std::string> candidate = {
          group.empty() ? order : group_order[group], order, key};
      if (!best || candidate < *best) best = candidate;
    }
    if (!best) return std::nullopt;
    return std::pair(name, std::get<2>(*best));
  }

  std::optional<std::pair<std::string, std::string>> InTurn(uint64_t gate) {
    std::vector<std::pair<int64_t, std::string>> turn;
    for (const auto& [name, crawl] : crawls_) turn.emplace_back(crawl.number, name);
    std::sort(turn.begin(), turn.end());
    std::stable_partition(turn.begin(), turn.end(),
                          [&](const auto& crawl) { return crawl.first > last_asked_; });
    for (const auto& [number, name] : turn) {
      if (auto next = First(name, gate)) {
        last_asked_ = number;
        return next;
      }
    }
    return std::nullopt;
  }

  void Serve(const std::string& crawl, const std::string& key, uint64_t most, absl::Duration lease,
             std::vector<Served>& served) {
    Queue& queue = *Find(crawl, key);
    most = std::min(most, options_.max_in_process - queue.Leases());
    using Rank = std::tuple<bool, int64_t, int64_t, std::string>;
    std::vector<Rank> due;
    for (const auto& [text, url] : queue.urls) {
      if (!IsFree(url, now_)) continue;
      due.emplace_back(url.by_depth ? Rank{false, url.depth, url.arrival, text}
                                    : Rank{true, url.date, 0, text});
    }
    std::sort(due.begin(), due.end());
    if (due.size() > most) due.resize(most);
    if (lease <= absl::ZeroDuration()) lease = absl::Seconds(30);
    const int64_t deadline = now_ + absl::ToInt64Milliseconds(lease);
    for (const Rank& rank : due) {
      Url& url = queue.urls[std::get<3>(rank)];
      url.lease = 1;  // until the real one is told
      url.deadline = deadline;
      served.push_back({crawl, key, std::get<3>(rank), url.metadata, deadline});
    }
    queue.taken = true;
    queue.served = std::max(queue.served.value_or(-1), now_);
    queue.turn = ++next_number_;
    if (options_.group == PolitenessGroup::kQueue) return;
    queue.group_until = now_ + ToldOf(crawl, key).delay.value_or(delay_);
    Join(crawl, key, queue);
  }

  FrontierOptions options_;
  int64_t delay_;
  int64_t now_ = 0;
  int64_t next_number_ = 0;
  int64_t last_asked_ = 0;
  std::map<std::string, Crawl> crawls_;
  std::map<std::string, int64_t> group_open_;
};

}  // namespace escalona::frontier_model

#endif  // ESCALONA_TESTS_FRONTIER_FRONTIER_MODEL_H_

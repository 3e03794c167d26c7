// The contract of the public header, and the whole scheduler against a naive one.
#include "escalona/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace escalona {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Strategy kStrategies[] = {Strategy::kDepthFirst, Strategy::kBreadthFirst,
                                    Strategy::kBestFirst};

std::vector<std::string> Take(Scheduler& scheduler, uint64_t limit) {
  std::vector<std::string> urls;
  const uint64_t count =
      scheduler.Take(limit, [&](const ScheduledUrl& url) { urls.push_back(url.ToString()); });
  EXPECT_EQ(count, urls.size());
  return urls;
}

std::vector<std::string> TakeFrom(Scheduler& scheduler, std::string_view host, uint64_t limit) {
  std::vector<std::string> urls;
  const uint64_t count = scheduler.TakeFromHost(
      host, limit, [&](const ScheduledUrl& url) { urls.push_back(url.ToString()); });
  EXPECT_EQ(count, urls.size());
  return urls;
}

std::vector<std::string> Show(const Scheduler& scheduler, std::string_view host) {
  std::vector<std::string> urls;
  const uint64_t count =
      scheduler.VisitHost(host, [&](const ScheduledUrl& url) { urls.push_back(url.ToString()); });
  EXPECT_EQ(count, urls.size());
  return urls;
}

std::vector<std::string> Hosts(const Scheduler& scheduler) {
  std::vector<std::string> hosts;
  scheduler.VisitHosts([&](std::string_view host) { hosts.emplace_back(host); });
  EXPECT_EQ(hosts.size(), scheduler.host_count());
  return hosts;
}

Added Add(Scheduler& scheduler, std::string_view url) {
  const absl::StatusOr<Added> added = scheduler.Add(url);
  EXPECT_TRUE(added.ok()) << added.status();
  return added.value_or(Added::kDiscarded);
}

TEST(Scheduler, TellsWhatBecameOfAUrl) {
  Scheduler scheduler(Strategy::kDepthFirst);
  EXPECT_EQ(Add(scheduler, "http://www.a.com/x/"), Added::kAccepted);
  EXPECT_EQ(Add(scheduler, "HTTP://A.com/x#y"), Added::kKnown);
  EXPECT_EQ(Add(scheduler, "http://b.com/x.pdf"), Added::kDiscarded);
  EXPECT_EQ(scheduler.size(), 1u);
  EXPECT_THAT(Hosts(scheduler), ElementsAre("a.com")) << "a discarded URL makes no host known";
}

TEST(Scheduler, AUrlMayComeBackOnceHandedOutOrDropped) {
  Scheduler scheduler(Strategy::kDepthFirst);
  for (int way = 0; way < 5; ++way) {
    ASSERT_EQ(Add(scheduler, "http://a.com/x"), Added::kAccepted) << way;
    ASSERT_EQ(Add(scheduler, "http://a.com/y"), way == 4 ? Added::kKnown : Added::kAccepted);
    ASSERT_EQ(Add(scheduler, "http://a.com/x"), Added::kKnown);
    switch (way) {
      case 0:
        EXPECT_EQ(Take(scheduler, 2).size(), 2u);
        break;
      case 1:
        EXPECT_EQ(TakeFrom(scheduler, "a.com", 2).size(), 2u);
        break;
      case 2:
        EXPECT_EQ(scheduler.DropHost("a.com"), 2u);
        EXPECT_THAT(Hosts(scheduler), ElementsAre("a.com"));
        break;
      case 3:
        scheduler.DropAll();
        EXPECT_THAT(Hosts(scheduler), IsEmpty());
        ASSERT_EQ(Add(scheduler, "http://a.com/y"), Added::kAccepted);
        break;
      default:
        EXPECT_THAT(Take(scheduler, 1), ElementsAre("http://a.com/y"));
    }
  }
}

TEST(Scheduler, ViewsOfAVisitorAreHostAndPath) {
  Scheduler scheduler(Strategy::kDepthFirst);
  const std::string long_host(300, 'h');
  const std::string long_path = "/" + std::string(100000, 'p');
  Add(scheduler, "http://www." + long_host + long_path + "?q");
  Add(scheduler, "http://a.com:80");
  int long_ones = 0;
  const auto check = [&](const ScheduledUrl& url) {
    const bool is_long = url.host != "a.com:80";
    long_ones += is_long;
    EXPECT_EQ(url.host, is_long ? long_host : "a.com:80");
    EXPECT_EQ(url.path, is_long ? long_path + "?q" : "");
    std::string text = "before ";
    url.AppendTo(text);
    EXPECT_EQ(text, "before " + url.ToString());
  };
  EXPECT_EQ(scheduler.VisitHost(long_host, check), 1u);
  EXPECT_EQ(scheduler.Take(5, check), 2u);
  EXPECT_EQ(long_ones, 2);
}

TEST(Scheduler, LimitsAreRespectedToTheLetter) {
  for (Strategy strategy : kStrategies) {
    Scheduler scheduler(strategy);
    EXPECT_THAT(Take(scheduler, UINT64_MAX), IsEmpty());
    for (int i = 0; i < 100; ++i) {
      Add(scheduler, "http://h" + std::to_string(i % 40) + "/" + std::to_string(i));
    }
    EXPECT_THAT(Take(scheduler, 0), IsEmpty());
    EXPECT_THAT(TakeFrom(scheduler, "h1", 0), IsEmpty());
    EXPECT_EQ(scheduler.size(), 100u);
    EXPECT_EQ(Take(scheduler, 33).size(), 33u);
    EXPECT_EQ(Take(scheduler, 1).size(), 1u);
    EXPECT_EQ(Take(scheduler, UINT64_MAX).size(), 66u);
    EXPECT_EQ(scheduler.size(), 0u);
    EXPECT_EQ(scheduler.host_count(), 40u) << "emptied hosts stay known";
  }
}

TEST(Scheduler, AHostIsComparedAsItIsInLowerCase) {
  Scheduler scheduler(Strategy::kDepthFirst);
  Add(scheduler, "http://www.a.com/x");
  EXPECT_THAT(Show(scheduler, "A.com"), ElementsAre("http://a.com/x"));
  for (const char* other : {"www.a.com", "http://a.com", "a.com/", "a.co", " a.com", ""}) {
    EXPECT_THAT(Show(scheduler, other), IsEmpty()) << other;
    EXPECT_THAT(TakeFrom(scheduler, other, 9), IsEmpty()) << other;
    EXPECT_EQ(scheduler.DropHost(other), 0u) << other;
  }
  EXPECT_EQ(scheduler.size(), 1u);
}

TEST(Scheduler, MovesWithEverythingInIt) {
  Scheduler first(Strategy::kBreadthFirst);
  for (const char* url : {"http://a/1", "http://b/1", "http://a/2", "http://b/2"}) Add(first, url);
  EXPECT_THAT(Take(first, 1), ElementsAre("http://a/1"));
  Scheduler second = std::move(first);
  EXPECT_THAT(Take(second, 1), ElementsAre("http://b/1")) << "the ring's place moves along";
  first = Scheduler(Strategy::kDepthFirst);
  Add(first, "http://c/1");
  first = std::move(second);
  EXPECT_THAT(Hosts(first), ElementsAre("a", "b"));
  EXPECT_THAT(Take(first, 9), ElementsAre("http://a/2", "http://b/2"));
}

TEST(Scheduler, ANewHostIsServedBeforeAnyComesAgain) {
  Scheduler scheduler(Strategy::kBreadthFirst);
  for (const char* url : {"http://a/1", "http://b/1", "http://c/1", "http://a/2", "http://b/2"}) {
    Add(scheduler, url);
  }
  EXPECT_EQ(Take(scheduler, 3).size(), 3u);
  Add(scheduler, "http://d/1");
  EXPECT_THAT(Take(scheduler, 9), ElementsAre("http://d/1", "http://a/2", "http://b/2"));
}

TEST(Scheduler, FullLeavesEverythingAsItWas) {
  for (Strategy strategy : kStrategies) {
    Scheduler scheduler(strategy, 2 << 20);
    const std::string filling(1000, 'f');
    uint64_t count = 0;
    absl::StatusOr<Added> added = Added::kAccepted;
    while (added.ok()) {
      added = scheduler.Add("http://h" + std::to_string(count % 7) + "/" + std::to_string(count) +
                            filling);
      count += added.ok();
    }
    EXPECT_EQ(added.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_GT(count, 1000u);
    EXPECT_EQ(scheduler.size(), count);

    const std::vector<std::string> hosts = Hosts(scheduler);
    ASSERT_EQ(hosts.size(), 7u);
    for (const std::string& name : {std::string("new"), std::string(200, 'n')}) {
      EXPECT_FALSE(scheduler.Add("http://" + name + "/" + std::string(5000, 'n')).ok());
      EXPECT_EQ(Hosts(scheduler), hosts) << "a host without an accepted URL is not known";
      EXPECT_EQ(scheduler.DropHost(name), 0u);
    }
    EXPECT_EQ(Add(scheduler, "http://h0/0" + filling), Added::kKnown) << "known needs no room";
    EXPECT_EQ(Add(scheduler, "ftp://x"), Added::kDiscarded);

    EXPECT_EQ(Take(scheduler, UINT64_MAX).size(), count) << "nothing is lost";
    EXPECT_EQ(Add(scheduler, "http://new/" + filling), Added::kAccepted) << "there is room again";
    EXPECT_EQ(Hosts(scheduler).back(), "new");
  }
}

TEST(Scheduler, AddAllKeepsThoseBeforeTheOneThatDidNotFit) {
  Scheduler scheduler(Strategy::kDepthFirst, 2 << 20);
  std::vector<std::string> urls;
  for (int i = 0; i < 4000; ++i) {
    urls.push_back("http://h" + std::to_string(i) + "/" + std::string(1000, 'f'));
  }
  const std::vector<std::string_view> views(urls.begin(), urls.end());
  const absl::StatusOr<size_t> added = scheduler.AddAll(views);
  ASSERT_EQ(added.status().code(), absl::StatusCode::kResourceExhausted);
  ASSERT_GT(scheduler.size(), 1000u);
  ASSERT_EQ(scheduler.host_count(), scheduler.size()) << "one URL per host: the rest is unknown";
  const std::vector<std::string> taken = Take(scheduler, UINT64_MAX);
  EXPECT_TRUE(std::equal(taken.begin(), taken.end(), urls.begin()));
}

TEST(Scheduler, AddAllEqualsAddOneByOne) {
  for (Strategy strategy : kStrategies) {
    std::mt19937 random(static_cast<uint32_t>(strategy));
    Scheduler together(strategy);
    Scheduler single(strategy);
    std::deque<std::vector<std::string>> kept;
    for (int round = 0; round < 30; ++round) {
      std::vector<std::string>& urls = kept.emplace_back();
      for (size_t i = random() % 200; i > 0; --i) {
        std::string url = random() % 10 == 0 ? "ftp://" : "http://";
        url += random() % 5 == 0 ? "WWW.H" : "h";
        url += std::to_string(random() % 20) + (random() % 30 == 0 ? std::string(60, 'H') : "");
        for (size_t depth = random() % 4; depth > 0; --depth) {
          url += "/" + std::to_string(random() % 4);
          if (random() % 3 == 0) url += "/a-path-that-is-long-enough-to-stay-where-it-is";
        }
        urls.push_back(url);
      }
      size_t accepted = 0;
      for (const std::string& url : urls) accepted += Add(single, url) == Added::kAccepted;
      const absl::StatusOr<size_t> added =
          together.AddAll(std::vector<std::string_view>(urls.begin(), urls.end()),
                          round % 2 == 0 ? Scheduler::Texts::kStay : Scheduler::Texts::kCopied);
      ASSERT_TRUE(added.ok());
      ASSERT_EQ(*added, accepted);
      if (round % 2 == 1) urls.assign(urls.size(), "no longer needed");
      ASSERT_EQ(Hosts(together), Hosts(single));
      ASSERT_EQ(together.size(), single.size());
      const uint64_t limit = random() % 150;
      ASSERT_EQ(Take(together, limit), Take(single, limit));
    }
    ASSERT_EQ(Take(together, UINT64_MAX), Take(single, UINT64_MAX));
  }
}

// ---- many hosts against a naive scheduler

struct NaiveHost {
  std::string name;
  std::vector<std::pair<size_t, std::string>> urls;  // depth, URL; in the order to be handed out
};

// URLs here are clean ("http://host/path"), so only the order is at stake.
class NaiveScheduler {
 public:
  explicit NaiveScheduler(Strategy strategy) : strategy_(strategy) {}

  void Add(const std::string& host, const std::string& path) {
    auto at = std::find_if(hosts_.begin(), hosts_.end(),
                           [&](const NaiveHost& known) { return known.name == host; });
    if (at == hosts_.end()) at = hosts_.insert(at, {host, {}});
    const auto depth = static_cast<size_t>(std::count(path.begin(), path.end(), '/'));
    const std::pair<size_t, std::string> entry(depth, "http://" + host + path);
    if (std::find(at->urls.begin(), at->urls.end(), entry) != at->urls.end()) return;
    at->urls.push_back(entry);
    std::stable_sort(at->urls.begin(), at->urls.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  std::vector<std::string> Take(uint64_t limit) {
    std::vector<std::string> taken;
    for (size_t host; taken.size() < limit && (host = Next()) < hosts_.size();) {
      taken.push_back(hosts_[host].urls.front().second);
      hosts_[host].urls.erase(hosts_[host].urls.begin());
      served_last_ = host;
    }
    return taken;
  }

 private:
  size_t Next() const {
    const size_t count = hosts_.size();
    size_t best = count;
    for (size_t i = 0; i < count; ++i) {
      size_t host = i;
      if (strategy_ == Strategy::kBreadthFirst) host = (served_last_ + 1 + i) % count;
      if (hosts_[host].urls.empty()) continue;
      if (strategy_ != Strategy::kBestFirst) return host;
      if (best == count || hosts_[host].urls.size() > hosts_[best].urls.size()) best = host;
    }
    return best;
  }

  const Strategy strategy_;
  std::vector<NaiveHost> hosts_;
  size_t served_last_ = SIZE_MAX;  // so that the first place is 0
};

TEST(Scheduler, OrdersLikeANaiveOneOverManyHosts) {
  for (Strategy strategy : kStrategies) {
    for (uint32_t host_count : {3u, 40u, 300u}) {
      std::mt19937 random(host_count);
      Scheduler scheduler(strategy);
      NaiveScheduler naive(strategy);
      for (int step = 0; step < 60; ++step) {
        for (size_t i = random() % 60; i > 0; --i) {
          const std::string host = "h" + std::to_string(random() % host_count);
          std::string path = "/" + std::to_string(random() % 50);
          for (size_t depth = random() % 3; depth > 0; --depth) path += "/x";
          Add(scheduler, "http://" + host + path);
          naive.Add(host, path);
        }
        const uint64_t limit = random() % 40;
        ASSERT_EQ(Take(scheduler, limit), naive.Take(limit)) << "step " << step;
      }
      ASSERT_EQ(Take(scheduler, UINT64_MAX), naive.Take(UINT64_MAX));
    }
  }
}

}  // namespace
}  // namespace escalona

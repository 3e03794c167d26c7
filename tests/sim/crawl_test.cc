// A whole crawl of the simulated web: everything that can be reached is fetched, once, politely,
// also when the frontier is closed in the midst of it.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../frontier/frontier_fixture.h"
#include "escalona/frontier.h"
#include "gtest/gtest.h"
#include "sim/crawler.h"
#include "sim/web.h"

namespace escalona::sim {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

// Everything that links lead to, as a crawler without a frontier would find it.
std::set<std::string> Reachable(const WebOptions& options, const std::string& from) {
  WebOptions reliable = options;
  reliable.failures = 0;
  const Web web(reliable);
  std::set<std::string> seen = {from};
  std::vector<std::string> left = {from};
  while (!left.empty()) {
    const Fetched fetched = web.Fetch(left.back(), kStart);
    left.pop_back();
    for (const std::string& link : fetched.links) {
      if (seen.insert(link).second) left.push_back(link);
    }
  }
  return seen;
}

struct Visits {
  std::map<std::string, absl::Time> last;  // by host
  std::map<std::string, int> count;        // by URL
  uint64_t broken = 0;

  void See(std::string_view url, absl::Time now) {
    const std::string host(DeriveQueueKey(url));
    const auto [before, is_first] = last.emplace(host, now);
    if (!is_first && now - before->second < absl::Seconds(1)) ++broken;
    before->second = now;
    ++count[std::string(url)];
  }
};

class WholeCrawlTest : public ::testing::TestWithParam<Strategy> {};
INSTANTIATE_TEST_SUITE_P(Strategies, WholeCrawlTest,
                         ::testing::Values(Strategy::kBreadthFirst, Strategy::kDepthFirst,
                                           Strategy::kBestFirst));

TEST_P(WholeCrawlTest, FetchesWhatCanBeReachedOncePolitelyWithRestarts) {
  const WebOptions options = {.hosts = 60, .largest_host = 120};
  const Web web(options);
  const TestFolder folder;
  VirtualClock clock(kStart);
  const FrontierOptions settings = {.strategy = GetParam()};
  auto frontier = *Frontier::Open(folder.path(), settings, clock);
  const std::string seed = web.UrlOf(0, 0);
  const FrontierPut first = {.url = seed};
  frontier->Put({&first, 1});
  Visits visits;
  const auto see = [&](std::string_view url, absl::Time now) { visits.See(url, now); };
  uint64_t failures = 0;
  for (int restart = 0; restart < 3; ++restart) {
    Crawler crawler(web, *frontier, clock, {.fetchers = 20});
    ASSERT_TRUE(crawler.Run(clock.Now() + absl::Seconds(20), see).ok());
    failures += crawler.report().failures;
    // What was under way is lost with the crawler; its leases are not.
    frontier.reset();
    frontier = *Frontier::Open(folder.path(), settings, clock);
  }
  Crawler crawler(web, *frontier, clock, {.fetchers = 20});
  ASSERT_TRUE(crawler.Run(absl::InfiniteFuture(), see).ok());
  failures += crawler.report().failures;

  const std::set<std::string> expected = Reachable(options, seed);
  EXPECT_EQ(visits.broken, 0);
  EXPECT_EQ(visits.count.size(), expected.size());
  uint64_t again = 0;
  for (const auto& [url, count] : visits.count) {
    EXPECT_TRUE(expected.contains(url)) << url;
    again += static_cast<uint64_t>(count - 1);
  }
  // Twice only what failed, or what was under way when a crawler ended.
  EXPECT_LE(again, failures + 3 * 20);
  const FrontierStats stats = frontier->Stats(std::nullopt, std::nullopt);
  EXPECT_EQ(stats.completed, expected.size());
  EXPECT_EQ(stats.scheduled, 0);
  EXPECT_EQ(stats.leased, 0);
}

TEST(CrawlTest, RevisitsFindChanges) {
  const Web web({.hosts = 10, .largest_host = 20, .mean_change = absl::Hours(1)});
  VirtualClock clock(kStart);
  const auto frontier = Frontier::OpenInMemory({}, clock);
  const std::string seed = web.UrlOf(0, 0);
  const FrontierPut first = {.url = seed};
  frontier->Put({&first, 1});
  Crawler crawler(web, *frontier, clock, {.fetchers = 20, .revisit = absl::Minutes(10)});
  ASSERT_TRUE(crawler.Run(kStart + absl::Hours(2), [](std::string_view, absl::Time) {}).ok());
  EXPECT_GT(crawler.report().changes, 20);
  EXPECT_GT(crawler.report().pages, 10 * frontier->Stats(std::nullopt, std::nullopt).scheduled);
}

}  // namespace
}  // namespace escalona::sim

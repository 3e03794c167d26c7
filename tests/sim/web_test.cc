// The simulated web is the same each time, and has what it promises.
#include "sim/web.h"

#include <algorithm>
#include <set>
#include <string>

#include "gtest/gtest.h"

namespace escalona::sim {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

TEST(WebTest, IsTheSameForTheSameSeedAndOtherForAnother) {
  const Web one({.seed = 1, .hosts = 50});
  const Web same({.seed = 1, .hosts = 50});
  const Web other({.seed = 2, .hosts = 50});
  EXPECT_EQ(one.pages(), same.pages());
  EXPECT_NE(one.pages(), other.pages());
  const std::string url = one.UrlOf(3, 0);
  const Fetched fetched = one.Fetch(url, kNow);
  EXPECT_EQ(fetched.links, same.Fetch(url, kNow).links);
  EXPECT_EQ(fetched.latency, same.Fetch(url, kNow).latency);
}

TEST(WebTest, SizesFollowAPowerLawBetweenBothEnds) {
  const Web web({.hosts = 10000, .smallest_host = 2, .largest_host = 500});
  uint64_t small = 0;
  for (uint64_t host = 0; host < web.hosts(); ++host) {
    ASSERT_GE(web.pages_of(host), 2);
    ASSERT_LE(web.pages_of(host), 500);
    small += web.pages_of(host) < 4 ? 1 : 0;
  }
  EXPECT_GT(small, web.hosts() * 4 / 10);
  EXPECT_GT(web.pages(), web.hosts() * 6);
}

TEST(WebTest, EveryPageHasAUrlOfItsOwnAndIsLinkedFromItsHost) {
  const Web web({.hosts = 20, .largest_host = 200, .failures = 0});
  for (uint64_t host = 0; host < web.hosts(); ++host) {
    std::set<std::string> seen = {web.UrlOf(host, 0)};
    std::vector<std::string> left = {web.UrlOf(host, 0)};
    while (!left.empty()) {
      const Fetched fetched = web.Fetch(left.back(), kNow);
      left.pop_back();
      for (const std::string& link : fetched.links) {
        if (link.find(Web::HostName(host) + "/") == std::string::npos) continue;
        if (web.Fetch(link, kNow).outcome != Outcome::kOk) continue;
        if (seen.insert(link).second) left.push_back(link);
      }
    }
    EXPECT_EQ(seen.size(), web.pages_of(host)) << host;
  }
}

TEST(WebTest, PagesChangeWithTimeAndOtherUrlsAreNotFound) {
  const Web web({.hosts = 5, .failures = 0, .mean_change = absl::Hours(24)});
  const std::string url = web.UrlOf(1, 0);
  EXPECT_LT(web.Fetch(url, kNow).version, web.Fetch(url, kNow + absl::Hours(24 * 30)).version);
  EXPECT_EQ(web.Fetch(url, kNow).version, web.Fetch(url, kNow + absl::Milliseconds(1)).version);
  for (const char* text : {"http://host5.example/", "http://host1.example/x",
                           "http://host1.example/99", "ftp://host1.example/", ""}) {
    EXPECT_EQ(web.Fetch(text, kNow).outcome, Outcome::kNotFound) << text;
  }
}

}  // namespace
}  // namespace escalona::sim

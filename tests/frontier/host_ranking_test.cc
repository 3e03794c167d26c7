// The ranking against a plain vector of counts.
#include "frontier/host_ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace escalona {
namespace {

uint32_t NaiveFirstFrom(const std::vector<uint32_t>& counts, uint32_t from, uint32_t count) {
  for (uint32_t i = from; i < counts.size(); ++i) {
    if (counts[i] >= count) return i;
  }
  return HostRanking::kNoHost;
}

uint32_t NaiveMost(const std::vector<uint32_t>& counts) {
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

class HostRankingOfSize : public testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    for (uint32_t i = 0; i < GetParam(); ++i) ranking_.Append();
    counts_.resize(GetParam());
  }
  void Compare(uint32_t from) const {
    ASSERT_EQ(ranking_.size(), counts_.size());
    ASSERT_EQ(ranking_.Most(), NaiveMost(counts_));
    for (uint32_t count : {1u, 2u, 3u, ranking_.Most(), ranking_.Most() + 1}) {
      if (count == 0) continue;
      ASSERT_EQ(ranking_.FirstFrom(from, count), NaiveFirstFrom(counts_, from, count))
          << "from " << from << " with " << count;
    }
  }
  void CompareAll() const {
    for (uint32_t i = 0; i < counts_.size(); ++i) ASSERT_EQ(ranking_.count(i), counts_[i]);
    for (uint32_t i = 0; i <= counts_.size(); ++i) Compare(i);
  }

  HostRanking ranking_;
  std::vector<uint32_t> counts_;
};

TEST_P(HostRankingOfSize, HasNoHostWithUrlsAtFirst) { CompareAll(); }

TEST_P(HostRankingOfSize, FindsTheOnlyHostThatHasUrls) {
  for (uint32_t host = 0; host < GetParam(); host += 1 + GetParam() / 300) {
    ranking_.Increment(host);
    counts_[host] = 1;
    for (uint32_t from : {0u, host, host + 1, GetParam()}) Compare(from);
    ranking_.Set(host, 0);
    counts_[host] = 0;
    Compare(0);
  }
}

TEST_P(HostRankingOfSize, AgreesWithAVectorOnRandomChanges) {
  if (GetParam() == 0) return;
  std::mt19937 random(GetParam());
  for (int step = 0; step < 3000; ++step) {
    const auto host = static_cast<uint32_t>(random() % GetParam());
    if (random() % 2 == 0) {
      ranking_.Increment(host);
      ++counts_[host];
    } else {
      // Often nothing, so that whole parts of the tree run empty.
      const auto count = static_cast<uint32_t>(random() % 3 == 0 ? random() % 5 : 0);
      ranking_.Set(host, count);
      counts_[host] = count;
    }
    Compare(static_cast<uint32_t>(random() % (GetParam() + 1)));
  }
}

TEST_P(HostRankingOfSize, KeepsCountsWhenHostsAreAppendedAndTakenBack) {
  std::mt19937 random(GetParam() + 1);
  for (int step = 0; step < 2000; ++step) {
    switch (random() % 4) {
      case 0:
      case 1:
        ranking_.Append();
        counts_.push_back(0);
        break;
      case 2:
        if (!counts_.empty() && counts_.back() == 0) {
          ranking_.RemoveLast();
          counts_.pop_back();
        }
        break;
      default:
        if (!counts_.empty()) {
          const auto host = static_cast<uint32_t>(random() % counts_.size());
          const auto count = static_cast<uint32_t>(random() % 3);
          ranking_.Set(host, count);
          counts_[host] = count;
        }
    }
    Compare(static_cast<uint32_t>(random() % (counts_.size() + 1)));
  }
  if (counts_.size() < 1000) CompareAll();
}

TEST_P(HostRankingOfSize, TiesGoToTheFirst) {
  for (uint32_t host = GetParam(); host > 0; --host) {
    ranking_.Increment(host - 1);
    ASSERT_EQ(ranking_.FirstFrom(0, ranking_.Most()), host - 1);
  }
}

TEST_P(HostRankingOfSize, ClearForgetsAll) {
  for (uint32_t host = 0; host < GetParam(); ++host) ranking_.Increment(host);
  ranking_.Clear();
  counts_.clear();
  CompareAll();
  ranking_.Append();
  counts_.push_back(0);
  CompareAll();
}

INSTANTIATE_TEST_SUITE_P(BordersOfTheTree, HostRankingOfSize,
                         testing::Values(0, 1, 15, 16, 17, 255, 256, 257, 5000),
                         testing::PrintToStringParamName());

TEST(HostRanking, LargeCountsAreExact) {
  HostRanking ranking;
  for (int i = 0; i < 300; ++i) ranking.Append();
  ranking.Set(280, UINT32_MAX);
  ranking.Set(20, UINT32_MAX - 1);
  EXPECT_EQ(ranking.Most(), UINT32_MAX);
  EXPECT_EQ(ranking.FirstFrom(0, UINT32_MAX), 280u);
  ranking.Set(280, UINT32_MAX - 2);
  EXPECT_EQ(ranking.Most(), UINT32_MAX - 1);
  EXPECT_EQ(ranking.FirstFrom(0, UINT32_MAX - 1), 20u);
}

}  // namespace
}  // namespace escalona

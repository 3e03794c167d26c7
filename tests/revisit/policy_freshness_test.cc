// The closed forms: exact values, constants, limits, and the distribution behind MERGE's product.
#include "escalona/policy_freshness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "escalona/allocation.h"

namespace escalona::revisit {
namespace {

constexpr double kF1 = 1.0 / 40;
constexpr double kF2 = 1.0 / 60;
constexpr double kL1 = 0.02;
constexpr double kL2 = 1.0 / 30;

TEST(PolicyFreshness, WorkedExampleHasItsExactValues) {
  const std::vector<double> f = {kF1, kF2};
  EXPECT_NEAR(Freshness(kL1, kF1), 0.688338794853473, 1e-14);
  EXPECT_NEAR(Freshness(kL2, kF2), 0.4323323583816937, 1e-14);
  EXPECT_NEAR(MergeFreshness(kL1, 0, f), 0.6730961817681813, 1e-14);
  EXPECT_NEAR(MergeFreshness(kL2, 1, f), 0.426846382178983, 1e-14);
  EXPECT_NEAR(RandomFreshness(kL1, kF1, kF1 + kF2), 0.6332614199858512, 1e-14);
  EXPECT_NEAR(RandomFreshness(kL2, kF2, kF1 + kF2), 0.3769640330216227, 1e-14);
  EXPECT_NEAR(MergeLowerBound(kL1, kF1, kF1 + kF2), 0.6501051290182554, 1e-14);
  EXPECT_NEAR(MergeLowerBound(kL2, kF2, kF1 + kF2), 0.4016432136391873, 1e-14);
}

TEST(PolicyFreshness, WorstFactorsAreThePublishedConstants) {
  const WorstFactor random = WorstRandomFactor();
  EXPECT_NEAR(random.factor, 0.770163, 5e-7);
  EXPECT_NEAR(random.changes_per_visit, 1.793282, 5e-7);
  EXPECT_TRUE(std::isinf(random.server_visits));
  const WorstFactor merge = WorstMergeFactor();
  EXPECT_NEAR(merge.factor, 0.927230, 5e-7);
  EXPECT_NEAR(merge.changes_per_visit, 1.637445, 1e-5);
  EXPECT_NEAR(merge.server_visits, 2.270571, 1e-5);
}

TEST(PolicyFreshness, NoPageFallsBelowTheWorstFactor) {
  for (double x = 0.001; x < 1000; x *= 1.3) {
    EXPECT_GE(RandomFactor(x), WorstRandomFactor().factor);
    for (double m = 1; m < 1e6; m *= 1.5) {
      EXPECT_GE(MergeFactor(x, m), WorstMergeFactor().factor - 1e-12) << x << " " << m;
      const double best = Freshness(x, 1);
      EXPECT_LE(MergeFactor(x, m), 1 + 1e-12);
      EXPECT_GE(RandomFreshness(x, 1, m) / best, RandomFactor(x) - 1e-12);
      EXPECT_GT(RandomFreshness(x, 1, m), 1 / (x + 1) * (1 - 1e-12));
    }
  }
}

TEST(PolicyFreshness, MergeLiesBetweenItsBoundAndTheOptimum) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> draw(0, 1.5);
  for (int instance = 0; instance < 200; ++instance) {
    std::vector<double> f(1 + instance % 9);
    double sum = 0;
    for (double& x : f) sum += x = draw(random);
    for (size_t i = 0; i < f.size(); ++i) {
      const double rate = draw(random);
      const double merge = MergeFreshness(rate, i, f);
      EXPECT_GE(merge, MergeLowerBound(rate, f[i], sum) * (1 - 1e-12));
      EXPECT_LE(merge, Freshness(rate, f[i]) * (1 + 1e-12));
      EXPECT_GE(merge, RandomFreshness(rate, f[i], sum) * (1 - 1e-12));
    }
  }
}

TEST(PolicyFreshness, ExtremesHaveTheirLimits) {
  const std::vector<double> one = {2.0};
  EXPECT_EQ(RandomFreshness(0, 1, 2), 1);
  EXPECT_EQ(RandomFreshness(1, 0, 2), 0);
  EXPECT_EQ(MergeLowerBound(0, 1, 2), 1);
  EXPECT_EQ(MergeLowerBound(1, 0, 2), 0);
  EXPECT_EQ(MergeFreshness(0, 0, one), 1);
  // Alone on its server a page is visited evenly under every policy.
  EXPECT_NEAR(MergeFreshness(3, 0, one), Freshness(3, 2), 1e-15);
  EXPECT_NEAR(RandomFreshness(3, 2, 2), Freshness(3, 2), 1e-15);
  EXPECT_NEAR(MergeLowerBound(3, 2, 2), Freshness(3, 2), 1e-15);
  for (const double tiny : {1e-300, 1e-12}) {
    EXPECT_NEAR(RandomFreshness(tiny, 1, 10), 1, 1e-11);
    EXPECT_NEAR(MergeLowerBound(tiny, 1, 10), 1, 1e-11);
  }
  EXPECT_NEAR(RandomFreshness(1e12, 1, 10), 1e-12, 1e-24);
  EXPECT_NEAR(MergeLowerBound(1e12, 1, 10), 1e-12, 1e-24);
}

TEST(PolicyFreshness, LargeServersBySumsAgreeWithTheProduct) {
  std::mt19937_64 random(2);
  std::lognormal_distribution<double> draw(0, 1);
  std::vector<double> f(4 * kMergeExactPages), rates(f.size());
  double sum = 0;
  for (size_t i = 0; i < f.size(); ++i) {
    sum += f[i] = i % 50 == 0 ? 0 : draw(random);
    rates[i] = i % 70 == 0 ? 0 : draw(random);
  }
  const std::vector<double> all = MergeFreshnessOfServer(rates, f);
  for (size_t i = 0; i < f.size(); i += 13) {
    EXPECT_NEAR(all[i], MergeFreshness(rates[i], i, f), rates[i] / (4 * sum) + 1e-15) << i;
  }
  // At the border the two ways meet.
  const std::span<const double> some(f.data(), kMergeExactPages);
  const std::vector<double> exact = MergeFreshnessOfServer({rates.data(), some.size()}, some);
  for (size_t i = 0; i < some.size(); i += 7) {
    EXPECT_DOUBLE_EQ(exact[i], MergeFreshness(rates[i], i, some));
  }
}

// Between two requests of a page, page j is requested floor(r_j) or floor(r_j) + 1 times, the
// latter with probability frac(r_j), when its phase is uniform.
TEST(PolicyFreshness, OtherPagesComeFloorOrCeilingTimesBetweenTwoVisits) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(0, 1);
  for (const double ratio : {0.3, 1.0, 2.75, 7.1}) {
    const double whole = std::floor(ratio);
    const double part = ratio - whole;
    constexpr int kTrials = 200'000;
    int more = 0;
    for (int t = 0; t < kTrials; ++t) {
      const double phase =
          unit(random) / ratio;  // page j's keys: phase + k/ratio, page i's: 0 and 1
      const int count = static_cast<int>(std::ceil((1 - phase) * ratio));
      ASSERT_TRUE(count == whole || count == whole + 1) << count;
      more += count == whole + 1;
    }
    const double error = std::sqrt(part * (1 - part) / kTrials);
    EXPECT_NEAR(static_cast<double>(more) / kTrials, part, 4 * error + 1e-12);
  }
}

TEST(ChannelBounds, PublishedNumbers) {
  EXPECT_NEAR(ChannelChernoffBound(5462, 160), 0.0982, 5e-5);
  EXPECT_NEAR(ChannelHoeffdingBound(5462, 160), 8.5e-5, 5e-7);
  EXPECT_EQ(ChannelChernoffBound(100, 0), 1);
  EXPECT_EQ(ChannelHoeffdingBound(100, 0), 1);
  EXPECT_NEAR(ChannelHoeffdingBound(546, ChannelExcess(546, 1e-6)), 1e-6, 1e-15);
  for (double x = 1; x < 1000; x *= 2) {
    EXPECT_LE(ChannelHoeffdingBound(546, x), ChannelChernoffBound(546, x));
  }
}

TEST(ChannelBounds, HoldForEvenlySpacedServers) {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> unit(0, 1);
  constexpr int kServers = 200, kTrials = 20'000;
  int above = 0;
  const double excess = 12;
  for (int t = 0; t < kTrials; ++t) {
    double requests = 0;
    for (int s = 0; s < kServers; ++s) requests += unit(random) < 0.5;  // half a request each
    above += requests > kServers * 0.5 + excess;
  }
  EXPECT_GT(above, 0);
  EXPECT_LT(static_cast<double>(above) / kTrials, ChannelHoeffdingBound(kServers, excess));
}

}  // namespace
}  // namespace escalona::revisit

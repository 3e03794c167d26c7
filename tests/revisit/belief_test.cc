// Beliefs against exact posteriors, and the estimators against their definitions.
#include "escalona/belief.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "reference_values.h"

namespace escalona::revisit {
namespace {

const std::vector<Observation> kVisits = {{5, false}, {3, true}, {12, true}, {2, false}, {40, true}, {.5, false}};

TEST(BeliefTest, SpecifiedSequence) {
  const Belief belief = Learn({0.5, 10}, kVisits);
  EXPECT_NEAR(belief.alpha, kFilteredAlpha, 1e-12);
  EXPECT_NEAR(belief.beta, kFilteredBeta, 1e-11);
  EXPECT_NEAR(belief.alpha, 2.641777725524691, 1e-9);
  EXPECT_NEAR(belief.beta, 23.07572448361266, 1e-9);
}

TEST(BeliefTest, ChangedHasMeanAndVarianceOfTheExactPosterior) {
  for (const Belief& prior : {Belief{0.45, 8}, Belief{3, 0.5}}) {
    for (const double t : {0.01, 1.0, 50.0}) {
      double total = 0;
      double first = 0;
      double second = 0;
      for (double u = -40; u < 8; u += 1. / 64) {  // trapezoids in the logarithm of the rate
        const double rate = std::exp(u);
        const double density = std::exp(prior.alpha * u - prior.beta * rate) * -std::expm1(-rate * t);
        total += density;
        first += density * rate;
        second += density * rate * rate;
      }
      const double mean = first / total;
      const Belief posterior = AfterChanged(prior, t);
      EXPECT_NEAR(posterior.mean() / mean, 1, 1e-9);
      EXPECT_NEAR(posterior.variance() / (second / total - mean * mean), 1, 1e-9);
    }
  }
}

TEST(BeliefTest, AChangeAfterNoTimeIsOneMoreChange) {
  EXPECT_EQ(AfterChanged({2, 5}, 0), (Belief{3, 5}));
  const Belief soon = AfterChanged({2, 5}, 1e-9);
  EXPECT_NEAR(soon.alpha, 3, 1e-6);
  EXPECT_NEAR(soon.beta, 5, 1e-6);
}

TEST(BeliefTest, AnAgeCountsOnlyWhenItCanBeTrue) {
  EXPECT_EQ(AfterChangedWithAge({2, 5}, 10, 4), (Belief{3, 9}));
  EXPECT_EQ(AfterChangedWithAge({2, 5}, 10, 11), AfterChanged({2, 5}, 10));
  EXPECT_EQ(AfterChangedWithAge({2, 5}, 10, -1), AfterChanged({2, 5}, 10));
  EXPECT_EQ(AfterChangedWithAge({2, 5}, 10, std::nan("")), AfterChanged({2, 5}, 10));
  EXPECT_EQ(AfterUnchanged({2, 5}, 10), (Belief{2, 15}));
}

TEST(BeliefTest, ForgettingHalvesTheDistanceToThePrior) {
  EXPECT_EQ(Forget({9, 30}, {1, 10}, 5, 5), (Belief{5, 20}));
  EXPECT_EQ(Forget({9, 30}, {1, 10}, 0, 5), (Belief{9, 30}));
  const Belief old = Forget({9, 30}, {1, 10}, 1e6, 5);
  EXPECT_NEAR(old.alpha, 1, 1e-12);
  EXPECT_NEAR(old.beta, 10, 1e-12);
}

TEST(BeliefTest, QuantilesOfAnExponential) {
  EXPECT_NEAR(Quantile({1, 2}, 0.5), std::log(2) / 2, 1e-12);
  EXPECT_NEAR(Quantile({1, 2}, 0.975), -std::log(0.025) / 2, 1e-12);
  EXPECT_GT(Quantile({1e-3, 1}, 0.975), 0);
}

TEST(PriorPoolTest, FindsTheDistributionThatRatesCameFrom) {
  std::mt19937_64 random(1);
  std::gamma_distribution<double> gamma(0.6, 1 / 12.0);
  PriorPool pool;
  for (int i = 0; i < 200'000; ++i) pool.Add({1e6 * gamma(random) + 1e-9, 1e6});  // rates known almost surely
  const Belief prior = pool.Fit({0.45, 8});
  EXPECT_NEAR(prior.alpha, 0.6, 0.02);
  EXPECT_NEAR(prior.beta, 12, 0.5);
}

TEST(PriorPoolTest, FewPagesLeaveTheGlobalPrior) {
  PriorPool pool;
  const Belief global{0.45, 8};
  EXPECT_NEAR(pool.Fit(global).alpha, 0.45, 1e-9);
  EXPECT_NEAR(pool.Fit(global).beta, 8, 1e-7);
  pool.Add({5, 1});
  const Belief one = pool.Fit(global);
  EXPECT_GT(one.mean(), global.mean());
  EXPECT_LT(one.mean(), 5);
  pool.Remove({5, 1});
  EXPECT_NEAR(pool.Fit(global).beta, 8, 1e-6);
}

TEST(ProbeTest, OnlyPagesThatMostlyChangedAreProbed) {
  EXPECT_FALSE(ProbeInterval(10, 6, 100, 0.1, 0.5));
  EXPECT_FALSE(ProbeInterval(40, 40, 100, 0.1, 0.5));
  EXPECT_FALSE(ProbeInterval(0, 0, 100, 0.1, 0.5));
  EXPECT_FALSE(ProbeInterval(10, 7, 100, 0.2, 0.5));
  EXPECT_DOUBLE_EQ(*ProbeInterval(10, 7, 100, 0.19, 0), 3);
  EXPECT_DOUBLE_EQ(*ProbeInterval(39, 39, 100, 0, 0.5), 6.5);
}

TEST(EstimatorTest, MaximumLikelihoodIsAMaximum) {
  const auto likelihood = [](std::span<const Observation> visits, double rate) {
    double sum = 0;
    for (const Observation& v : visits) {
      if (!v.changed) sum -= rate * v.interval;
      if (v.changed && v.age < 0) sum += std::log(-std::expm1(-rate * v.interval));
      if (v.changed && v.age >= 0) sum += std::log(rate) - rate * v.age;
    }
    return sum;
  };
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform;
  for (int round = 0; round < 200; ++round) {
    std::vector<Observation> visits = {{1, false}, {2, true}};
    for (int i = 0; i < 10; ++i) {
      const double interval = std::exp(6 * uniform(random) - 3);
      visits.push_back({interval, uniform(random) < 0.5, uniform(random) < 0.3 ? interval * uniform(random) : -1});
    }
    const double rate = MaximumLikelihoodRate(visits);
    EXPECT_GE(likelihood(visits, rate), likelihood(visits, rate * 1.001));
    EXPECT_GE(likelihood(visits, rate), likelihood(visits, rate * 0.999));
  }
}

TEST(EstimatorTest, MaximumLikelihoodHasAClosedFormForEqualIntervals) {
  const std::vector<Observation> visits = {{2, true}, {2, false}, {2, false}, {2, true}, {2, false}};
  EXPECT_NEAR(MaximumLikelihoodRate(visits), -std::log(3. / 5) / 2, 1e-14);
}

TEST(EstimatorTest, MaximumLikelihoodAtTheEdges) {
  EXPECT_EQ(MaximumLikelihoodRate(std::vector<Observation>{{3, false}}), 0);
  EXPECT_EQ(MaximumLikelihoodRate(std::vector<Observation>{{3, true}}), std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(MaximumLikelihoodRate(std::vector<Observation>{{3, true, 2}}), 0.5);
  EXPECT_TRUE(std::isnan(MaximumLikelihoodRate({})));
}

TEST(EstimatorTest, ChoFollowsItsFormula) {
  const std::vector<Observation> visits = {{2, true}, {4, false}, {3, true}};
  EXPECT_DOUBLE_EQ(ChoRate(visits), -std::log(1.5 / 3.5) / 3);
  EXPECT_TRUE(std::isnan(ChoRate({})));
}

}  // namespace
}  // namespace escalona::revisit

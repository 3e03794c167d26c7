// The simulation: policies reach their closed forms, results do not depend on threads.
#include "revisit/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "escalona/allocation.h"
#include "escalona/policy_freshness.h"
#include "revisit/population.h"
#include "revisit/random_source.h"

namespace escalona::revisit {
namespace {

Population OneServer(std::vector<double> rates, double politeness) {
  Population population;
  population.server.assign(rates.size(), 0);
  population.first = {0, rates.size()};
  population.min_interval = {politeness};
  population.change_rate = std::move(rates);
  return population;
}

// Mean and standard error of the freshness of one page, the others weightless, over seeds.
struct Estimate {
  double mean = 0;
  double error = 0;
};
Estimate Measure(PolicyKind policy, const Population& all, const std::vector<double>& frequency,
                 size_t page, int seeds, double duration) {
  Population population = all;
  population.weight.assign(population.pages(), 0);
  population.weight[page] = 1;
  double sum = 0, squares = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    SimulationOptions options;
    options.policy = policy;
    options.cold = false;
    options.seed = static_cast<uint64_t>(seed);
    options.threads = 1;
    options.duration = duration;
    options.channel_interval = duration;
    // The beginning remembers how it was started.
    const double fresh = Simulate(population, frequency, options).last_fifth;
    sum += fresh;
    squares += fresh * fresh;
  }
  const double mean = sum / seeds;
  return {mean, std::sqrt(std::max(squares / seeds - mean * mean, 0.0) / (seeds - 1))};
}

TEST(Simulation, RandomIsWithinThreeErrorsOfItsFormula) {
  const std::vector<double> f = {1.0 / 40, 1.0 / 60, 0.1, 0.003};
  const Population population = OneServer({0.02, 1.0 / 30, 0.5, 0.001}, 1);
  const double total = std::accumulate(f.begin(), f.end(), 0.0);
  for (size_t i = 0; i < f.size(); ++i) {
    const Estimate got = Measure(PolicyKind::kRandom, population, f, i, 60, 400'000);
    EXPECT_NEAR(got.mean, RandomFreshness(population.change_rate[i], f[i], total), 3 * got.error);
    EXPECT_LT(got.error, 0.005);
  }
}

TEST(Simulation, MergeEqualsTheExactProductAndKeepsItsBound) {
  // Ratios that are no fractions of small numbers, so that a long time is like a random phase.
  const std::vector<double> f = {1, std::sqrt(2.0), std::sqrt(5.0) / 2, 0.37};
  const Population population = OneServer({1.3, 0.7, 3.0, 0.5}, 0.1);
  const double total = std::accumulate(f.begin(), f.end(), 0.0);
  for (size_t i = 0; i < f.size(); ++i) {
    const double rate = population.change_rate[i];
    const Estimate got = Measure(PolicyKind::kMerge, population, f, i, 40, 20'000);
    EXPECT_NEAR(got.mean, MergeFreshness(rate, i, f), 3 * got.error + 2e-4);
    EXPECT_GT(got.mean, MergeLowerBound(rate, f[i], total));
  }
}

// With commensurable frequencies one run depends on its phases; over many it is the product. The
// order repeats every 120 days, and a fifth of the time is ten times that.
TEST(Simulation, MergeOfTheWorkedExampleOverRandomPhases) {
  const std::vector<double> f = {1.0 / 40, 1.0 / 60};
  const Population population = OneServer({0.02, 1.0 / 30}, 1);
  for (size_t i = 0; i < f.size(); ++i) {
    const Estimate got = Measure(PolicyKind::kMerge, population, f, i, 2000, 6000);
    EXPECT_NEAR(got.mean, MergeFreshness(population.change_rate[i], i, f), 3 * got.error + 1e-5);
  }
}

TEST(Simulation, BucketedMergeAndDelayedAreAsFreshAsMerge) {
  RandomSource random(1);
  std::vector<double> rates(400);
  for (double& rate : rates) rate = std::exp(2 * random.Normal());
  const Population population = OneServer(rates, 1e-3);
  const Allocation plan = *Allocate(population.AsProblem(700));
  SimulationOptions options;
  options.cold = false;
  options.duration = 50;
  const auto ratio = [&](PolicyKind kind) {
    options.policy = kind;
    return Simulate(population, plan.frequency, options).freshness / plan.freshness();
  };
  const double merge = ratio(PolicyKind::kMerge);
  EXPECT_GT(merge, 0.99);
  EXPECT_NEAR(ratio(PolicyKind::kBucketedMerge), merge, 0.002);
  EXPECT_NEAR(ratio(PolicyKind::kDelayed), merge, 0.01);
  EXPECT_GT(ratio(PolicyKind::kHybrid), 0.9999);
  EXPECT_LT(ratio(PolicyKind::kRandom), 0.95);
}

TEST(Simulation, AnEvenlyVisitedPageHasItsExactFreshness) {
  const Population population = OneServer({0.3}, 1);
  const std::vector<double> f = {0.25};
  SimulationOptions options;
  options.policy = PolicyKind::kMerge;
  options.duration = 4 * 1000;
  options.cold = false;
  EXPECT_NEAR(Simulate(population, f, options).freshness, Freshness(0.3, 0.25), 1e-3);
}

TEST(Simulation, ColdPagesAreStaleUntilVisitedAndUnchangingOnesAlwaysFresh) {
  const Population population = OneServer({0, 1e-12}, 1);
  const std::vector<double> f = {0, 0.001};  // first visit within the first 1000 days
  SimulationOptions options;
  options.policy = PolicyKind::kMerge;
  options.duration = 10'000;
  options.bins = 10;
  const SimulationResult result = Simulate(population, f, options);
  EXPECT_GT(result.curve[0], 0.5);
  EXPECT_LT(result.curve[0], 1);
  for (size_t b = 1; b < 10; ++b) EXPECT_NEAR(result.curve[b], 1, 1e-6);
  EXPECT_NEAR(static_cast<double>(result.requests), 10, 1);
}

TEST(Simulation, TheSameForEveryNumberOfThreads) {
  const Population population = MakeWebbase(20'000, 60, 0.05, 3);
  const Allocation plan = *Allocate(population.AsProblem(population.MaximumRate() * 0.5));
  for (const PolicyKind kind : {PolicyKind::kRandom, PolicyKind::kMerge, PolicyKind::kBucketedMerge,
                                PolicyKind::kDelayed, PolicyKind::kHybrid}) {
    SimulationOptions options;
    options.policy = kind;
    options.duration = 300;
    options.threads = 1;
    const SimulationResult one = Simulate(population, plan.frequency, options);
    EXPECT_GE(one.shortest_gap, 1);
    EXPECT_GT(one.requests, 0u);
    for (const int threads : {2, 3, 8}) {
      options.threads = threads;
      const SimulationResult many = Simulate(population, plan.frequency, options);
      EXPECT_EQ(one.freshness, many.freshness);
      EXPECT_EQ(one.curve, many.curve);
      EXPECT_EQ(one.requests, many.requests);
      EXPECT_EQ(one.peak, many.peak);
      EXPECT_EQ(one.shortest_gap, many.shortest_gap);
    }
    options.seed = 2;
    EXPECT_NE(Simulate(population, plan.frequency, options).freshness, one.freshness);
  }
}

TEST(Simulation, HybridBeatsMergeFromAColdStart) {
  const Population population = MakeWebbase(30'000, 40, 0.05, 5);
  for (const double share : {0.01, 0.1, 0.9}) {
    const Allocation plan = *Allocate(population.AsProblem(population.MaximumRate() * share));
    SimulationOptions options;
    options.policy = PolicyKind::kMerge;
    const double merge = Simulate(population, plan.frequency, options).freshness;
    options.policy = PolicyKind::kHybrid;
    const SimulationResult hybrid = Simulate(population, plan.frequency, options);
    EXPECT_GT(hybrid.freshness / plan.freshness(), merge / plan.freshness() + 0.005);
    EXPECT_LE(hybrid.freshness, plan.freshness());
  }
}

TEST(Population, WebbaseHasTheSizesAndRatesAskedFor) {
  const Population population = MakeWebbase(100'000, 300, 0.1, 1);
  EXPECT_EQ(population.pages(), 100'000u);
  EXPECT_EQ(population.servers(), 300u);
  EXPECT_EQ(population.first.back(), 100'000u);
  for (size_t s = 0; s + 1 < population.servers(); ++s) {
    const size_t size = population.first[s + 1] - population.first[s];
    ASSERT_GE(size, 1u);
    ASSERT_LE(population.first[s + 2] - population.first[s + 1], size + 1);
    for (size_t i = population.first[s]; i < population.first[s + 1]; ++i) {
      ASSERT_EQ(population.server[i], s);
    }
  }
  EXPECT_EQ(MakeWebbase(100'000, 300, 0.1, 1).change_rate, population.change_rate);
  EXPECT_NE(MakeWebbase(100'000, 300, 0.1, 2).change_rate, population.change_rate);
  EXPECT_EQ(MakeWebbase(7, 7, 0.1, 2).first.back(), 7u);
}

TEST(Population, BroadHasAMedianOfEightPages) {
  const Population population = MakeBroad(0, 20'001, 0.1, 1);
  std::vector<size_t> sizes;
  for (size_t s = 0; s < population.servers(); ++s) {
    sizes.push_back(population.first[s + 1] - population.first[s]);
  }
  std::nth_element(sizes.begin(), sizes.begin() + 10'000, sizes.end());
  EXPECT_EQ(sizes[10'000], 8u);
  EXPECT_EQ(MakeBroad(50'000, 1000, 0.1, 1).pages(), 50'000u);
}

}  // namespace
}  // namespace escalona::revisit

// The allocation: exact values, optimality conditions, limits, extremes, and equality over threads.
#include "escalona/allocation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "reference_values.h"
#include "revisit/fast_kernels.h"

namespace escalona::revisit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A problem with its arrays.
struct Case {
  std::vector<double> rate, alpha, beta, weight, lo, hi, cost, interval;
  std::vector<uint32_t> server;
  double capacity = 1;

  [[nodiscard]] Problem problem() const {
    Problem p;
    p.change_rate = rate;
    p.alpha = alpha;
    p.beta = beta;
    p.weight = weight;
    p.lo = lo;
    p.hi = hi;
    p.cost = cost;
    p.min_interval = interval;
    p.server = server;
    p.capacity = capacity;
    return p;
  }
  [[nodiscard]] double w(size_t i) const { return weight.empty() ? 1 : weight[i]; }
  [[nodiscard]] double c(size_t i) const { return cost.empty() ? 1 : cost[i]; }
  [[nodiscard]] double l(size_t i) const { return lo.empty() ? 0 : lo[i]; }
  [[nodiscard]] double u(size_t i) const { return hi.empty() ? kInfinity : hi[i]; }
};

Allocation Solve(const Case& c, AllocationOptions options = {}) {
  absl::StatusOr<Allocation> result = Allocate(c.problem(), options);
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

Allocation Solve(const Case& c, AllocationKind kind) {
  AllocationOptions options;
  options.kind = kind;
  return Solve(c, options);
}

Case RandomCase(std::mt19937_64& random, size_t pages, size_t servers, bool extras) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Case c;
  for (size_t s = 0; s < servers; ++s) c.interval.push_back(std::exp(normal(random)));
  for (size_t i = 0; i < pages; ++i) {
    c.rate.push_back(uniform(random) < 0.05 ? 0 : std::exp(2.4 * normal(random)));
    c.weight.push_back(uniform(random) < 0.05 ? 0 : std::exp(normal(random)));
    c.server.push_back(static_cast<uint32_t>(random() % servers));
    if (!extras) continue;
    c.cost.push_back(std::exp(0.5 * normal(random)));
    c.lo.push_back(uniform(random) < 0.2 ? 1e-5 * uniform(random) / static_cast<double>(pages) : 0);
    c.hi.push_back(uniform(random) < 0.3 ? c.lo.back() + uniform(random) / 4 : kInfinity);
  }
  double most = 0;
  for (const double interval : c.interval) most += 1 / interval;
  c.capacity = most * (0.002 + std::pow(uniform(random), 2));
  return c;
}

// Sums in three orders never exceed the limits.
void ExpectLimitsHold(const Case& c, const Allocation& a, bool polite = true) {
  std::vector<size_t> order(a.frequency.size());
  std::iota(order.begin(), order.end(), 0);
  for (int round = 0; round < 3; ++round) {
    if (round == 1) std::reverse(order.begin(), order.end());
    if (round == 2)
      std::sort(order.begin(), order.end(),
                [&](size_t i, size_t j) { return a.frequency[i] < a.frequency[j]; });
    std::vector<double> sum(c.interval.size() + 1, 0);
    std::vector<double> requests(c.interval.size() + 1, 0);
    double total = 0;
    for (const size_t i : order) {
      const size_t s = c.server.empty() ? 0 : c.server[i];
      ASSERT_GE(a.frequency[i], 0);
      sum[s] += c.c(i) * a.frequency[i];
      requests[s] += a.frequency[i];
      total += c.c(i) * a.frequency[i];
    }
    EXPECT_LE(total, c.capacity);
    for (size_t s = 0; polite && s < c.interval.size(); ++s) {
      EXPECT_LE(sum[s], 1 / c.interval[s]) << "server " << s;
      EXPECT_LE(requests[s], 1 / c.interval[s]) << "server " << s;
    }
  }
}

double MarginalOf(const Case& c, size_t i, double f) {
  return c.rate.empty() ? BeliefMarginal(c.alpha[i], c.beta[i], f)
                        : MarginalFreshness(c.rate[i], f);
}

// The conditions of Karush, Kuhn and Tucker, which a concave problem's optimum and nothing else
// meets.
void ExpectOptimal(const Case& c, const Allocation& a, double tolerance = 1e-9) {
  const bool costs_below_one =
      std::any_of(c.cost.begin(), c.cost.end(), [](double v) { return v < 1; });
  double total = 0;
  std::vector<double> sum(a.server_price.size(), 0);
  for (size_t i = 0; i < a.frequency.size(); ++i) {
    const size_t s = c.server.empty() ? 0 : c.server[i];
    const double f = a.frequency[i];
    sum[s] += c.c(i) * f;
    total += c.c(i) * f;
    const double gain = c.w(i) == 0 ? 0 : c.w(i) / c.c(i) * MarginalOf(c, i, f);
    const double nu = a.server_price[s];
    if (f > c.l(i) * (1 + 1e-12)) {
      EXPECT_GE(gain, nu * (1 - tolerance)) << "page " << i << " gets too much";
    }
    if (f < c.u(i) * (1 - 1e-12)) {
      EXPECT_LE(gain, nu * (1 + tolerance)) << "page " << i << " gets too little";
    }
    EXPECT_GE(f, c.l(i) * (1 - 1e-12));
    EXPECT_LE(f, c.u(i));
  }
  for (size_t s = 0; s < sum.size(); ++s) {
    EXPECT_GE(a.server_price[s], a.price * (1 - tolerance));
    EXPECT_NEAR(a.server_rate[s], sum[s], 1e-9 * sum[s]);
    // A price above the capacity's is paid only where the limit binds.
    if (!costs_below_one && a.server_price[s] > a.price * (1 + tolerance)) {
      EXPECT_NEAR(sum[s] * c.interval[s], 1, 1e-9) << "server " << s;
      EXPECT_EQ(a.saturated[s], 1);
    }
  }
  if (a.price > 0) {
    EXPECT_NEAR(total, c.capacity, 1e-9 * c.capacity);
  }
  EXPECT_NEAR(a.total_rate, total, 1e-9 * total);
}

TEST(AllocationTest, MatchesHighPrecision) {
  for (const Instance& instance : kInstances) {
    SCOPED_TRACE(instance.name);
    Case c;
    c.rate = instance.rate;
    c.weight = instance.weight;
    c.server = instance.server;
    c.capacity = instance.capacity;
    for (const double cap : instance.cap) c.interval.push_back(1 / cap);
    const Allocation a = Solve(c);
    EXPECT_NEAR(a.price, instance.price, 1e-9 * instance.price);
    EXPECT_NEAR(a.objective, instance.objective, 1e-12 * instance.objective);
    for (size_t i = 0; i < c.rate.size(); ++i) {
      EXPECT_NEAR(a.frequency[i], instance.frequency[i], 1e-9 * instance.frequency[i]) << i;
    }
    for (size_t s = 0; s < c.interval.size(); ++s) {
      EXPECT_NEAR(a.server_price[s], instance.server_price[s], 1e-9 * instance.server_price[s])
          << s;
    }
    ExpectLimitsHold(c, a);
  }
}

TEST(AllocationTest, SpecifiedValues) {
  Case c;
  c.rate = {.5, 1, 2, .1, 3};
  c.server = {0, 0, 0, 1, 1};
  c.interval = {1 / .6, .1};
  c.capacity = 2;
  const Allocation a = Solve(c);
  EXPECT_NEAR(a.server_price[0], 0.8871418407842323, 1e-9);
  EXPECT_NEAR(a.price, 0.26673720016381837, 1e-9);
  EXPECT_NEAR(a.frequency[0], 0.3324081691786865, 1e-9);
  EXPECT_NEAR(a.frequency[1], 0.2675918308213135, 1e-9);
  EXPECT_EQ(a.frequency[2], 0);
  EXPECT_NEAR(a.frequency[3], 0.398571412416145, 1e-9);
  EXPECT_NEAR(a.frequency[4], 1.001428587583855, 1e-9);
  EXPECT_NEAR(a.objective, 1.9798462326482358, 1e-9);
  EXPECT_EQ(a.saturated_servers, 1U);
}

TEST(AllocationTest, RandomProblemsAreSolvedOptimallyAndPolitely) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const Case c = RandomCase(random, 1 + random() % 60, 1 + random() % 6, round % 2 == 1);
    const Allocation a = Solve(c);
    ExpectLimitsHold(c, a);
    ExpectOptimal(c, a);
    if (HasFailure()) return;
  }
}

// A page whose demand falls from about 1 to 0 within the last bits of the price: neither it nor
// its neighbours may be scaled when its server would be above its limit at the lower price.
TEST(AllocationTest, ADemandThatJumpsAtThePriceIsShared) {
  for (const double limit : {0.9, 1.0, 1.1, 1.5, 3.0}) {
    SCOPED_TRACE(limit);
    Case c;
    c.rate = {41, 0.36, 0.32, 0.5};
    c.weight = {15, 1.05, 0.16, 1};
    c.server = {0, 0, 0, 1};
    c.interval = {1 / limit, 1};
    double others = 0;  // what the pages besides the first take at its price
    for (size_t i = 1; i < 4; ++i) {
      double low = 0;
      double high = 100;
      while (high - low > 1e-14) {
        const double f = (low + high) / 2;
        (c.w(i) * MarginalFreshness(c.rate[i], f) > 15. / 41 ? low : high) = f;
      }
      others += low;
    }
    c.capacity = others + 0.1;
    const Allocation a = Solve(c);
    ExpectLimitsHold(c, a);
    ExpectOptimal(c, a);
  }
}

TEST(AllocationTest, BeliefsAreSolvedOptimallyAndPolitely) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(round);
    Case c = RandomCase(random, 1 + random() % 40, 1 + random() % 4, round % 2 == 1);
    for (size_t i = 0; i < c.rate.size(); ++i) {
      c.alpha.push_back(std::exp(1.5 * normal(random)));
      c.beta.push_back(std::exp(2 * normal(random)));
    }
    c.rate.clear();
    const Allocation a = Solve(c);
    ExpectLimitsHold(c, a);
    ExpectOptimal(c, a);
    if (HasFailure()) return;
  }
}

TEST(AllocationTest, CertainBeliefsAreRates) {
  std::mt19937_64 random(3);
  Case c = RandomCase(random, 30, 3, false);
  for (double& rate : c.rate) rate = std::max(rate, 1e-3);
  const Allocation rates = Solve(c);
  Case beliefs = c;
  beliefs.rate.clear();
  for (const double rate : c.rate) {
    beliefs.alpha.push_back(1e9 * rate);
    beliefs.beta.push_back(1e9);
  }
  const Allocation believed = Solve(beliefs);
  EXPECT_NEAR(believed.objective, rates.objective, 1e-5 * rates.objective);
  EXPECT_NEAR(believed.price, rates.price, 1e-4 * rates.price);
}

TEST(AllocationTest, MoreBudgetNeverLowersAServersRate) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 30; ++round) {
    Case c = RandomCase(random, 50, 5, round % 2 == 1);
    std::vector<double> rate(5, 0);
    double objective = 0;
    const double full = c.capacity;
    for (const double share : {0.05, 0.1, 0.3, 0.6, 1.0, 3.0}) {
      c.capacity = full * share;
      if (std::accumulate(c.lo.begin(), c.lo.end(), 0.0) * 4 > c.capacity) continue;
      const Allocation a = Solve(c);
      for (size_t s = 0; s < rate.size(); ++s) {
        EXPECT_GE(a.server_rate[s], rate[s] * (1 - 1e-11));
        rate[s] = a.server_rate[s];
      }
      EXPECT_GE(a.objective, objective * (1 - 1e-12));
      objective = a.objective;
    }
  }
}

TEST(AllocationTest, OrderOfPagesDoesNotMatter) {
  std::mt19937_64 random(5);
  const Case c = RandomCase(random, 200, 7, true);
  const Allocation a = Solve(c);
  std::vector<size_t> order(c.rate.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  Case shuffled = c;
  for (size_t k = 0; k < order.size(); ++k) {
    shuffled.rate[k] = c.rate[order[k]];
    shuffled.weight[k] = c.weight[order[k]];
    shuffled.server[k] = c.server[order[k]];
    shuffled.cost[k] = c.cost[order[k]];
    shuffled.lo[k] = c.lo[order[k]];
    shuffled.hi[k] = c.hi[order[k]];
  }
  const Allocation b = Solve(shuffled);
  EXPECT_NEAR(a.objective, b.objective, 1e-13 * a.objective);
  for (size_t k = 0; k < order.size(); ++k) {
    EXPECT_NEAR(b.frequency[k], a.frequency[order[k]], 1e-10 * a.frequency[order[k]]);
  }
}

TEST(AllocationTest, ExtremeRatesAreHandled) {
  Case c;
  c.rate = {0, 1e-12, 1e12, 1e12, 1, 1e-300};
  c.weight = {1, 1, 1, 1, 0, 1};
  c.interval = {1};
  for (const double capacity : {1e-9, 0.5, 0.999, 1.0, 7.0}) {
    c.capacity = capacity;
    const Allocation a = Solve(c);
    ExpectLimitsHold(c, a);
    EXPECT_EQ(a.frequency[0], 0) << "a page that never changes needs no visit";
    EXPECT_EQ(a.frequency[4], 0) << "a page that does not count gets none";
    EXPECT_GT(a.frequency[1], 0);
    EXPECT_GT(a.frequency[5], 0);
    EXPECT_DOUBLE_EQ(a.frequency[2], a.frequency[3]) << "equal pages are treated equally";
    EXPECT_NEAR(a.total_rate, std::min(1.0, capacity), 1e-9);
    EXPECT_TRUE(std::isfinite(a.objective));
  }
}

TEST(AllocationTest, ALimitInsideAJumpOfTheDemandIsMetExactly) {
  // One page of rate 1000 goes from 27 visits to none within the last bits of its price.
  Case c;
  c.rate = {1000, 1000, 1000};
  c.interval = {1};
  c.capacity = 0.5;
  const Allocation a = Solve(c);
  for (const double f : a.frequency) EXPECT_NEAR(f, 0.5 / 3, 1e-14);
  c.capacity = 5;
  const Allocation b = Solve(c);
  for (const double f : b.frequency) EXPECT_NEAR(f, 1. / 3, 1e-14);
  EXPECT_EQ(b.saturated_servers, 1U);
}

TEST(AllocationTest, LimitsTooLargeForPricesStillGiveVisits) {
  Case c;
  c.rate = {1, 3};
  c.server = {0, 1};
  c.capacity = 1e200;
  for (const double interval : {0.0, 1e-200}) {
    c.interval = {interval, interval};
    for (const AllocationKind kind :
         {AllocationKind::kOptPolite, AllocationKind::kUnpolite, AllocationKind::kUniform,
          AllocationKind::kPoliteBinaryLambda}) {
      AllocationOptions options;
      options.kind = kind;
      const absl::StatusOr<Allocation> a = Allocate(c.problem(), options);
      ASSERT_TRUE(a.ok()) << a.status();
      EXPECT_GT(a->frequency[0], 1e90);
      EXPECT_GT(a->frequency[1], 1e90);
      EXPECT_LE(a->total_rate, 1e200);
      EXPECT_NEAR(a->freshness(), 1, 1e-12);
    }
  }
}

TEST(AllocationTest, WeightsWhoseSumIsInfiniteAreRefused) {
  Case c;
  c.rate = {1, 1};
  c.weight = {1e308, 1e308};
  const absl::StatusOr<Allocation> a = Allocate(c.problem());
  ASSERT_FALSE(a.ok());
  EXPECT_NE(a.status().message().find("weights"), absl::string_view::npos) << a.status();
}

TEST(AllocationTest, NoCapacityMeansNoVisits) {
  Case c;
  c.rate = {1, 2, 0};
  c.capacity = 0;
  const Allocation a = Solve(c);
  for (const double f : a.frequency) EXPECT_EQ(f, 0);
  EXPECT_EQ(a.objective, 1) << "of the page that never changes";
  EXPECT_EQ(a.price, 1) << "what the first visit would be worth";
}

TEST(AllocationTest, CapacityAboveAllLimitsCostsNothing) {
  Case c;
  c.rate = {.5, 1, 2, .1, 3};
  c.server = {0, 0, 0, 1, 1};
  c.interval = {1 / .6, .1};
  for (const double capacity : {10.6, 11.0, 1e9, kInfinity}) {
    c.capacity = capacity;
    const Allocation a = Solve(c);
    EXPECT_EQ(a.price, 0);
    EXPECT_EQ(a.saturated_servers, 2U);
    EXPECT_NEAR(a.server_rate[0], 0.6, 1e-12);
    EXPECT_NEAR(a.server_rate[1], 10, 1e-12);
    ExpectLimitsHold(c, a);
  }
}

TEST(AllocationTest, ServersWithoutPagesOrWithoutChangesAreLeftAlone) {
  Case c;
  c.rate = {1, 0, 0};
  c.server = {0, 2, 2};
  c.interval = {1, 1, 1};
  c.capacity = 2;
  const Allocation a = Solve(c);
  EXPECT_NEAR(a.server_rate[0], 1, 1e-12);
  EXPECT_EQ(a.server_rate[1], 0);
  EXPECT_EQ(a.server_rate[2], 0);
  EXPECT_EQ(a.price, 0);
}

TEST(AllocationTest, UnpoliteBoundIsAtLeastPolite) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 30; ++round) {
    const Case c = RandomCase(random, 40, 4, false);
    const Allocation polite = Solve(c);
    const Allocation unpolite = Solve(c, AllocationKind::kUnpolite);
    ExpectLimitsHold(c, unpolite, false);
    EXPECT_GE(unpolite.objective, polite.objective * (1 - 1e-12));
    for (const AllocationKind kind : {AllocationKind::kUniform, AllocationKind::kChangeProportional,
                                      AllocationKind::kPoliteBinaryLambda}) {
      const Allocation other = Solve(c, kind);
      ExpectLimitsHold(c, other);
      EXPECT_LE(other.objective, polite.objective * (1 + 1e-12));
    }
  }
}

TEST(AllocationTest, UniformAndProportionalAreWhatTheySay) {
  Case c;
  c.rate = {.5, 1, 2, .1, 3};
  c.server = {0, 0, 0, 1, 1};
  c.interval = {1 / .6, .1};
  c.capacity = 2;
  const Allocation uniform = Solve(c, AllocationKind::kUniform);
  for (const size_t i : {0, 1, 2}) EXPECT_NEAR(uniform.frequency[i], 0.2, 1e-12);
  for (const size_t i : {3, 4}) EXPECT_NEAR(uniform.frequency[i], 0.7, 1e-12);
  const Allocation proportional = Solve(c, AllocationKind::kChangeProportional);
  EXPECT_NEAR(proportional.frequency[2], 0.6 * 2 / 3.5, 1e-12);
  EXPECT_NEAR(proportional.frequency[4], 1.4 * 3 / 3.1, 1e-12);
}

TEST(AllocationTest, BinaryLambdaFollowsItsFormula) {
  Case c;
  c.rate = {.5, 1, 40, .1};
  c.weight = {1, 2, 1, 3};
  c.capacity = 2;
  const Allocation a = Solve(c, AllocationKind::kPoliteBinaryLambda);
  double objective = 0;
  for (size_t i = 0; i < c.rate.size(); ++i) {
    const double f = std::max(0.0, std::sqrt(c.weight[i] * c.rate[i] / a.price) - c.rate[i]);
    EXPECT_NEAR(a.frequency[i], f, 1e-10);
    objective += c.weight[i] * f / (f + c.rate[i]);
  }
  EXPECT_NEAR(a.objective, objective, 1e-10);
  EXPECT_EQ(a.frequency[2], 0);
}

TEST(AllocationTest, EqualCostsOnlyScaleTheBudget) {
  std::mt19937_64 random(7);
  Case c = RandomCase(random, 40, 1, false);
  c.interval = {0};
  const Allocation plain = Solve(c);
  c.cost.assign(c.rate.size(), 2.5);
  c.capacity *= 2.5;
  const Allocation dear = Solve(c);
  for (size_t i = 0; i < c.rate.size(); ++i) {
    EXPECT_NEAR(dear.frequency[i], plain.frequency[i], 1e-10 * plain.frequency[i]);
  }
}

TEST(AllocationTest, LowerBoundsThatFillALimitAreKept) {
  Case c;
  c.rate = {1, 2, 3};
  c.lo = {0.1, 0.2, 0.3};
  c.interval = {1 / 0.6};
  c.capacity = 5;
  const Allocation a = Solve(c);
  ExpectLimitsHold(c, a);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(a.frequency[i], c.lo[i], 1e-14);
}

struct BadCase {
  const char* name;
  void (*spoil)(Case&);
  const char* message;
};

TEST(AllocationTest, BadInputIsNamed) {
  const BadCase bad[] = {
      {"nan rate", [](Case& c) { c.rate[1] = std::nan(""); }, "change_rate[1]"},
      {"negative rate", [](Case& c) { c.rate[2] = -1; }, "change_rate[2] is -1"},
      {"infinite rate", [](Case& c) { c.rate[0] = kInfinity; }, "change_rate[0] is inf"},
      {"negative weight", [](Case& c) { c.weight[1] = -0.5; }, "weight[1]"},
      {"nan weight", [](Case& c) { c.weight[1] = std::nan(""); }, "weight[1]"},
      {"short weight", [](Case& c) { c.weight.pop_back(); }, "weight has 2 entries"},
      {"server too large", [](Case& c) { c.server[2] = 9; }, "server[2] is 9"},
      {"short server", [](Case& c) { c.server.pop_back(); }, "server has 2 entries"},
      {"zero cost",
       [](Case& c) {
         c.cost = {1, 0, 1};
       },
       "cost[1]"},
      {"lo above hi",
       [](Case& c) {
         c.lo = {0, 2, 0}, c.hi = {1, 1, 1};
       },
       "lo[1] is 2"},
      {"nan hi",
       [](Case& c) {
         c.hi = {1, std::nan(""), 1};
       },
       "hi[1]"},
      {"negative interval", [](Case& c) { c.interval[1] = -1; }, "min_interval[1]"},
      {"negative capacity", [](Case& c) { c.capacity = -1; }, "capacity is -1"},
      {"nan capacity", [](Case& c) { c.capacity = std::nan(""); }, "capacity is nan"},
      {"infinite capacity", [](Case& c) { c.capacity = kInfinity, c.interval[0] = 0; }, "server 0"},
      {"alpha without beta",
       [](Case& c) {
         c.rate.clear(), c.alpha = {1, 1, 1};
       },
       "alpha has 3 entries"},
      {"rates and beliefs",
       [](Case& c) {
         c.alpha = c.beta = {1, 1, 1};
       },
       "both given"},
      {"zero alpha",
       [](Case& c) {
         c.rate.clear(), c.alpha = {1, 0, 1}, c.beta = {1, 1, 1};
       },
       "alpha[1]"},
      {"lower bounds above a limit",
       [](Case& c) {
         c.lo = {3, 0, 0};
       },
       "lower bounds of server 0"},
      {"lower bounds above the capacity",
       [](Case& c) {
         c.lo = {.5, .5, .5}, c.capacity = 1;
       },
       "above the capacity"},
  };
  for (const BadCase& b : bad) {
    SCOPED_TRACE(b.name);
    Case c;
    c.rate = {1, 2, 3};
    c.weight = {1, 1, 1};
    c.server = {0, 1, 1};
    c.interval = {.5, .5};
    b.spoil(c);
    const absl::StatusOr<Allocation> result = Allocate(c.problem());
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(result.status().message()).find(b.message), std::string::npos)
        << result.status();
  }
}

TEST(AllocationTest, NoPagesIsNoProblem) {
  const Allocation a = Solve(Case{});
  EXPECT_TRUE(a.frequency.empty());
  EXPECT_EQ(a.freshness(), 1);
}

// Many pages on servers of Zipf size, some of them saturated.
Case LargeCase(size_t pages, bool weighted, bool sorted) {
  std::mt19937_64 random(8);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const size_t servers = pages / 500;
  Case c;
  c.interval.assign(servers, 1e-3);
  for (size_t i = 0; i < pages; ++i) {
    c.server.push_back(
        static_cast<uint32_t>(static_cast<double>(servers) * std::pow(uniform(random), 3)));
    c.rate.push_back(uniform(random) < 0.01 ? 0 : std::exp(2.4 * normal(random) - 2));
    if (weighted) c.weight.push_back(uniform(random) < 0.01 ? 0 : std::exp(normal(random)));
  }
  // Equal rates make the demand jump.
  for (size_t i = 0; i < pages / 10; ++i) c.rate[i] = 5000;
  if (sorted) std::sort(c.server.begin(), c.server.end());
  c.capacity = 0.1 * static_cast<double>(servers) * 1e3;
  return c;
}

TEST(FastAllocationTest, ObjectiveIsThatOfTheExactOne) {
  for (const bool weighted : {false, true}) {
    for (const bool sorted : {false, true}) {
      Case c = LargeCase(60'000, weighted, sorted);
      for (const double share : {0.01, 0.3, 1.0, 9.0}) {
        SCOPED_TRACE(testing::Message() << weighted << sorted << " " << share);
        Case scaled = c;
        scaled.capacity *= share;
        AllocationOptions options;
        options.precision = Precision::kFast;
        const Allocation fast = Solve(scaled, options);
        ASSERT_TRUE(fast.fast);
        options.precision = Precision::kExact;
        const Allocation exact = Solve(scaled, options);
        ASSERT_FALSE(exact.fast);
        double objective = 0;
        for (size_t i = 0; i < c.rate.size(); ++i)
          objective += c.w(i) * Freshness(c.rate[i], fast.frequency[i]);
        EXPECT_NEAR(objective, exact.objective, 1e-7 * exact.objective);
        EXPECT_NEAR(fast.objective, objective, 1e-7 * exact.objective) << "as reported";
        EXPECT_NEAR(fast.price, exact.price, 1e-5 * exact.price);
        EXPECT_EQ(fast.saturated_servers, exact.saturated_servers);
        ExpectLimitsHold(scaled, fast);
      }
    }
  }
}

TEST(FastAllocationTest, FallsBackWhereFloatsDoNotReach) {
  for (const double rate : {1e-25, 1e25}) {
    Case c = LargeCase(2000, false, false);
    c.rate[7] = rate;
    AllocationOptions options;
    options.precision = Precision::kFast;
    const Allocation a = Solve(c, options);
    EXPECT_FALSE(a.fast);
    ExpectLimitsHold(c, a);
  }
}

TEST(FastAllocationTest, EveryInstructionSetComputesTheSame) {
  const Case c = LargeCase(5003, true, true);
  std::vector<float> rate(c.rate.begin(), c.rate.end());
  std::vector<float> ratio(c.rate.size());
  for (size_t i = 0; i < ratio.size(); ++i) ratio[i] = static_cast<float>(c.rate[i] / c.weight[i]);
  const FastKernels& baseline = *KernelsNamed("baseline");
  for (const char* name : {"avx2", "avx512"}) {
    const FastKernels* kernels = KernelsNamed(name);
    if (kernels == nullptr) continue;
    for (const float price : {1e-6F, 1e-3F, 0.4F, 3.0F}) {
      const Demand expected = baseline.at(rate.data(), ratio.data(), rate.size(), price);
      const Demand got = kernels->at(rate.data(), ratio.data(), rate.size(), price);
      EXPECT_EQ(got.rate, expected.rate) << name << " " << price;
      EXPECT_EQ(got.slope, expected.slope) << name << " " << price;
    }
  }
}

TEST(AllocationTest, ResultIsTheSameForEveryNumberOfThreads) {
  const Case c = LargeCase(120'000, true, false);
  for (const Precision precision : {Precision::kFast, Precision::kExact}) {
    AllocationOptions options;
    options.precision = precision;
    options.threads = 1;
    const Allocation one = Solve(c, options);
    for (const int threads : {2, 3, 7}) {
      options.threads = threads;
      const Allocation many = Solve(c, options);
      EXPECT_EQ(
          std::memcmp(one.frequency.data(), many.frequency.data(), c.rate.size() * sizeof(double)),
          0);
      EXPECT_EQ(one.server_price, many.server_price);
      EXPECT_EQ(one.objective, many.objective);
      EXPECT_EQ(one.price, many.price);
    }
  }
}

}  // namespace
}  // namespace escalona::revisit

// Freshness, its derivative and their inverses, against values of high precision.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "escalona/allocation.h"
#include "reference_values.h"

namespace escalona::revisit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();


TEST(FreshnessTest, GMatchesHighPrecision) {
  for (const GValue& value : kGValues) {
    EXPECT_LT(std::abs(G(value.x) / value.g - 1), 4e-15) << value.x;
  }
}

TEST(FreshnessTest, InverseGUndoesG) {
  for (double x = 1e-150; x < 20; x *= 1.07) {
    const double y = G(x);
    // Near 1, y holds x only to its own rounding.
    const double slope = x * x * std::exp(-x) / y;
    EXPECT_LT(std::abs(InverseG(y) / x - 1), 1e-14 + 3e-16 / slope) << x;
  }
  EXPECT_EQ(InverseG(0), 0);
  EXPECT_EQ(InverseG(1), kInfinity);
  EXPECT_EQ(InverseG(2), kInfinity);
}

TEST(FreshnessTest, BeliefGMatchesHighPrecision) {
  for (const BeliefGValue& value : kBeliefGValues) {
    EXPECT_LT(std::abs(BeliefG(value.alpha, value.z) / value.g - 1), 1e-13) << value.alpha << " " << value.z;
    EXPECT_LT(std::abs(InverseBeliefG(value.alpha, value.g) / value.z - 1), 1e-12)
        << value.alpha << " " << value.z;
  }
  EXPECT_EQ(InverseBeliefG(3, 0.5), kInfinity) << "the supremum is 1/(alpha - 1)";
  EXPECT_EQ(InverseBeliefG(0.5, 0), 0);
}

TEST(FreshnessTest, HoldsAtTheEdges) {
  EXPECT_EQ(Freshness(0, 0), 1);
  EXPECT_EQ(Freshness(0, 5), 1);
  EXPECT_EQ(Freshness(3, 0), 0);
  EXPECT_EQ(MarginalFreshness(0, 1), 0);
  EXPECT_EQ(MarginalFreshness(4, 0), 0.25);
  EXPECT_NEAR(Freshness(1e-300, 1), 1, 1e-15);
  EXPECT_DOUBLE_EQ(Freshness(1e12, 1), 1e-12);
  EXPECT_EQ(PoissonFreshness(0, 0), 1);
  EXPECT_EQ(PoissonFreshness(1, 0), 0);
  EXPECT_DOUBLE_EQ(PoissonFreshness(1, 3), 0.75);
  EXPECT_DOUBLE_EQ(BeliefMarginal(3, 8, 0), 4);
  EXPECT_EQ(BeliefMarginal(1, 8, 0), kInfinity);
}

TEST(FreshnessTest, WorkedExampleHasItsFreshness) {
  EXPECT_NEAR(Freshness(0.02, 1. / 40), 0.688338794853473, 1e-15);
  EXPECT_NEAR(Freshness(1. / 30, 1. / 60), 0.4323323583816937, 1e-15);
}

TEST(FreshnessTest, MarginalIsTheDerivative) {
  for (const double f : {0.05, 0.3, 1.0, 8.0}) {
    const double h = 1e-5 * f;
    EXPECT_NEAR(MarginalFreshness(0.7, f), (Freshness(0.7, f + h) - Freshness(0.7, f - h)) / (2 * h), 1e-8);
    for (const double alpha : {0.4, 1.0, 3.0}) {
      EXPECT_NEAR(BeliefMarginal(alpha, 2, f),
                  (BeliefFreshness(alpha, 2, f + h) - BeliefFreshness(alpha, 2, f - h)) / (2 * h), 1e-8);
    }
  }
}

TEST(FreshnessTest, ACertainBeliefIsARate) {
  for (const double f : {0.05, 0.3, 1.0, 8.0}) {
    EXPECT_NEAR(BeliefFreshness(0.7e10, 1e10, f), Freshness(0.7, f), 1e-9);
    EXPECT_NEAR(BeliefMarginal(0.7e10, 1e10, f), MarginalFreshness(0.7, f), 1e-9);
  }
}

TEST(FreshnessTest, BeliefFreshnessIsTheMeanOverTheGammaDistribution) {
  // Trapezoids in t = log(rate); the density falls off doubly exponentially, so they converge fast.
  const double alpha = 1.7;
  const double beta = 3;
  for (const double f : {0.1, 1.0}) {
    double mean = 0;
    double total = 0;
    for (double t = -30; t < 5; t += 1. / 64) {
      const double rate = std::exp(t);
      const double density = std::exp(alpha * t - beta * rate);
      mean += density * Freshness(rate, f);
      total += density;
    }
    EXPECT_NEAR(BeliefFreshness(alpha, beta, f), mean / total, 1e-9);
  }
}

}  // namespace
}  // namespace escalona::revisit

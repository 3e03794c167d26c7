// Freshness of one page, its derivative and the inverse of that: the functions allocation rests on.
#include <algorithm>
#include <cmath>
#include <limits>

#include "escalona/allocation.h"

namespace escalona::revisit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Below this x, 1 - (1+x)exp(-x) cancels; the series has converged to the last bit in 18 terms.
constexpr double kSeriesBelow = 0.5;

double SeriesG(double x) {
  // sum over k >= 2 of (-1)^k (k-1)/k! x^k
  double power = 0.5;  // 1/k! x^(k-2)
  double sum = 0.5;
  for (int k = 3; k <= 18; ++k) {
    power *= -x / k;
    sum += power * (k - 1);
  }
  return sum * x * x;
}

// x/s with s = sqrt(2(x - log(1+x))): rational minimax fit, relative error 1.9e-8 for s <= 8.7.
double StartRatio(double s) {
  const double p =
      0.99999998116450298 +
      s * (0.82110238111146368 +
           s * (0.28295667717946315 + s * (0.046668841642070683 + s * 0.0029712451299427517)));
  const double q =
      1 + s * (0.48776834793546272 + s * (0.092593445605787573 + s * 0.0059504300002902694));
  return p / q;
}

// G_alpha(z) for (alpha + 1) z < 0.1, where its two terms cancel:
// alpha z^2 sum over k of (-1)^k (alpha+1)...(alpha+k) / (k! (k+2)) z^k.
double SeriesBeliefG(double alpha, double z) {
  double term = 1;
  double sum = 0.5;
  for (int k = 1; k <= 16; ++k) {
    term *= -(alpha + k) / k * z;
    sum += term / (k + 2);
    if (std::abs(term) < 1e-18) break;
  }
  return alpha * z * z * sum;
}

// (1 - (1+z)^(1-alpha))/(alpha-1) from u = log(1+z): u itself at alpha = 1.
double Decay(double alpha, double u) {
  const double e = (alpha - 1) * u;
  if (std::abs(e) < 1e-5) return u * (1 - e / 2 * (1 - e / 3));
  return -std::expm1(-e) / (alpha - 1);
}

}  // namespace

double G(double x) noexcept {
  if (x < kSeriesBelow) return SeriesG(x);
  if (x == kInfinity) return 1;
  return 1 - (1 + x) * std::exp(-x);
}

double InverseG(double y) noexcept {
  if (!(y > 0)) return 0;
  if (y >= 1) return kInfinity;
  const double target = -std::log1p(-y);
  const double s = std::sqrt(2 * target);
  double x = s * StartRatio(s);
  // One Halley step: the error goes from 2e-8 to its cube. g itself is used where x - log(1+x)
  // cancels.
  if (x < kSeriesBelow) {
    const double slope = x * std::exp(-x);
    const double step = (SeriesG(x) - y) / slope;
    x -= step / (1 - step * (1 - x) / (2 * x));
  } else {
    const double step = (x - std::log1p(x) - target) * (1 + x) / x;
    x -= step / (1 - step / (2 * x * (1 + x)));
  }
  return x;
}

double Freshness(double change_rate, double frequency) noexcept {
  if (change_rate == 0) return 1;
  if (frequency == 0) return 0;
  const double x = change_rate / frequency;
  if (x == 0) return 1;
  if (x == kInfinity) return frequency / change_rate;
  return -std::expm1(-x) / x;
}

double MarginalFreshness(double change_rate, double frequency) noexcept {
  if (change_rate == 0) return 0;
  if (frequency == 0) return 1 / change_rate;
  return G(change_rate / frequency) / change_rate;
}

double PoissonFreshness(double change_rate, double frequency) noexcept {
  if (change_rate == 0) return 1;
  if (frequency == 0) return 0;
  return 1 / (1 + change_rate / frequency);
}

double BeliefG(double alpha, double z) noexcept {
  if (z == 0) return 0;
  if (z == kInfinity) return alpha > 1 ? 1 / (alpha - 1) : kInfinity;
  if ((alpha + 1) * z < 0.1) return SeriesBeliefG(alpha, z);
  const double u = std::log1p(z);
  return Decay(alpha, u) - z * std::exp(-alpha * u);
}

double InverseBeliefG(double alpha, double y) noexcept {
  if (!(y > 0)) return 0;
  if (y == kInfinity || (alpha > 1 && y >= 1 / (alpha - 1))) return kInfinity;
  // Newton on log G against t = log z, which is increasing and concave with slopes from 2 down to
  // 0. A bracket guards the steps.
  double t = std::log(2 * y / alpha) / 2;
  double lo = t;  // G(z) < alpha z^2/2, so the root lies to the right
  double hi = kInfinity;
  const double target = std::log(y);
  const double noise = 1e-15 * std::max(1.0, std::abs(target));
  for (int i = 0; i < 200; ++i) {
    const double z = std::exp(t);
    if (z == kInfinity) return kInfinity;
    const double value = BeliefG(alpha, z);
    const double rise = alpha * z * std::exp(-(alpha + 1) * std::log1p(z));  // G'(z)
    const double miss = target - std::log(value);
    if (std::abs(miss) <= noise) return rise > 0 ? z - (value - y) / rise : z;
    (miss > 0 ? lo : hi) = t;
    double next = t + miss * value / (z * rise);
    if (!(next > lo) || !(next < hi)) next = hi == kInfinity ? lo + 2 : (lo + hi) / 2;
    if (next == t) break;
    t = next;
  }
  return std::exp(t);
}

double BeliefFreshness(double alpha, double beta, double frequency) noexcept {
  if (frequency == 0) return 0;
  const double z = 1 / (frequency * beta);
  if (z == 0) return 1;
  if (z == kInfinity) return 0;
  return Decay(alpha, std::log1p(z)) / z;
}

double BeliefMarginal(double alpha, double beta, double frequency) noexcept {
  const double z = frequency == 0 ? kInfinity : 1 / (frequency * beta);
  return beta * BeliefG(alpha, z);
}

}  // namespace escalona::revisit

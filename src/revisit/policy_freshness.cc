// Closed forms of freshness under RANDOM and MERGE, their worst factors, and the channel bounds.
#include "escalona/policy_freshness.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace escalona::revisit {
namespace {

// (f/L) (1 - e), given log e; the shape of every A.
double FreshnessOfLog(double change_rate, double frequency, double log_expectation) {
  return frequency / change_rate * -std::expm1(log_expectation);
}

// log of a^floor(r) (1 - frac(r)(1 - a)): what another page with r visits per visit contributes.
double LogOtherPage(double ratio, double log_a, double one_minus_a) {
  const double whole = std::floor(ratio);
  return whole * log_a + std::log1p(-(ratio - whole) * one_minus_a);
}

double SumOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double MergeFreshnessGiven(double change_rate, size_t page, std::span<const double> frequencies,
                           double server_rate) {
  const double frequency = frequencies[page];
  if (change_rate <= 0) return 1;
  if (frequency <= 0) return 0;
  const double log_a = -change_rate / server_rate;
  const double one_minus_a = -std::expm1(log_a);
  double log_e = log_a;
  for (size_t j = 0; j < frequencies.size(); ++j) {
    if (j != page) log_e += LogOtherPage(frequencies[j] / frequency, log_a, one_minus_a);
  }
  return FreshnessOfLog(change_rate, frequency, log_e);
}

// Power sums of the frequencies below a page's: sum f^k, k = 1..kTerms, relative to the greatest.
constexpr int kTerms = 4;

// For a large server. Pages rarer than i (r < 1) contribute log(1 - r c) = -sum c^k r^k/k, taken
// from power sums; pages more frequent contribute r log a up to a term below c^2 r/4, which over
// all pages changes A by less than c/4, c = 1 - a.
std::vector<double> MergeBySums(std::span<const double> change_rates,
                                std::span<const double> frequencies, double server_rate) {
  const size_t n = frequencies.size();
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return frequencies[a] < frequencies[b]; });
  std::vector<double> result(n);
  double sums[kTerms] = {};  // of f^k over the pages rarer than the current one, over f^k of it
  double previous = 0;
  for (const size_t i : order) {
    const double f = frequencies[i];
    if (f > 0 && previous > 0) {
      double scale = 1;
      for (double& sum : sums) sum *= scale *= previous / f;
    }
    const double log_a = -change_rates[i] / server_rate;
    const double c = -std::expm1(log_a);
    if (change_rates[i] <= 0) {
      result[i] = 1;
    } else if (f > 0) {
      const double more = server_rate / f - sums[0] - 1;  // visits of more frequent pages
      double log_e = log_a * (1 + std::max(more, 0.0));
      double power = 1;
      for (int k = 0; k < kTerms; ++k) log_e -= (power *= c) * sums[k] / (k + 1);
      result[i] = FreshnessOfLog(change_rates[i], f, log_e);
    }
    if (f > 0) {
      for (double& sum : sums) sum += 1;
      previous = f;
    }
  }
  return result;
}

// The minimiser of a function with one minimum in [lo, hi], by golden sections.
template <typename Function>
double Minimise(double lo, double hi, const Function& function) {
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double a = hi - golden * (hi - lo);
  double b = lo + golden * (hi - lo);
  double at_a = function(a);
  double at_b = function(b);
  while (hi - lo > 1e-9 * hi) {
    if (at_a < at_b) {
      hi = b;
      b = a;
      at_b = at_a;
      a = hi - golden * (hi - lo);
      at_a = function(a);
    } else {
      lo = a;
      a = b;
      at_a = at_b;
      b = lo + golden * (hi - lo);
      at_b = function(b);
    }
  }
  return (lo + hi) / 2;
}

}  // namespace

double RandomFreshness(double change_rate, double frequency, double server_rate) noexcept {
  if (change_rate <= 0) return 1;
  if (frequency <= 0) return 0;
  const double share = frequency / server_rate;
  const double e = std::expm1(change_rate / server_rate);
  if (std::isinf(e)) return frequency / change_rate;
  return frequency / change_rate * (e / (share + e));
}

double MergeFreshness(double change_rate, size_t page,
                      std::span<const double> frequencies) noexcept {
  return MergeFreshnessGiven(change_rate, page, frequencies, SumOf(frequencies));
}

std::vector<double> MergeFreshnessOfServer(std::span<const double> change_rates,
                                           std::span<const double> frequencies) {
  const double server_rate = SumOf(frequencies);
  if (frequencies.size() > kMergeExactPages) {
    return MergeBySums(change_rates, frequencies, server_rate);
  }
  std::vector<double> result(frequencies.size());
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = MergeFreshnessGiven(change_rates[i], i, frequencies, server_rate);
  }
  return result;
}

double MergeLowerBound(double change_rate, double frequency, double server_rate) noexcept {
  if (change_rate <= 0) return 1;
  if (frequency <= 0) return 0;
  const double log_a = -change_rate / server_rate;
  const double others = std::max(server_rate - frequency, 0.0) / frequency;
  return FreshnessOfLog(change_rate, frequency, log_a + std::expm1(log_a) * others);
}

double RandomFactor(double changes_per_visit) noexcept {
  if (changes_per_visit <= 0) return 1;
  return changes_per_visit / ((1 + changes_per_visit) * -std::expm1(-changes_per_visit));
}

double MergeFactor(double changes_per_visit, double server_visits) noexcept {
  if (changes_per_visit <= 0) return 1;
  return MergeLowerBound(changes_per_visit, 1, server_visits) * changes_per_visit /
         -std::expm1(-changes_per_visit);
}

WorstFactor WorstRandomFactor() noexcept {
  const double x = Minimise(0.1, 10, RandomFactor);
  return {RandomFactor(x), x, std::numeric_limits<double>::infinity()};
}

WorstFactor WorstMergeFactor() noexcept {
  const auto worst_m = [](double x) {
    return Minimise(1, 20, [x](double m) { return MergeFactor(x, m); });
  };
  const double x = Minimise(0.1, 10, [&](double y) { return MergeFactor(y, worst_m(y)); });
  return {MergeFactor(x, worst_m(x)), x, worst_m(x)};
}

double ChannelChernoffBound(double servers, double excess) noexcept {
  return std::exp(excess - (servers + excess) * std::log1p(excess / servers));
}

double ChannelHoeffdingBound(double servers, double excess) noexcept {
  return std::exp(-2 * excess * excess / servers);
}

double ChannelExcess(double servers, double probability) noexcept {
  return std::sqrt(servers / 2 * -std::log(probability));
}

}  // namespace escalona::revisit

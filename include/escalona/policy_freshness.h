// How fresh a page is under a page-selection policy, in closed form; and how the channel peaks.
//
// Symbols: L = change rate of a page, f = its visits per unit of time, f_s = requests per unit of
// time of its whole server (the sum of f over its pages), A = fraction of time the copy is fresh,
// A* = Freshness(L, f) of allocation.h, reached by evenly spaced visits. The derivations stand in
// docs/revisit-experiment.md. All functions are pure and safe to call from any thread.
#ifndef ESCALONA_POLICY_FRESHNESS_H_
#define ESCALONA_POLICY_FRESHNESS_H_

#include <cstddef>
#include <span>
#include <vector>

namespace escalona::revisit {

// RANDOM: at each of the server's evenly spaced slots page i is drawn with probability f/f_s:
//   A = (f/L) E/(f/f_s + E), E = exp(L/f_s) - 1.
// Requires 0 <= f <= f_s. 1 for L = 0, 0 for f = 0 and L > 0. Always above f/(L + f). O(1).
[[nodiscard]] double RandomFreshness(double change_rate, double frequency,
                                     double server_rate) noexcept;

// MERGE with uniform phases, exactly: page `page` of a server whose pages are visited
// `frequencies` often. With a = exp(-L/f_s), r_j = f_j/f_i and f_s their sum,
//   E[exp(-L U)] = a prod_{j != i} a^floor(r_j) (1 - frac(r_j) (1 - a)),  A = (f/L)(1 - E).
// Requires page < frequencies.size() and entries >= 0. Cost O(frequencies.size()).
[[nodiscard]] double MergeFreshness(double change_rate, size_t page,
                                    std::span<const double> frequencies) noexcept;

// MergeFreshness of every page of one server. Both spans have the same length. Exact, O(n^2), up to
// kMergeExactPages pages; above that O(n log n) by power sums, with an absolute error below
// L_i/(4 f_s) of page i (it falls with the server's size: 1e-4 is ordinary at 10^4 pages).
inline constexpr size_t kMergeExactPages = 1024;
[[nodiscard]] std::vector<double> MergeFreshnessOfServer(std::span<const double> change_rates,
                                                         std::span<const double> frequencies);

// MERGE can do no worse (5-4), whatever the other pages' frequencies:
//   A >= (f/L)(1 - a exp((a - 1)(f_s - f)/f)), a = exp(-L/f_s).
// Requires 0 <= f <= f_s. O(1).
[[nodiscard]] double MergeLowerBound(double change_rate, double frequency,
                                     double server_rate) noexcept;

// How much of A* a policy keeps at least, as a function of the page alone: x = L/f and, for MERGE,
// m = f_s/f >= 1. RandomFactor(x) = inf over m of A/A* = x/((1 + x)(1 - exp(-x))).
// MergeFactor(x, m) = MergeLowerBound/A*.
[[nodiscard]] double RandomFactor(double changes_per_visit) noexcept;
[[nodiscard]] double MergeFactor(double changes_per_visit, double server_visits) noexcept;

// The page on which a policy keeps the least, and how much that is.
struct WorstFactor {
  double factor = 1;             // A/A*
  double changes_per_visit = 0;  // L/f
  double server_visits = 0;      // f_s/f; infinity for RANDOM, whose worst server is endlessly fast
};
// Found by minimising the two functions above; 0.770163 and 0.927230.
[[nodiscard]] WorstFactor WorstRandomFactor() noexcept;
[[nodiscard]] WorstFactor WorstMergeFactor() noexcept;

// Channel peaks: n servers, each asked at evenly spaced times with a uniform phase, make together
// X_t requests in a time t, of mean t f. Bounds on Pr[X_t > t f + x], for every t, x >= 0, n > 0:
// (5-11), from the Chernoff bound: e^x (n/(n + x))^(n + x); and Hoeffding's: exp(-2 x^2/n).
[[nodiscard]] double ChannelChernoffBound(double servers, double excess) noexcept;
[[nodiscard]] double ChannelHoeffdingBound(double servers, double excess) noexcept;

// The excess x that Hoeffding's bound allows with probability `probability` in (0, 1].
[[nodiscard]] double ChannelExcess(double servers, double probability) noexcept;

}  // namespace escalona::revisit

#endif  // ESCALONA_POLICY_FRESHNESS_H_

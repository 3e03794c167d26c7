// What is known of a page's change rate from its visits: beliefs, priors, probes, and the point
// estimators they are compared with.
//
// A belief is a Gamma(alpha, beta) distribution of the rate at which the page changes; beta has the
// unit of time. Allocate (allocation.h) plans with beliefs directly. Everything here is a pure
// function or a plain value: no clock, no I/O; values are not synchronised.
#ifndef ESCALONA_BELIEF_H_
#define ESCALONA_BELIEF_H_

#include <cstdint>
#include <optional>
#include <span>

namespace escalona::revisit {

// Gamma(alpha, beta), both above 0. The default is the global prior, with the day as unit.
struct Belief {
  double alpha = 0.45;
  double beta = 8;

  [[nodiscard]] double mean() const noexcept { return alpha / beta; }
  [[nodiscard]] double variance() const noexcept { return alpha / (beta * beta); }
  friend bool operator==(const Belief&, const Belief&) = default;
};

// Half the memory, for a frontier that keeps one per page; 7 digits are far more than a belief
// knows.
struct PackedBelief {
  float alpha = 0.45F;
  float beta = 8;

  PackedBelief() = default;
  explicit PackedBelief(const Belief& belief) noexcept
      : alpha(static_cast<float>(belief.alpha)), beta(static_cast<float>(belief.beta)) {}
  [[nodiscard]] Belief Unpack() const noexcept { return {alpha, beta}; }
};
static_assert(sizeof(PackedBelief) == 8);

// The belief after a visit, `interval` >= 0 after the one before. A failed fetch is no observation.
[[nodiscard]] Belief AfterUnchanged(const Belief& belief, double interval) noexcept;

// Changed, nothing more known: the Gamma distribution with mean and variance of the exact
// posterior.
[[nodiscard]] Belief AfterChanged(const Belief& belief, double interval) noexcept;

// Changed, and the last change was `age` before this visit, as a trustworthy Last-Modified says. An
// age that is negative, not a number or longer than the interval is not trustworthy: then as
// AfterChanged.
[[nodiscard]] Belief AfterChangedWithAge(const Belief& belief, double interval,
                                         double age) noexcept;

// Forgets: what the belief says beyond `prior` loses half its weight in each `halflife`.
[[nodiscard]] Belief Forget(const Belief& belief, const Belief& prior, double elapsed,
                            double halflife) noexcept;

// The rate that the belief exceeds with probability 1 - p, 0 < p < 1.
[[nodiscard]] double Quantile(const Belief& belief, double p) noexcept;

// The prior of a host (or of everything): the Gamma distribution that explains the beliefs of its
// pages best. This is the maximisation step of empirical Bayes: it matches the means of the rate
// and of its logarithm over the pages. All operations O(1); Remove undoes Add up to rounding.
class PriorPool {
 public:
  void Add(const Belief& belief) noexcept;
  void Remove(const Belief& belief) noexcept;
  [[nodiscard]] double pages() const noexcept { return pages_; }

  // The pooled prior, shrunk to `global` as if `strength` > 0 pages with that belief were pooled
  // too.
  [[nodiscard]] Belief Fit(const Belief& global, double strength = 10) const noexcept;

 private:
  double pages_ = 0;
  double rate_ = 0;      // sum of E[L]
  double log_rate_ = 0;  // sum of E[log L]
};

// Probes. A page seen changed on most visits may change far faster than its visits can tell; a few
// visits soon after the last find out. With probability 0.2 the next interval of a page that
// changed on at least 70 % of fewer than 40 visits is 3 to 10 % of the planned one. `chance` and
// `share` are uniform in [0, 1). Nothing: keep the plan.
[[nodiscard]] std::optional<double> ProbeInterval(uint32_t visits, uint32_t changes,
                                                  double planned_interval, double chance,
                                                  double share) noexcept;

// One visit: the time since the visit before, and what was found. `age` of the last change where a
// trustworthy one is known, else negative.
struct Observation {
  double interval = 0;
  bool changed = false;
  double age = -1;
};

// The belief after all visits, in order.
[[nodiscard]] Belief Learn(Belief prior, std::span<const Observation> visits) noexcept;

// The most likely rate for visits at irregular intervals: 0 when nothing changed, infinity when
// everything changed and no age is known. NaN without visits.
[[nodiscard]] double MaximumLikelihoodRate(std::span<const Observation> visits) noexcept;

// Cho and Garcia-Molina's corrected estimator -log((n - X + 0.5)/(n + 0.5))/(mean interval), X
// changes on n visits. NaN without visits or when all intervals are 0.
[[nodiscard]] double ChoRate(std::span<const Observation> visits) noexcept;
[[nodiscard]] double ChoRate(double visits, double changes, double total_interval) noexcept;

}  // namespace escalona::revisit

#endif  // ESCALONA_BELIEF_H_

// Gamma beliefs, their priors, and the point estimators.
#include "escalona/belief.h"

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <limits>

namespace escalona::revisit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Out of range gives infinity or NaN instead of an exception.
using Quiet = boost::math::policies::policy<
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::rounding_error<boost::math::policies::ignore_error>,
    boost::math::policies::indeterminate_result_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

double MeanLog(const Belief& belief) {
  return boost::math::digamma(belief.alpha, Quiet()) - std::log(belief.beta);
}

bool TrustworthyAge(const Observation& visit) {
  return visit.age >= 0 && visit.age <= visit.interval;
}

}  // namespace

Belief AfterUnchanged(const Belief& belief, double interval) noexcept {
  return {belief.alpha, belief.beta + interval};
}

Belief AfterChanged(const Belief& belief, double interval) noexcept {
  const double alpha = belief.alpha;
  // With r = beta/(beta+t) the posterior's moments hold (1 - r^(alpha+k))/(1 - r^alpha), k = 1, 2.
  const double log_r = -std::log1p(interval / belief.beta);
  const double none = -std::expm1(alpha * log_r);
  if (!(none > 0)) return {alpha + 1, belief.beta};  // the limit of a short interval
  const double first = -std::expm1((alpha + 1) * log_r) / none;
  const double second = -std::expm1((alpha + 2) * log_r) / none;
  // Mean and variance, both times beta and beta^2.
  const double mean = alpha * first;
  const double variance = alpha * ((alpha + 1) * second - alpha * first * first);
  return {mean * mean / variance, belief.beta * mean / variance};
}

Belief AfterChangedWithAge(const Belief& belief, double interval, double age) noexcept {
  if (!TrustworthyAge({interval, true, age})) return AfterChanged(belief, interval);
  return {belief.alpha + 1, belief.beta + age};
}

Belief Forget(const Belief& belief, const Belief& prior, double elapsed, double halflife) noexcept {
  const double kept = std::exp2(-elapsed / halflife);
  return {prior.alpha + kept * (belief.alpha - prior.alpha),
          prior.beta + kept * (belief.beta - prior.beta)};
}

double Quantile(const Belief& belief, double p) {
  return boost::math::gamma_p_inv(belief.alpha, p, Quiet()) / belief.beta;
}

void PriorPool::Add(const Belief& belief) noexcept {
  pages_ += 1;
  rate_ += belief.mean();
  log_rate_ += MeanLog(belief);
}

void PriorPool::Remove(const Belief& belief) noexcept {
  pages_ -= 1;
  rate_ -= belief.mean();
  log_rate_ -= MeanLog(belief);
}

Belief PriorPool::Fit(const Belief& global, double strength) const noexcept {
  const double pages = pages_ + strength;
  const double mean = (rate_ + strength * global.mean()) / pages;
  const double mean_log = (log_rate_ + strength * MeanLog(global)) / pages;
  // log(alpha) - digamma(alpha) = log(mean) - mean_log =: gap > 0, falling in alpha.
  const double gap = std::max(std::log(mean) - mean_log, 1e-9);
  double alpha = (3 - gap + std::sqrt((gap - 3) * (gap - 3) + 24 * gap)) / (12 * gap);
  for (int i = 0; i < 5; ++i) {  // Newton in 1/alpha: the start is within 1.5 %
    const double miss = std::log(alpha) - boost::math::digamma(alpha, Quiet()) - gap;
    const double slope = 1 / alpha - boost::math::trigamma(alpha, Quiet());
    alpha = 1 / (1 / alpha + miss / (alpha * alpha * slope));
  }
  return {alpha, alpha / mean};
}

std::optional<double> ProbeInterval(uint32_t visits, uint32_t changes, double planned_interval,
                                    double chance, double share) noexcept {
  if (visits == 0 || visits >= 40 || changes < 0.7 * visits || chance >= 0.2) return std::nullopt;
  return planned_interval * (0.03 + 0.07 * share);
}

Belief Learn(Belief prior, std::span<const Observation> visits) noexcept {
  for (const Observation& visit : visits) {
    prior = visit.changed ? AfterChangedWithAge(prior, visit.interval, visit.age)
                          : AfterUnchanged(prior, visit.interval);
  }
  return prior;
}

double MaximumLikelihoodRate(std::span<const Observation> visits) noexcept {
  if (visits.empty()) return std::numeric_limits<double>::quiet_NaN();
  // The likelihood's derivative is  sum over changes of t/(exp(Lt) - 1) + known/L - quiet  = 0,
  // where `known` counts changes of known age and `quiet` is time known to be without change.
  double quiet = 0;
  double known = 0;
  double changes = 0;
  for (const Observation& visit : visits) {
    if (!visit.changed) {
      quiet += visit.interval;
    } else if (TrustworthyAge(visit)) {
      quiet += visit.age;
      known += 1;
    } else {
      changes += 1;
    }
  }
  if (known + changes == 0) return 0;
  if (quiet == 0) return kInfinity;
  // t/(exp(Lt)-1) < 1/L bounds the root above. The excess is positive below the root and negative
  // above.
  double low = 0;
  double high = (known + changes) / quiet;
  double rate = high;
  for (int i = 0; i < 200; ++i) {
    double excess = known / rate - quiet;
    double slope = -known / (rate * rate);
    for (const Observation& visit : visits) {
      if (!visit.changed || TrustworthyAge(visit)) continue;
      const double e = std::expm1(rate * visit.interval);
      const double term = visit.interval == 0 ? 1 / rate : visit.interval / e;
      excess += term;
      slope -= visit.interval == 0 ? term / rate : term * term * (e + 1);
    }
    (excess > 0 ? low : high) = rate;
    double next = rate - excess / slope;
    if (!(next > low && next < high)) next = low > 0 ? (low + high) / 2 : high / 16;
    if (std::abs(next - rate) <= 1e-15 * rate) return next;
    rate = next;
  }
  return rate;
}

double ChoRate(double visits, double changes, double total_interval) noexcept {
  if (!(visits > 0 && total_interval > 0)) return std::numeric_limits<double>::quiet_NaN();
  return std::log((visits + 0.5) / (visits - changes + 0.5)) * visits / total_interval;
}

double ChoRate(std::span<const Observation> visits) noexcept {
  double changes = 0;
  double total = 0;
  for (const Observation& visit : visits) {
    changes += visit.changed ? 1 : 0;
    total += visit.interval;
  }
  return ChoRate(static_cast<double>(visits.size()), changes, total);
}

}  // namespace escalona::revisit

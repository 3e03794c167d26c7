// Demand of pages in doubles, for every kind of allocation.
#include <algorithm>
#include <cmath>
#include <limits>

#include "revisit/allocation_internal.h"
#include "revisit/parallel.h"
#include "revisit/price_solver.h"

namespace escalona::revisit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kBlock = 16384;  // pages whose sums are formed at once

// The columns of one page. `value` is w/c, what a unit of the budget is worth.
struct Page {
  double weight, value, cost, lo, hi;
  size_t index;
};

// A frequency and minus its derivative by log(price).
struct Response {
  double frequency, slope;
};

// Each curve says, before clamping to [lo, hi]: the frequency at a price; an envelope e with
// f <= e price^(-kExponent), 0 where f is 0 at any price; the price from which f stays at lo; the
// freshness of a page visited as the kind does.

struct OptimalRate {
  static constexpr double kExponent = 0.5;
  const Problem& problem;

  [[nodiscard]] double Rate(const Page& page) const { return problem.change_rate[page.index]; }
  [[nodiscard]] Response At(const Page& page, double price) const {
    const double rate = Rate(page);
    const double y = price * rate / page.value;
    if (!(y < 1)) return {0, 0};  // also 0/0: neither changes nor counts
    const double x = InverseG(y);
    const double f = rate / x;
    return {f, f * y * (1 + x) / (x * x * (1 - y))};
  }
  [[nodiscard]] double Envelope(const Page& page) const {
    return std::sqrt(Rate(page) / 2) * std::sqrt(page.value);
  }
  [[nodiscard]] double TopPrice(const Page& page) const {
    return page.value * MarginalFreshness(Rate(page), page.lo);
  }
  [[nodiscard]] double FreshnessOf(const Page& page, double f) const {
    return Freshness(Rate(page), f);
  }
};

struct OptimalBelief {
  static constexpr double kExponent = 0.5;
  const Problem& problem;

  [[nodiscard]] Response At(const Page& page, double price) const {
    const double alpha = problem.alpha[page.index];
    const double beta = problem.beta[page.index];
    const double y = price / (page.value * beta);
    const double z = InverseBeliefG(alpha, y);
    const double f = 1 / (z * beta);
    if (!(f > 0)) return {0, 0};
    return {f, f * y * std::exp((alpha + 1) * std::log1p(z)) / (alpha * z * z)};
  }
  [[nodiscard]] double Envelope(const Page& page) const {
    return std::sqrt(problem.alpha[page.index] / problem.beta[page.index] / 2) *
           std::sqrt(page.value);
  }
  [[nodiscard]] double TopPrice(const Page& page) const {
    if (page.value == 0) return 0;
    return page.value *
           BeliefMarginal(problem.alpha[page.index], problem.beta[page.index], page.lo);
  }
  [[nodiscard]] double FreshnessOf(const Page& page, double f) const {
    return BeliefFreshness(problem.alpha[page.index], problem.beta[page.index], f);
  }
};

// The kinds below know a belief by its mean.
double MeanRate(const Problem& problem, const Page& page) {
  if (!problem.change_rate.empty()) return problem.change_rate[page.index];
  return problem.alpha[page.index] / problem.beta[page.index];
}

double EvenFreshness(const Problem& problem, const Page& page, double f) {
  if (!problem.change_rate.empty()) return Freshness(problem.change_rate[page.index], f);
  return BeliefFreshness(problem.alpha[page.index], problem.beta[page.index], f);
}

struct Uniform {
  static constexpr double kExponent = 1;
  const Problem& problem;

  [[nodiscard]] Response At(const Page&, double price) const { return {1 / price, 1 / price}; }
  [[nodiscard]] double Envelope(const Page&) const { return 1; }
  [[nodiscard]] double TopPrice(const Page& page) const { return 1 / page.lo; }
  [[nodiscard]] double FreshnessOf(const Page& page, double f) const {
    return EvenFreshness(problem, page, f);
  }
};

struct Proportional {
  static constexpr double kExponent = 1;
  const Problem& problem;

  [[nodiscard]] Response At(const Page& page, double price) const {
    const double f = MeanRate(problem, page) / price;
    return f > 0 ? Response{f, f} : Response{0, 0};
  }
  [[nodiscard]] double Envelope(const Page& page) const { return MeanRate(problem, page); }
  [[nodiscard]] double TopPrice(const Page& page) const {
    const double rate = MeanRate(problem, page);
    return rate == 0 ? 0 : rate / page.lo;
  }
  [[nodiscard]] double FreshnessOf(const Page& page, double f) const {
    return EvenFreshness(problem, page, f);
  }
};

struct BinaryLambda {
  static constexpr double kExponent = 0.5;
  const Problem& problem;

  [[nodiscard]] Response At(const Page& page, double price) const {
    const double rate = MeanRate(problem, page);
    const double root = std::sqrt(rate) * std::sqrt(page.value) / std::sqrt(price);
    if (!(root > rate)) return {0, 0};
    return {root - rate, root / 2};
  }
  [[nodiscard]] double Envelope(const Page& page) const {
    return std::sqrt(MeanRate(problem, page)) * std::sqrt(page.value);
  }
  [[nodiscard]] double TopPrice(const Page& page) const {
    const double rate = MeanRate(problem, page);
    return rate == 0 ? 0 : page.value / (rate + page.lo) * (rate / (rate + page.lo));
  }
  [[nodiscard]] double FreshnessOf(const Page& page, double f) const {
    return PoissonFreshness(MeanRate(problem, page), f);
  }
};

template <typename Curve>
class ExactDemand final : public PageDemand {
 public:
  ExactDemand(const Problem& problem, const PageOrder& order, int threads)
      : problem_(problem), order_(order), threads_(threads), curve_{problem} {}

  [[nodiscard]] double exponent() const override { return Curve::kExponent; }

  [[nodiscard]] DemandLimits Limits(size_t begin, size_t end) const override {
    DemandLimits sum;
    for (size_t k = begin; k < end; ++k) {
      const Page page = PageOf(order_.PageAt(k));
      const double envelope = curve_.Envelope(page);
      const bool grows = envelope > 0 && page.hi > page.lo;
      sum.envelope += grows ? page.cost * envelope : 0;
      if (grows) sum.top_price = std::max(sum.top_price, curve_.TopPrice(page));
      sum.least += page.cost * page.lo;
      sum.most += page.cost * (grows ? page.hi : page.lo);
    }
    return sum;
  }

  [[nodiscard]] Demand At(size_t begin, size_t end, double price) const override {
    Demand sum;
    for (size_t k = begin; k < end; ++k) {
      const Page page = PageOf(order_.PageAt(k));
      const Response response = Clamped(page, price);
      sum.rate += page.cost * response.frequency;
      sum.slope += page.cost * response.slope;
    }
    return sum;
  }

  Assigned Assign(std::span<const Mix> mix, double* frequency) const override {
    const size_t blocks = (order_.pages() + kBlock - 1) / kBlock;
    std::vector<Assigned> partial(blocks);
    ParallelFor(threads_, blocks, [&](size_t block) {
      const size_t end = std::min(order_.pages(), (block + 1) * kBlock);
      for (size_t i = block * kBlock; i < end; ++i) {
        const Page page = PageOf(i);
        frequency[i] = Mixed(page, mix[order_.ServerOf(i)]);
        partial[block].weight += page.weight;
        if (page.weight == 0) continue;
        partial[block].objective += page.weight * curve_.FreshnessOf(page, frequency[i]);
      }
    });
    Assigned sum;
    for (const Assigned& part : partial) sum.Add(part);
    return sum;
  }

 private:
  [[nodiscard]] Page PageOf(size_t i) const {
    Page page{1, 1, 1, 0, kInfinity, i};
    if (!problem_.weight.empty()) page.weight = problem_.weight[i];
    if (!problem_.cost.empty()) page.cost = problem_.cost[i];
    if (!problem_.lo.empty()) page.lo = problem_.lo[i];
    if (!problem_.hi.empty()) page.hi = problem_.hi[i];
    page.value = page.weight / page.cost;
    return page;
  }

  [[nodiscard]] Response Clamped(const Page& page, double price) const {
    if (curve_.Envelope(page) == 0) return {page.lo, 0};
    const Response response = curve_.At(page, price);
    if (!(response.frequency > page.lo)) return {page.lo, 0};
    if (!(response.frequency < page.hi)) return {page.hi, 0};
    return response;
  }

  [[nodiscard]] double Mixed(const Page& page, const Mix& mix) const {
    const double high = mix.share < 1 ? Clamped(page, mix.high).frequency : 0;
    if (mix.share == 0) return high;
    const double low = Clamped(page, mix.low).frequency;
    return (1 - mix.share) * high + mix.share * (page.lo + mix.scale * (low - page.lo));
  }

  const Problem& problem_;
  const PageOrder& order_;
  const int threads_;
  const Curve curve_;
};

// The targets leave room for rounding. This makes sure of the limits, whatever a lower bound asks
// for.
void EnforceLimits(const Problem& problem, const PageOrder& order, const std::vector<double>& cap,
                   Allocation& result) {
  std::vector<double> rate(cap.size(), 0);
  double total = 0;
  const auto cost = [&](size_t i) { return problem.cost.empty() ? 1 : problem.cost[i]; };
  const auto below = [](double limit, size_t n) {
    return limit * (1 - static_cast<double>(n) * 0x1p-53);
  };
  for (size_t i = 0; i < order.pages(); ++i) {
    rate[order.ServerOf(i)] += cost(i) * result.frequency[i];
    total += cost(i) * result.frequency[i];
  }
  const double all = std::min(1.0, below(problem.capacity, order.pages() + 4) / total);
  bool exceeded = total > below(problem.capacity, order.pages());
  std::vector<double> factor(cap.size(), 1);
  for (size_t s = 0; s < cap.size(); ++s) {
    if (rate[s] > below(cap[s], order.size(s))) {
      factor[s] = below(cap[s], order.size(s) + 4) / rate[s];
      exceeded = true;
    }
    if (total > 0) factor[s] = std::min(factor[s], all);
  }
  if (!exceeded) return;
  for (size_t i = 0; i < order.pages(); ++i) result.frequency[i] *= factor[order.ServerOf(i)];
}

template <typename Curve>
void SolveWith(const Problem& problem, const PageOrder& order, const std::vector<double>& cap,
               int threads, Allocation& result) {
  SolverOptions options;
  options.threads = threads;
  const ExactDemand<Curve> demand(problem, order, threads);
  const std::vector<Mix> mix = SolvePrices(demand, order, cap, problem.capacity, options, result);
  result.frequency = PageArray(problem.pages());
  const Assigned assigned = demand.Assign(mix, result.frequency.data());
  result.objective = assigned.objective;
  result.total_weight = assigned.weight;
  EnforceLimits(problem, order, cap, result);
}

}  // namespace

void AllocateExact(const Problem& problem, PageOrder& order, const std::vector<double>& cap,
                   AllocationKind kind, int threads, Allocation& result) {
  order.Permute();
  switch (kind) {
    case AllocationKind::kOptPolite:
    case AllocationKind::kUnpolite:
      if (problem.change_rate.empty()) {
        return SolveWith<OptimalBelief>(problem, order, cap, threads, result);
      }
      return SolveWith<OptimalRate>(problem, order, cap, threads, result);
    case AllocationKind::kUniform:
      return SolveWith<Uniform>(problem, order, cap, threads, result);
    case AllocationKind::kChangeProportional:
      return SolveWith<Proportional>(problem, order, cap, threads, result);
    case AllocationKind::kPoliteBinaryLambda:
      return SolveWith<BinaryLambda>(problem, order, cap, threads, result);
  }
}

}  // namespace escalona::revisit

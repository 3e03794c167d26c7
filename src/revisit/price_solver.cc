// Rounds of guarded steps towards the prices.
#include "revisit/price_solver.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "revisit/parallel.h"

namespace escalona::revisit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnitRoundoff = 0x1p-53;
constexpr double kGreatestPrice = 1e300;
constexpr int kMaxRounds = 300;
constexpr size_t kTaskPages = 32768;

// Samples only tell where to start.
constexpr size_t kSampleFrom = 100'000;
constexpr size_t kLeastSample = 1024;
constexpr int kMaxSampleRounds = 40;
constexpr SolverOptions kSampleOptions = {.rate_tolerance = 1e-3, .price_tolerance = 1e-4};

// What is left of a limit when the sum of n terms may come out too large by n roundings, and each
// term by a few.
double BelowLimit(double limit, size_t n) {
  return limit * (1 - (2 * static_cast<double>(n) + 8) * kUnitRoundoff);
}

// The search for the price at which a falling demand meets a target.
//
// Invariant: demand(low) > target >= demand(high); low is 0 and high infinity until seen.
class PriceSearch {
 public:
  PriceSearch() = default;
  PriceSearch(double target, double least, const SolverOptions& options)
      : options_(&options), target_(std::max(target, least)), least_(least) {}

  // The price to be looked at next.
  [[nodiscard]] double price() const { return price_; }
  [[nodiscard]] bool done() const { return done_; }
  // Done at one price, not between two.
  [[nodiscard]] bool met() const { return done_ && mix_.low == mix_.high; }
  [[nodiscard]] const Mix& mix() const { return mix_; }
  [[nodiscard]] double rate() const { return rate_; }

  void StartAt(double price) { price_ = price; }
  // Looks at `price` next, if it can be the one searched.
  void Suggest(double price) {
    if (price > low_ && price < high_) price_ = price;
  }

  // Other tolerances from here on. `options` must outlive the search.
  void Loosen(const SolverOptions& options) { options_ = &options; }

  // Takes the demand at price() and moves on. Returns true when the price is found.
  bool Observe(const Demand& demand) {
    const double excess = demand.rate - target_;
    if (std::abs(excess) <= options_->rate_tolerance * target_) return Meet(demand.rate);
    if (excess > 0) {
      low_ = price_;
      low_rate_ = demand.rate;
    } else {
      high_ = price_;
      high_rate_ = demand.rate;
    }
    if (high_ < kInfinity && high_ - low_ <= options_->price_tolerance * high_) return Bridge();
    const double next = Next(demand);
    if (!(next > low_ && next < high_)) return Bridge();
    price_ = next;
    return false;
  }

 private:
  bool Meet(double rate) {
    mix_ = {price_, price_, 0, 1};
    rate_ = std::min(rate, target_);
    if ((rate > target_ || options_->scale_up) && rate > least_) {
      rate_ = target_;
      mix_.share = 1;
      mix_.scale = (target_ - least_) / (rate - least_);
    }
    return done_ = true;
  }

  bool Bridge() {
    mix_ = {low_, high_, (target_ - high_rate_) / (low_rate_ - high_rate_), 1};
    rate_ = target_;
    price_ = high_;
    return done_ = true;
  }

  // Where the curve of log(price) over log(rate) is expected to meet the target: by the cubic
  // through the last two points and their slopes, or by the tangent while there is one point, or
  // the cubic would reach far out.
  double Predict(const Demand& demand) {
    const Point here{std::log(demand.rate), std::log(price_), -demand.rate / demand.slope};
    const Point before = std::exchange(last_, here);
    const double target = std::log(target_);
    const double step = here.rate - before.rate;
    const double s = (target - before.rate) / step;
    if (!(s > -1 && s < 2)) return std::exp(here.price + (target - here.rate) * here.slope);
    const double r = 1 - s;
    return std::exp((1 + 2 * s) * r * r * before.price + s * r * r * step * before.slope +
                    s * s * (3 - 2 * s) * here.price - s * s * r * step * here.slope);
  }

  double Next(const Demand& demand) {
    double next = Predict(demand);
    const double width = high_ / low_;  // infinite until both ends are seen
    stalled_ = width < kInfinity && std::log(width) > std::log(width_) / 2 ? stalled_ + 1 : 0;
    width_ = width;
    if (next > low_ && next < high_ && stalled_ < 3) return next;
    stalled_ = 0;
    if (low_ == 0) return high_ / 16;
    if (high_ == kInfinity) return low_ * 16;
    next = low_ * std::sqrt(width);
    return next > low_ && next < high_ ? next : low_ + (high_ - low_) / 2;
  }

  // Logarithms of a rate and its price, and the slope of the latter.
  struct Point {
    double rate, price, slope;
  };

  const SolverOptions* options_ = nullptr;
  Point last_{NAN, NAN, NAN};
  double target_ = 0;
  double least_ = 0;
  double price_ = 0;
  double low_ = 0;
  double high_ = kInfinity;
  double low_rate_ = 0;
  double high_rate_ = 0;
  double width_ = kInfinity;
  int stalled_ = 0;
  bool done_ = false;
  double rate_ = 0;
  Mix mix_;
};

// A part of a pass: whole servers active[first..last), or one block of the server active[first].
struct Task {
  size_t first, last;
  size_t begin, end;
};

class Solver {
 public:
  Solver(const PageDemand& demand, const PageOrder& order, const std::vector<double>& cap,
         double capacity, const SolverOptions& options, Allocation& result)
      : demand_(demand),
        order_(order),
        options_(options),
        raw_cap_(cap),
        capacity_(capacity),
        result_(result),
        cap_(cap) {
    for (size_t s = 0; s < cap_.size(); ++s) cap_[s] = BelowLimit(cap[s], order.size(s));
  }

  std::vector<Mix> Solve() {
    const size_t servers = cap_.size();
    std::vector<uint32_t> all(servers);
    for (size_t s = 0; s < servers; ++s) all[s] = static_cast<uint32_t>(s);
    limits_.resize(servers);
    Pass(std::span<const uint32_t>(all), limits_,
         [&](uint32_t, size_t begin, size_t end) { return demand_.Limits(begin, end); });
    for (const DemandLimits& limits : limits_) total_.Add(limits);
    mix_.resize(servers);
    result_.saturated.assign(servers, 0);
    result_.server_price.assign(servers, 0);
    result_.server_rate.assign(servers, 0);
    if (!CapacityIsAmple()) FindPrice(std::move(all));
    FindServerPrices();
    result_.total_rate = 0;
    for (const double rate : result_.server_rate) result_.total_rate += rate;
    return std::move(mix_);
  }

 private:
  // Calls evaluate(server, begin, end) for all pages of the servers in `active`, in parallel, and
  // stores the sum for each server in out[server].
  template <typename T, typename Evaluate>
  void Pass(std::span<const uint32_t> active, std::vector<T>& out, const Evaluate& evaluate) {
    std::vector<Task> tasks;
    for (size_t i = 0; i < active.size();) {
      const size_t first = i;
      if (order_.size(active[i]) > kTaskPages) {
        for (size_t at = order_.begin(active[i]); at < order_.end(active[i]); at += kTaskPages) {
          tasks.push_back({i, i, at, std::min(at + kTaskPages, order_.end(active[i]))});
        }
        ++i;
        continue;
      }
      for (size_t pages = 0; i < active.size() && pages + order_.size(active[i]) <= kTaskPages;
           ++i) {
        pages += order_.size(active[i]) + 1;
      }
      i = std::max(i, first + 1);
      tasks.push_back({first, i, 0, 0});
    }
    std::vector<T> partial(tasks.size());
    ParallelFor(options_.threads, tasks.size(), [&](size_t t) {
      const Task& task = tasks[t];
      if (task.first == task.last) {
        partial[t] = evaluate(active[task.first], task.begin, task.end);
        return;
      }
      for (size_t i = task.first; i < task.last; ++i) {
        const uint32_t s = active[i];
        out[s] = evaluate(s, order_.begin(s), order_.end(s));
      }
    });
    for (size_t t = 0; t < tasks.size(); ++t) {
      const Task& task = tasks[t];
      if (task.first != task.last) continue;
      T& sum = out[active[task.first]];
      if (task.begin == order_.begin(active[task.first])) sum = T{};
      sum.Add(partial[t]);
    }
  }

  // An upper bound of the price at which `limits` let the demand fall to `target`.
  [[nodiscard]] double HighPrice(const DemandLimits& limits, double target) const {
    if (target <= limits.least) return limits.top_price;
    const double ratio = limits.envelope / (target - limits.least);
    return std::min({limits.top_price, kGreatestPrice, std::pow(ratio, 1 / demand_.exponent())});
  }

  void Saturate(uint32_t s) {
    result_.saturated[s] = 1;
    ++result_.saturated_servers;
    saturated_.push_back(s);
    searches_.emplace_back(cap_[s], limits_[s].least, options_);
  }

  // Price 0: every server at its limit, or at its greatest demand. False when capacity is short.
  bool CapacityIsAmple() {
    double reach = 0;
    double reach_below = 0;
    for (size_t s = 0; s < cap_.size(); ++s) {
      reach += std::min(raw_cap_[s], limits_[s].most);
      reach_below += std::min(cap_[s], limits_[s].most);
    }
    if (capacity_ < reach * (1 - 1e-13)) return false;
    const double shrink = std::min(1.0, BelowLimit(capacity_, order_.pages()) / reach_below);
    for (uint32_t s = 0; s < cap_.size(); ++s) {
      if (reach_below > 0 && capacity_ < kInfinity) cap_[s] *= shrink;
      if (limits_[s].most <= raw_cap_[s]) {  // its mix at price 0 gives each page its most
        result_.server_rate[s] = limits_[s].most;
        continue;
      }
      Saturate(s);
      searches_.back().StartAt(HighPrice(limits_[s], cap_[s]));
    }
    return true;
  }

  // The price of the capacity, and which servers are at their limits at that price.
  void FindPrice(std::vector<uint32_t> open) {
    const double target = BelowLimit(capacity_, order_.pages());
    if (target <= total_.least || total_.envelope == 0) {
      result_.price = total_.top_price;
      std::fill(mix_.begin(), mix_.end(), Mix{result_.price, result_.price, 0, 1});
      std::fill(result_.server_price.begin(), result_.server_price.end(), result_.price);
      for (size_t s = 0; s < cap_.size(); ++s) result_.server_rate[s] = limits_[s].least;
      return;
    }
    PriceSearch search(target, total_.least, options_);
    search.StartAt(HighPrice(total_, target));
    if (order_.pages() >= kSampleFrom) search.Suggest(SampledPrice(open, search));
    std::vector<Demand> at(cap_.size());
    std::vector<double> low_rate(cap_.size());
    std::vector<double> high_rate(cap_.size());
    double fixed = 0;  // rate of the servers found to be at their limits
    for (int round = 0; round < kMaxRounds && !search.done(); ++round) {
      const double price = search.price();
      Pass(std::span<const uint32_t>(open), at,
           [&](uint32_t, size_t begin, size_t end) { return demand_.At(begin, end, price); });
      Demand total{fixed, 0};
      for (const uint32_t s : open) {
        if (at[s].rate > cap_[s]) {
          total.rate += cap_[s];
        } else {
          total.Add(at[s]);
        }
      }
      const bool high = total.rate <= target;
      search.Observe(total);
      for (const uint32_t s : open) (high ? high_rate : low_rate)[s] = at[s].rate;
      if (search.met()) low_rate = high_rate = Rates(at);
      if (high || search.met()) fixed += Fix(open, at, price);
    }
    SettleOpen(open, search, low_rate, high_rate);
  }

  static std::vector<double> Rates(const std::vector<Demand>& at) {
    std::vector<double> rates(at.size());
    for (size_t s = 0; s < at.size(); ++s) rates[s] = at[s].rate;
    return rates;
  }

  // How many pages of a server stand for all of it.
  [[nodiscard]] size_t SampleSize(uint32_t s) const {
    return std::min(order_.size(s), std::clamp(order_.size(s) / 32, kLeastSample, kTaskPages));
  }

  // The demand of a server as its first pages suggest it, for one block of a pass.
  [[nodiscard]] Demand SampledAt(uint32_t s, size_t begin, double price) const {
    if (begin != order_.begin(s)) return {};
    const Demand sample = demand_.At(begin, begin + SampleSize(s), price);
    const double scale = static_cast<double>(order_.size(s)) / static_cast<double>(SampleSize(s));
    return {sample.rate * scale, sample.slope * scale};
  }

  // The price of the capacity as a sample of the pages suggests it: where the search is to start.
  double SampledPrice(const std::vector<uint32_t>& open, PriceSearch search) {
    search.Loosen(kSampleOptions);
    std::vector<Demand> at(cap_.size());
    for (int round = 0; round < kMaxSampleRounds && !search.done(); ++round) {
      const double price = search.price();
      Pass(std::span<const uint32_t>(open), at,
           [&](uint32_t s, size_t begin, size_t) { return SampledAt(s, begin, price); });
      Demand total;
      for (const uint32_t s : open) {
        total.Add(at[s].rate > cap_[s] ? Demand{cap_[s], 0} : at[s]);
      }
      search.Observe(total);
    }
    return search.price();
  }

  // The same for the large ones among the servers at their limits.
  void SuggestServerPrices(const std::vector<uint32_t>& saturated,
                           const std::vector<size_t>& search_of) {
    std::vector<uint32_t> open;
    std::vector<PriceSearch> samples = searches_;
    for (const uint32_t s : saturated) {
      if (order_.size(s) <= 4 * kLeastSample) continue;
      open.push_back(s);
      samples[search_of[s]].Loosen(kSampleOptions);
    }
    std::vector<Demand> at(open.empty() ? 0 : cap_.size());
    for (int round = 0; round < kMaxSampleRounds && !open.empty(); ++round) {
      Pass(std::span<const uint32_t>(open), at, [&](uint32_t s, size_t begin, size_t) {
        return SampledAt(s, begin, samples[search_of[s]].price());
      });
      std::erase_if(open, [&](uint32_t s) {
        PriceSearch& sample = samples[search_of[s]];
        if (!sample.Observe(at[s])) return false;
        searches_[search_of[s]].Suggest(sample.price());
        return true;
      });
    }
  }

  // Moves the open servers that exceed their limits at `price`, which is at or above the price
  // searched, to their own searches. Returns the sum of their limits.
  double Fix(std::vector<uint32_t>& open, const std::vector<Demand>& at, double price) {
    double fixed = 0;
    size_t kept = 0;
    for (const uint32_t s : open) {
      if (at[s].rate <= cap_[s]) {
        open[kept++] = s;
        continue;
      }
      fixed += cap_[s];
      Saturate(s);
      searches_.back().StartAt(price);
      searches_.back().Observe(at[s]);
    }
    open.resize(kept);
    return fixed;
  }

  // One price for all open servers, scaled so that they take what the saturated ones leave.
  Mix MetMix(const std::vector<uint32_t>& open, double price,
             const std::vector<double>& rates) const {
    double room = BelowLimit(capacity_, order_.pages());
    for (const uint32_t s : saturated_) room -= cap_[s];
    double above_least = 0;
    for (const uint32_t s : open) {
      room -= limits_[s].least;
      above_least += rates[s] - limits_[s].least;
    }
    Mix mix{price, price, 0, 1};
    if (above_least > 0 && (options_.scale_up || above_least > room)) {
      mix.share = 1;
      mix.scale = std::max(0.0, room / above_least);
    }
    return mix;
  }

  void SettleOpen(const std::vector<uint32_t>& open, const PriceSearch& search,
                  const std::vector<double>& low_rate, const std::vector<double>& high_rate) {
    result_.price = search.price();
    Mix shared = search.mix();
    if (search.met()) shared = MetMix(open, result_.price, low_rate);
    for (const uint32_t s : open) {
      Mix mix = shared;
      const double least = limits_[s].least;
      const double room = cap_[s] - least;
      const double low = low_rate[s] - least;
      if (mix.low != mix.high && low > room) {
        // Between two prices it was counted with its limit at the lower one. All its pages but the
        // one whose demand jumps are content there: only their share may shrink.
        mix.share *= (cap_[s] - high_rate[s]) / (low_rate[s] - high_rate[s]);
      } else if (mix.share > 0 && mix.scale * low > room) {
        mix.scale = room / low;
      }
      mix_[s] = mix;
      result_.server_price[s] = result_.price;
      result_.server_rate[s] =
          (1 - mix.share) * high_rate[s] + mix.share * (least + mix.scale * low);
    }
  }

  // The own price of each saturated server.
  void FindServerPrices() {
    std::vector<uint32_t> open;
    std::vector<size_t> search_of(cap_.size());
    for (size_t i = 0; i < saturated_.size(); ++i) {
      search_of[saturated_[i]] = i;
      if (!searches_[i].done()) open.push_back(saturated_[i]);
    }
    std::sort(open.begin(), open.end());  // so that a pass goes through memory once
    if (order_.pages() >= kSampleFrom) SuggestServerPrices(open, search_of);
    std::vector<Demand> at(open.empty() ? 0 : cap_.size());
    for (int round = 0; round < kMaxRounds && !open.empty(); ++round) {
      Pass(std::span<const uint32_t>(open), at, [&](uint32_t s, size_t begin, size_t end) {
        return demand_.At(begin, end, searches_[search_of[s]].price());
      });
      std::erase_if(open, [&](uint32_t s) { return searches_[search_of[s]].Observe(at[s]); });
    }
    for (size_t i = 0; i < saturated_.size(); ++i) {
      mix_[saturated_[i]] = searches_[i].mix();
      result_.server_price[saturated_[i]] = searches_[i].price();
      result_.server_rate[saturated_[i]] = searches_[i].rate();
    }
  }

  const PageDemand& demand_;
  const PageOrder& order_;
  const SolverOptions& options_;
  const std::vector<double>& raw_cap_;
  const double capacity_;
  Allocation& result_;
  std::vector<double> cap_;  // raw_cap_ less the room for rounding
  std::vector<DemandLimits> limits_;
  DemandLimits total_;
  std::vector<Mix> mix_;
  std::vector<uint32_t> saturated_;
  std::vector<PriceSearch> searches_;  // of saturated_[i]
};

}  // namespace

void DemandLimits::Add(const DemandLimits& other) {
  envelope += other.envelope;
  top_price = std::max(top_price, other.top_price);
  least += other.least;
  most += other.most;
}

std::vector<Mix> SolvePrices(const PageDemand& demand, const PageOrder& order,
                             const std::vector<double>& cap, double capacity,
                             const SolverOptions& options, Allocation& result) {
  return Solver(demand, order, cap, capacity, options, result).Solve();
}

}  // namespace escalona::revisit

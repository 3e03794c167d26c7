// Demand of pages in floats, one array entry of rate and ratio per page, in server order.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>

#include "base/huge_memory.h"
#include "revisit/allocation_internal.h"
#include "revisit/fast_kernels.h"
#include "revisit/parallel.h"

namespace escalona::revisit {
namespace {

constexpr size_t kBlock = 16384;  // pages that one task of the assignment takes
constexpr size_t kChunk = 512;    // pages that go through the kernel at once

// Rates scaled by up to this much meet their limits; the loss is of second order.
constexpr double kRateTolerance = 5e-6;
// Two prices this near are one in floats.
constexpr double kPriceTolerance = 2e-7;
class FastDemand final : public PageDemand {
 public:
  FastDemand(const Problem& problem, const PageOrder& order, int threads)
      : problem_(problem), order_(order), threads_(threads), kernels_(ChooseKernels()) {}

  // Copies the pages to floats in server order. False when a value does not fit.
  bool Load() {
    const size_t pages = order_.pages();
    rate_.reset(AllocateHuge<float>(pages));
    if (!problem_.weight.empty()) weighted_.reset(AllocateHuge<float>(pages));
    std::atomic<bool> fits{true};
    const double* rates = problem_.change_rate.data();
    const double* weights = problem_.weight.data();
    order_.ForEach([&](size_t page, size_t position) {
      const double rate = rates[page];
      rate_[position] = static_cast<float>(rate);
      bool good = rate == 0 || (rate > kFastLeast && rate < kFastMost);
      if (weights != nullptr) {
        const double ratio = rate / weights[page];
        weighted_[position] = static_cast<float>(weights[page] == 0 ? kInfinity : ratio);
        good &= weights[page] == 0 || rate == 0 || (ratio > kFastLeast && ratio < kFastMost);
      }
      if (!good) fits.store(false, std::memory_order_relaxed);
    });
    return fits;
  }

  [[nodiscard]] DemandLimits Limits(size_t begin, size_t end) const override {
    return kernels_.limits(&rate_[begin], ratio() + begin, end - begin);
  }

  [[nodiscard]] Demand At(size_t begin, size_t end, double price) const override {
    return kernels_.at(&rate_[begin], ratio() + begin, end - begin, static_cast<float>(price));
  }

  Assigned Assign(std::span<const Mix> mix, double* frequency) const override {
    const size_t pages = order_.pages();
    std::vector<Assigned> partial((pages + kBlock - 1) / kBlock);
    ParallelFor(threads_, partial.size(), [&](size_t block) {
      const size_t end = std::min(pages, (block + 1) * kBlock);
      for (size_t begin = block * kBlock; begin < end; begin += kChunk) {
        partial[block].Add(AssignChunk(begin, std::min(end, begin + kChunk), mix, frequency));
      }
    });
    Assigned sum;
    for (const Assigned& part : partial) sum.Add(part);
    return sum;
  }

 private:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  [[nodiscard]] const float* ratio() const { return weighted_ ? weighted_.get() : rate_.get(); }

  [[nodiscard]] double Weight(size_t page) const {
    return problem_.weight.empty() ? 1 : problem_.weight[page];
  }

  // Pages in their given order: the same floats as in server order, hence the same frequencies.
  Assigned AssignChunk(size_t begin, size_t end, std::span<const Mix> mix,
                       double* frequency) const {
    float rate[kChunk] = {};
    float ratio[kChunk] = {};
    float price[kChunk] = {};
    double scale[kChunk];
    float f[kChunk];
    float a[kChunk];
    float gain[kChunk];
    uint16_t mixed[kChunk];  // pages of servers that stand between two prices
    size_t mixed_count = 0;
    const size_t count = end - begin;
    for (size_t k = 0; k < count; ++k) {
      const Mix& m = mix[order_.ServerOf(begin + k)];
      price[k] = static_cast<float>(m.high);
      scale[k] = m.share == 0 ? 1 : m.scale;
      mixed[mixed_count] = static_cast<uint16_t>(k);
      mixed_count += static_cast<size_t>(m.low != m.high);
    }
    Copy(begin, count, rate, ratio);
    kernels_.assign(rate, ratio, price, count, f, a, gain);
    for (size_t k = 0; k < count; ++k) frequency[begin + k] = static_cast<double>(f[k]) * scale[k];
    for (size_t j = 0; j < mixed_count; ++j) {
      const size_t k = mixed[j];
      const double between = Between(mix[order_.ServerOf(begin + k)], rate[k], ratio[k]);
      frequency[begin + k] = between;
      a[k] = static_cast<float>(Freshness(problem_.change_rate[begin + k], between));
      scale[k] = 1;
    }
    Assigned sum;
    for (size_t k = 0; k < count; ++k) {
      const double weight = Weight(begin + k);
      sum.weight += weight;
      sum.objective +=
          weight * (static_cast<double>(a[k]) + (scale[k] - 1) * static_cast<double>(gain[k]));
    }
    return sum;
  }

  [[nodiscard]] double Between(const Mix& mix, float rate, float ratio) const {
    const float price[2] = {static_cast<float>(mix.low), static_cast<float>(mix.high)};
    const float rates[2] = {rate, rate};
    const float ratios[2] = {ratio, ratio};
    float f[2];
    float a[2];
    float gain[2];
    kernels_.assign(rates, ratios, price, 2, f, a, gain);
    return (1 - mix.share) * static_cast<double>(f[1]) +
           mix.share * mix.scale * static_cast<double>(f[0]);
  }

  void Copy(size_t begin, size_t count, float* rate, float* ratio) const {
    for (size_t k = 0; k < count; ++k) {
      rate[k] = static_cast<float>(problem_.change_rate[begin + k]);
      ratio[k] = rate[k];
    }
    if (problem_.weight.empty()) return;
    for (size_t k = 0; k < count; ++k) {
      const double weight = problem_.weight[begin + k];
      const double value = problem_.change_rate[begin + k] / weight;
      ratio[k] = weight == 0 ? kInfinity : static_cast<float>(value);
    }
  }

  const Problem& problem_;
  const PageOrder& order_;
  const int threads_;
  const FastKernels& kernels_;
  HugeArray<float> rate_;
  HugeArray<float> weighted_;  // L/w; null when all weights are 1
};

}  // namespace

bool AllocateFast(const Problem& problem, const PageOrder& order, const std::vector<double>& cap,
                  int threads, Allocation& result) {
  FastDemand demand(problem, order, threads);
  if (!demand.Load()) return false;
  SolverOptions options;
  options.rate_tolerance = kRateTolerance;
  options.price_tolerance = kPriceTolerance;
  options.scale_up = true;
  options.threads = threads;
  Allocation solved;
  const std::vector<Mix> mix = SolvePrices(demand, order, cap, problem.capacity, options, solved);
  for (const double price : solved.server_price) {
    if (price != 0 && !(price > kFastLeast && price < kFastMost)) return false;
  }
  solved.frequency = PageArray(problem.pages());
  const Assigned assigned = demand.Assign(mix, solved.frequency.data());
  solved.objective = assigned.objective;
  solved.total_weight = assigned.weight;
  result = std::move(solved);
  return true;
}

}  // namespace escalona::revisit

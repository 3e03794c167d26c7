// Populations made by a model.
#include "revisit/population.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "revisit/random_source.h"

namespace escalona::revisit {
namespace {

constexpr double kZipf = 1.125;
constexpr double kBroadMedian = 8;
constexpr double kBroadSpread = 1.5;

// Server s draws from a stream of its own, so that its rates do not depend on the other servers.
Population FromSizes(const std::vector<size_t>& sizes, double min_interval, uint64_t seed,
                     const ChangeModel& model) {
  Population population;
  population.min_interval.assign(sizes.size(), min_interval);
  population.first.assign(1, 0);
  const size_t pages = std::accumulate(sizes.begin(), sizes.end(), size_t{0});
  population.change_rate.reserve(pages);
  population.server.reserve(pages);
  for (uint32_t s = 0; s < sizes.size(); ++s) {
    RandomSource random(seed, s);
    const double server_log = std::log(model.median_interval) + model.between * random.Normal();
    for (size_t i = 0; i < sizes[s]; ++i) {
      population.change_rate.push_back(std::exp(-(server_log + model.within * random.Normal())));
      population.server.push_back(s);
    }
    population.first.push_back(population.change_rate.size());
  }
  return population;
}

// Whole numbers of at least 1 in proportion to `shares` that sum to `total` >= shares.size().
std::vector<size_t> Apportion(const std::vector<double>& shares, size_t total) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  const auto spare = static_cast<double>(total - shares.size());
  std::vector<size_t> sizes(shares.size());
  double before = 0;
  size_t given = 0;
  for (size_t s = 0; s < shares.size(); ++s) {
    before += shares[s];
    const auto until = static_cast<size_t>(std::llround(spare * std::min(before / sum, 1.0)));
    sizes[s] = 1 + until - given;
    given = until;
  }
  return sizes;
}

}  // namespace

double Population::MaximumRate() const {
  double rate = 0;
  for (size_t s = 0; s < servers(); ++s) {
    if (first[s + 1] > first[s]) rate += 1 / min_interval[s];
  }
  return rate;
}

Problem Population::AsProblem(double capacity) const {
  Problem problem;
  problem.change_rate = change_rate;
  problem.weight = weight;
  problem.cost = cost;
  problem.lo = lo;
  problem.hi = hi;
  problem.server = server;
  problem.min_interval = min_interval;
  problem.capacity = capacity;
  return problem;
}

Population MakeWebbase(size_t pages, size_t servers, double min_interval, uint64_t seed,
                       const ChangeModel& model) {
  std::vector<double> shares(servers);
  for (size_t s = 0; s < servers; ++s) shares[s] = std::pow(static_cast<double>(s + 1), -kZipf);
  return FromSizes(Apportion(shares, pages), min_interval, seed, model);
}

Population MakeBroad(size_t pages, size_t servers, double min_interval, uint64_t seed,
                     const ChangeModel& model) {
  RandomSource random(seed, UINT64_MAX);
  std::vector<double> shares(servers);
  for (double& share : shares) share = kBroadMedian * std::exp(kBroadSpread * random.Normal());
  if (pages > 0) return FromSizes(Apportion(shares, pages), min_interval, seed, model);
  std::vector<size_t> sizes(servers);
  for (size_t s = 0; s < servers; ++s) {
    sizes[s] = std::max<size_t>(1, static_cast<size_t>(std::llround(shares[s])));
  }
  return FromSizes(sizes, min_interval, seed, model);
}

}  // namespace escalona::revisit

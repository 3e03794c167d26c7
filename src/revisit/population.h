// Pages and servers to plan and simulate: made by a model, or given by the user.
#ifndef ESCALONA_REVISIT_POPULATION_H_
#define ESCALONA_REVISIT_POPULATION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "escalona/allocation.h"

namespace escalona::revisit {

// Invariant: the pages of a server stand together: server[i] == s for first[s] <= i < first[s + 1].
// Rates are per day, intervals in days.
struct Population {
  std::vector<double> change_rate;   // by page
  std::vector<double> weight;        // by page; empty: all 1
  std::vector<double> cost;          // of a fetch, by page; empty: all 1
  std::vector<double> lo;            // least frequency, by page; empty: none
  std::vector<double> hi;            // greatest frequency, by page; empty: none
  std::vector<uint32_t> server;      // by page
  std::vector<size_t> first;         // by server, and one more: the number of pages
  std::vector<double> min_interval;  // by server

  [[nodiscard]] size_t pages() const { return change_rate.size(); }
  [[nodiscard]] size_t servers() const { return min_interval.size(); }
  [[nodiscard]] double WeightOf(size_t page) const { return weight.empty() ? 1 : weight[page]; }
  // The sum of 1/P over the servers that have pages: no capacity above it can be used.
  [[nodiscard]] double MaximumRate() const;
  // A view for Allocate.
  [[nodiscard]] Problem AsProblem(double capacity) const;
};

// Change intervals are lognormal: the median, the standard deviation of the logarithm between
// servers and within one.
struct ChangeModel {
  double median_interval = 76;  // days
  double between = 1.35;
  double within = 2.0;
};

// Fitted to the published numbers of WEBBASE: server k of n holds a share proportional to k^-1.125.
// `pages` >= `servers` > 0. The same seed gives the same population, bit for bit.
Population MakeWebbase(size_t pages, size_t servers, double min_interval, uint64_t seed,
                       const ChangeModel& model = {});

// A broad crawl: many small hosts, lognormal sizes of median 8 pages and log-sd 1.5. With `pages`
// > 0 the sizes are scaled to sum to about that many.
Population MakeBroad(size_t pages, size_t servers, double min_interval, uint64_t seed,
                     const ChangeModel& model = {});

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_POPULATION_H_

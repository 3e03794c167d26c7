// Years of visits to a population under one policy, and how fresh the copies were.
#ifndef ESCALONA_REVISIT_SIMULATION_H_
#define ESCALONA_REVISIT_SIMULATION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "escalona/revisit_policy.h"
#include "revisit/population.h"

namespace escalona::revisit {

struct SimulationOptions {
  PolicyKind policy = PolicyKind::kHybrid;
  double duration = 6 * 365.25;  // days
  bool cold = true;              // all pages that change start stale; else in the steady state
  uint64_t seed = 1;             // of phases and draws
  int threads = 0;               // 0: one per core
  size_t bins = 120;             // of the curve; a multiple of 5
  double channel_interval = 1.0 / 24;  // days in which requests are counted together
  // Told now and then, from any thread but never from two at once, which part is done.
  std::function<void(double)> progress;
};

struct SimulationResult {
  double freshness = 0;       // weighted mean over pages and time
  double last_fifth = 0;      // the same in the last fifth of the time
  std::vector<double> curve;  // the same by bin
  uint64_t requests = 0;
  uint64_t peak = 0;        // most requests in one channel interval
  double shortest_gap = 0;  // between two requests to one server, over its P; infinity: none
};

// Visits the population at `frequency` (by page). Changes are not sampled: between two visits a
// copy is fresh with probability exp(-L age), whose integral is added up, so the freshness is the
// exact expectation over all changes, given the visits. Servers do not influence each other; each
// has random numbers of its own, and sums are taken in an order that does not depend on threads:
// the result is the same, bit for bit, for every number of them.
//
// Cost: O(requests * cost of the policy's choice + pages * bins). Memory: the policies of the
// servers that are simulated at one time, about 60 bytes per page.
SimulationResult Simulate(const Population& population, std::span<const double> frequency,
                          const SimulationOptions& options);

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_SIMULATION_H_

// The search for prices: one for the capacity, one for each server at its limit.
#ifndef ESCALONA_REVISIT_PRICE_SOLVER_H_
#define ESCALONA_REVISIT_PRICE_SOLVER_H_

#include <cstddef>
#include <span>
#include <vector>

#include "escalona/allocation.h"
#include "revisit/page_order.h"

namespace escalona::revisit {

// What a run of pages asks for at one price.
struct Demand {
  double rate = 0;   // sum of c f
  double slope = 0;  // minus its derivative by log(price)

  void Add(const Demand& other) {
    rate += other.rate;
    slope += other.slope;
  }
};

// Bounds of the demand of a run of pages: rate(price) <= envelope * price^(-exponent).
struct DemandLimits {
  double envelope = 0;
  double top_price = 0;  // from this price on every page stands at its least frequency
  double least = 0;      // sum of c lo
  double most = 0;       // demand at price 0

  void Add(const DemandLimits& other);
};

// f = (1 - share) f(high) + share (lo + scale (f(low) - lo)): between the demands at two
// neighbouring prices, so that a rate between them is met exactly even where the demand jumps.
struct Mix {
  double low = 0;
  double high = 0;
  double share = 0;
  double scale = 1;
};

// What an assignment is worth.
struct Assigned {
  double objective = 0;  // sum of w A
  double weight = 0;     // sum of w

  void Add(const Assigned& other) {
    objective += other.objective;
    weight += other.weight;
  }
};

// The pages' demand as a function of the price. Limits and At look at the positions begin <= k <
// end of one server and are called from several threads at once.
class PageDemand {
 public:
  virtual ~PageDemand() = default;
  [[nodiscard]] virtual DemandLimits Limits(size_t begin, size_t end) const = 0;
  [[nodiscard]] virtual Demand At(size_t begin, size_t end, double price) const = 0;
  // Writes the frequency of every page at its index, from the mix of its server.
  virtual Assigned Assign(std::span<const Mix> mix, double* frequency) const = 0;
  // The exponent of DemandLimits: 1/2 where f ~ price^(-1/2), 1 where f ~ 1/price.
  [[nodiscard]] virtual double exponent() const { return 0.5; }
};

struct SolverOptions {
  double rate_tolerance = 1e-13;   // a rate this near its target is met
  double price_tolerance = 4e-16;  // a bracket this narrow is a jump of the demand
  bool scale_up = false;           // a rate found just below its target may be scaled up to it
  int threads = 1;
};

// Finds all prices and assigns all frequencies. `cap` (per server) and `capacity` are upper limits,
// infinity where there is none, each at or above the least demand. They hold for the frequencies
// added in any order: the targets stay below them by the greatest rounding error of such a sum.
// Fills everything in `result` but `fast`.
//
// Rounds of Newton's method on log(rate) against log(price), which is concave, guarded by a
// bracket; each round is one parallel pass over the pages of the servers still open. Sums are
// formed per block of pages and added in order, so the result does not depend on the number of
// threads.
std::vector<Mix> SolvePrices(const PageDemand& demand, const PageOrder& order,
                             const std::vector<double>& cap, double capacity,
                             const SolverOptions& options, Allocation& result);

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_PRICE_SOLVER_H_

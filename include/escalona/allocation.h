// How often to fetch each page: the allocation of a request budget over pages and servers.
//
// The model. Page i on server s(i) has weight w_i and changes as a Poisson process of rate L_i.
// Visited evenly, f times per unit of time, it is fresh a fraction A*(L, f) = (f/L)(1 - exp(-L/f))
// of the time. OPT_POLITE maximises sum w_i A*(L_i, f_i) subject to sum f_i <= C and, on each
// server, sum f_i <= 1/P_s. The derivation, the algorithm and its cost stand in docs/revisit.md.
//
// The unit of time is the caller's choice, the same for all rates, intervals and the capacity.
// Everything here is a pure function: no I/O, no clock, no global state, safe to call from any
// thread.
#ifndef ESCALONA_ALLOCATION_H_
#define ESCALONA_ALLOCATION_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace escalona::revisit {

// g(x) = 1 - (1 + x) exp(-x) for x >= 0: increases from 0 to 1. Relative error of a few ulp for all
// x.
[[nodiscard]] double G(double x) noexcept;

// The x with G(x) = y, for 0 <= y <= 1. InverseG(0) = 0, InverseG(1) = infinity.
[[nodiscard]] double InverseG(double y) noexcept;

// A*(L, f): freshness of a page of change rate L >= 0 that is visited evenly, f >= 0 times per unit
// of time. Freshness(0, f) = 1 for every f, also 0; Freshness(L, 0) = 0 for L > 0.
[[nodiscard]] double Freshness(double change_rate, double frequency) noexcept;

// dA*/df = G(L/f)/L. 0 for L = 0; its limit 1/L for f = 0.
[[nodiscard]] double MarginalFreshness(double change_rate, double frequency) noexcept;

// Freshness f/(L + f) of a page whose visits are a Poisson process of rate f (LambdaCrawl's model).
[[nodiscard]] double PoissonFreshness(double change_rate, double frequency) noexcept;

// The same for a page whose change rate is only believed: L ~ Gamma(alpha, beta), of mean
// alpha/beta. BeliefFreshness = E[A*(L, f)]; BeliefMarginal = beta G_alpha(1/(f beta)), its
// derivative in f. At f = 0 the marginal is E[1/L] = beta/(alpha - 1), infinite for alpha <= 1.
[[nodiscard]] double BeliefFreshness(double alpha, double beta, double frequency) noexcept;
[[nodiscard]] double BeliefMarginal(double alpha, double beta, double frequency) noexcept;

// G_alpha(z) = (1 - (1+z)^(1-alpha))/(alpha - 1) - z (1+z)^(-alpha), alpha > 0, z >= 0; continuous
// at alpha = 1. w beta G_alpha(t/beta) is the index of a page of age t.
[[nodiscard]] double BeliefG(double alpha, double z) noexcept;

// The z with G_alpha(z) = y; infinity for y at or above the supremum 1/(alpha - 1) (alpha > 1).
[[nodiscard]] double InverseBeliefG(double alpha, double y) noexcept;

// What is to be allocated: arrays side by side, one entry per page. Nothing is owned: the arrays
// must outlive the call, and are never written.
struct Problem {
  std::span<const double> change_rate;  // L_i >= 0; empty when beliefs are given instead
  std::span<const double>
      alpha;  // with beta: page i changes at a rate ~ Gamma(alpha_i, beta_i), both > 0
  std::span<const double> beta;
  std::span<const double> weight;    // w_i >= 0; empty: all 1
  std::span<const uint32_t> server;  // s(i), below min_interval.size(); empty: all on server 0
  std::span<const double> lo;        // least frequency of a page; empty: 0
  std::span<const double> hi;        // greatest frequency of a page; empty: no bound
  std::span<const double> cost;      // c_i > 0, in ordinary requests; empty: 1. See Allocate
  std::span<const double>
      min_interval;     // P_s >= 0 of each server, 0: no limit; empty: one server, no limit
  double capacity = 0;  // C >= 0, requests per unit of time; infinity where every P_s > 0

  [[nodiscard]] size_t pages() const noexcept {
    return change_rate.empty() ? alpha.size() : change_rate.size();
  }
  [[nodiscard]] size_t servers() const noexcept {
    return min_interval.empty() ? 1 : min_interval.size();
  }
};

enum class AllocationKind : uint8_t {
  kOptPolite,           // the maximiser; its objective is the POLITE bound
  kUnpolite,            // the same without server limits; its objective is the UNPOLITE bound
  kUniform,             // every page equally often, as far as its server's limit allows
  kChangeProportional,  // f proportional to L (to alpha/beta), as far as the server's limit allows
  kPoliteBinaryLambda,  // PoliteBinaryLambdaCrawl: maximises sum w f/(L + f), f = sqrt(w L/nu) - L
};

enum class Precision : uint8_t {
  kAuto,   // kFast from 200,000 pages on, kExact below
  kExact,  // doubles throughout: prices and frequencies to about 1e-12 relative
  kFast,   // vectorised floats: objective within 1e-7 relative. Applies to kOptPolite and kUnpolite
           // of rates without lo, hi and cost, of ordinary size; every other problem is solved
           // exactly
};

struct AllocationOptions {
  AllocationKind kind = AllocationKind::kOptPolite;
  Precision precision = Precision::kAuto;
  int threads = 0;  // 0: one per core. The result is the same, bit for bit, for every number
};

// One number per page, in large memory pages where the system has them. Movable, not copyable.
class PageArray {
 public:
  PageArray() = default;
  explicit PageArray(size_t size);  // contents undefined

  [[nodiscard]] size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] double* data() noexcept { return values_.get(); }
  [[nodiscard]] const double* data() const noexcept { return values_.get(); }
  double& operator[](size_t i) noexcept { return values_[i]; }
  double operator[](size_t i) const noexcept { return values_[i]; }
  [[nodiscard]] double* begin() noexcept { return data(); }
  [[nodiscard]] double* end() noexcept { return data() + size_; }
  [[nodiscard]] const double* begin() const noexcept { return data(); }
  [[nodiscard]] const double* end() const noexcept { return data() + size_; }

 private:
  struct Free {
    void operator()(double* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<double[], Free> values_;
  size_t size_ = 0;
};

struct Allocation {
  PageArray frequency;               // f_i, per page
  std::vector<double> server_price;  // nu_s, per server: max(price, the server's own price)
  std::vector<double> server_rate;   // sum of c_i f_i of the server's pages
  std::vector<uint8_t>
      saturated;  // 1: the server's limit binds (nu_s > price, or price 0 and at its limit)
  size_t saturated_servers = 0;  // number of ones in `saturated`
  double price = 0;       // mu, of one more request per unit of time; 0 when capacity is left over
  double total_rate = 0;  // sum of c_i f_i
  double total_weight = 0;  // sum of w_i
  double objective = 0;     // sum of w_i A_i, A_i under this kind's visits: A* (belief: E[A*]), and
                            // f/(L+f) for kPoliteBinaryLambda
  bool fast = false;        // solved by the fast path

  // sum w A / sum w; 1 when all weights are 0.
  [[nodiscard]] double freshness() const noexcept {
    return total_weight > 0 ? objective / total_weight : 1;
  }
};

// Solves `problem`. The limits are never exceeded: the doubles of `frequency`, times their costs,
// added in any order stay at or below 1/P_s on each server and C in total (kUnpolite: C alone).
//
// Cost. A fetch of page i takes c_i out of both C and its server's limit. Since politeness counts
// requests, a server with a cost below 1 gets the limit min(c_i)/P_s, so that sum f_i <= 1/P_s too.
//
// For kinds that maximise, price and server_price are multipliers: a page with lo < f < hi has
// w_i A'(f_i) = c_i nu_s. For kUniform and kChangeProportional they are 1/f and L/f.
//
// Fails with InvalidArgument, naming the array and the index, for NaN, infinite or negative
// entries, arrays of different lengths, lo > hi, a server id out of range, a capacity that is NaN,
// negative, or infinite while some server has no limit; for lower bounds that alone exceed a
// limit; and for weights whose sum is not finite. Limits above 1e100 are taken as 1e100.
//
// Cost: time linear in pages, never a sort: about 7 passes, 40 ns of processor time per page in all
// on the fast path, some 20 times that on the exact one. Memory besides the inputs: at most 24
// bytes per page with the result's 8, plus about 300 per server.
[[nodiscard]] absl::StatusOr<Allocation> Allocate(const Problem& problem,
                                                  const AllocationOptions& options = {});

}  // namespace escalona::revisit

#endif  // ESCALONA_ALLOCATION_H_

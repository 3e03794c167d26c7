// The inner loops of the fast allocation: float arithmetic in vectors of whatever width the
// processor has.
#ifndef ESCALONA_REVISIT_FAST_KERNELS_H_
#define ESCALONA_REVISIT_FAST_KERNELS_H_

#include <cstddef>

#include "revisit/price_solver.h"

namespace escalona::revisit {

// Pages are two floats: `rate` L and `ratio` L/w, infinite for w = 0. Ratios above 0 lie in
// [kFastLeast, kFastMost], and so do rates.
inline constexpr float kFastLeast = 1e-18F;
inline constexpr float kFastMost = 1e18F;

// The same arithmetic, operation by operation, for every instruction set: without contraction to
// fused multiply-adds the results are the same on every machine, and the same in `at` and `assign`.
struct FastKernels {
  const char* name;
  // Sum of f, and minus its derivative by log(price).
  Demand (*at)(const float* rate, const float* ratio, size_t n, float price);
  // Sum of L sqrt(1/(2 ratio)), and the greatest 1/ratio.
  DemandLimits (*limits)(const float* rate, const float* ratio, size_t n);
  // For each page at its own price: f; its freshness A; and f A'(f), the change of A when f is
  // scaled.
  void (*assign)(const float* rate, const float* ratio, const float* price, size_t n, float* f,
                 float* a, float* gain);
};

// The best kernels this processor can run.
const FastKernels& ChooseKernels();
// The kernels of an instruction set: "baseline", "avx2" or "avx512"; null where it cannot run here.
const FastKernels* KernelsNamed(const char* name);

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_FAST_KERNELS_H_

// Compiled once for each instruction set, from the same inlined bodies.
#include "revisit/fast_kernels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#define ESCALONA_INLINE inline __attribute__((always_inline))

namespace escalona::revisit {
namespace {

constexpr size_t kChunk = 512;  // buffers stay in the first-level cache
constexpr size_t kLanes = 8;    // a fixed number, so that sums do not depend on the vector width

// log(1 - y) for y < 1, by Cephes' logf polynomial. Where 1 - y needs no exponent, its argument is
// -y itself: nothing is lost for small y.
ESCALONA_INLINE float LogOneMinus(float y) {
  const float u = 1 - y;
  const int32_t bits = __builtin_bit_cast(int32_t, u);
  const int32_t shift =
      (bits - 0x3f3504f3) & static_cast<int32_t>(0xff800000);  // u in [sqrt(1/2), sqrt(2))
  const float exponent = static_cast<float>(shift >> 23);
  const float mantissa = __builtin_bit_cast(float, bits - shift);
  const float t = shift == 0 ? -y : mantissa - 1;
  float p = 7.0376836292e-2F;
  p = p * t - 1.1514610310e-1F;
  p = p * t + 1.1676998740e-1F;
  p = p * t - 1.2420140846e-1F;
  p = p * t + 1.4249322787e-1F;
  p = p * t - 1.6668057665e-1F;
  p = p * t + 2.0000714765e-1F;
  p = p * t - 2.4999993993e-1F;
  p = p * t + 3.3333331174e-1F;
  const float square = t * t;
  return ((p * t * square + exponent * -2.12194440e-4F) - 0.5F * square + t) +
         exponent * 0.693359375F;
}

// x = InverseG(y) as numerator/denominator: s P(s)/Q(s), s = sqrt(-2 log(1-y)), a (4,3) minimax fit
// with a relative error of 4e-9 for s <= 6, more than floats can ask for.
struct Inverse {
  float y, one_minus_y, numerator, denominator;
  bool visited;
};

ESCALONA_INLINE Inverse InverseOf(float rate, float ratio, float price) {
  float y = price * ratio;
  const bool visited = (y < 1) & (rate > 0);
  y = y > 1e-36F ? y : 1e-36F;
  y = y < 0.99999994F ? y : 0.99999994F;
  const float s = __builtin_sqrtf(-2 * LogOneMinus(y));
  const float p =
      0.99999999586776465F +
      s * (0.835336685440747F +
           s * (0.29570557285308112F + s * (0.050788175659377162F + s * 0.0035003057377607055F)));
  const float q =
      1 + s * (0.50200317266264774F + s * (0.10059461000136535F + s * 0.0070127885954711117F));
  return {y, 1 - y, s * p, q, visited};
}

ESCALONA_INLINE float FrequencyOf(float rate, const Inverse& x) {
  const float f = rate * x.denominator / x.numerator;
  return x.visited ? f : 0;
}

ESCALONA_INLINE double SumOf(const float* values, size_t n) {
  double lane[kLanes] = {};
  size_t k = 0;
  for (; k + kLanes <= n; k += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) lane[j] += static_cast<double>(values[k + j]);
  }
  for (size_t j = 0; k < n; ++k, ++j) lane[j] += static_cast<double>(values[k]);
  return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

ESCALONA_INLINE Demand AtBody(const float* rate, const float* ratio, size_t n, float price) {
  Demand sum;
  float f[kChunk];
  float slope[kChunk];
  for (size_t begin = 0; begin < n; begin += kChunk) {
    const size_t count = n - begin < kChunk ? n - begin : kChunk;
    for (size_t k = 0; k < count; ++k) {
      const Inverse x = InverseOf(rate[begin + k], ratio[begin + k], price);
      f[k] = FrequencyOf(rate[begin + k], x);
      // f y (1+x)/(x^2 (1-y)), x = numerator/denominator
      slope[k] = f[k] * (x.y * (x.denominator + x.numerator) * x.denominator) /
                 (x.numerator * x.numerator * x.one_minus_y);
    }
    sum.rate += SumOf(f, count);
    sum.slope += SumOf(slope, count);
  }
  return sum;
}

ESCALONA_INLINE DemandLimits LimitsBody(const float* rate, const float* ratio, size_t n) {
  DemandLimits sum;
  float envelope[kChunk];
  float top = 0;
  for (size_t begin = 0; begin < n; begin += kChunk) {
    const size_t count = n - begin < kChunk ? n - begin : kChunk;
    for (size_t k = 0; k < count; ++k) {
      const float value = rate[begin + k] / __builtin_sqrtf(2 * ratio[begin + k]);
      envelope[k] = rate[begin + k] > 0 ? value : 0;
    }
    sum.envelope += SumOf(envelope, count);
    for (size_t k = 0; k < count; ++k) {
      const float value = 1 / ratio[begin + k];
      envelope[k] = rate[begin + k] > 0 ? value : 0;
    }
    for (size_t k = 0; k < count; ++k) top = envelope[k] > top ? envelope[k] : top;
  }
  // Rounding must not put the top price below a page's own.
  sum.top_price = static_cast<double>(top) * (1 + 1e-6);
  sum.most = sum.envelope > 0 ? std::numeric_limits<double>::infinity() : 0;
  return sum;
}

ESCALONA_INLINE void AssignBody(const float* rate, const float* ratio, const float* price, size_t n,
                                float* __restrict f, float* __restrict a, float* __restrict gain) {
  for (size_t k = 0; k < n; ++k) {
    const Inverse inverse = InverseOf(rate[k], ratio[k], price[k]);
    f[k] = FrequencyOf(rate[k], inverse);
    const float x = inverse.numerator / inverse.denominator;
    // exp(-x) = (1-y)/(1+x), so A = (1 - exp(-x))/x = (x+y)/(x(1+x)) and f A' = y/x
    const float fresh = (x + inverse.y) / (x * (1 + x));
    const float slope = inverse.y / x;
    const float seen = inverse.visited ? fresh : 0;
    a[k] = rate[k] > 0 ? seen : 1;
    gain[k] = inverse.visited ? slope : 0;
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): an attribute cannot stand in parentheses
#define ESCALONA_KERNELS(suffix, attribute)                                                   \
  attribute Demand At##suffix(const float* rate, const float* ratio, size_t n, float price) { \
    return AtBody(rate, ratio, n, price);                                                     \
  }                                                                                           \
  attribute DemandLimits Limits##suffix(const float* rate, const float* ratio, size_t n) {    \
    return LimitsBody(rate, ratio, n);                                                        \
  }                                                                                           \
  attribute void Assign##suffix(const float* rate, const float* ratio, const float* price,    \
                                size_t n, float* f, float* a, float* gain) {                  \
    AssignBody(rate, ratio, price, n, f, a, gain);                                            \
  }
// NOLINTEND(bugprone-macro-parentheses)

ESCALONA_KERNELS(Baseline, )
constexpr FastKernels kBaseline = {"baseline", AtBaseline, LimitsBaseline, AssignBaseline};

#if defined(__x86_64__)
#if defined(__clang__)
#define ESCALONA_WIDE ""
#else
#define ESCALONA_WIDE ",prefer-vector-width=512"  // which clang does not know
#endif
ESCALONA_KERNELS(Avx2, __attribute__((target("avx2"))))
ESCALONA_KERNELS(Avx512,
                 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl" ESCALONA_WIDE))))
constexpr FastKernels kAvx2 = {"avx2", AtAvx2, LimitsAvx2, AssignAvx2};
constexpr FastKernels kAvx512 = {"avx512", AtAvx512, LimitsAvx512, AssignAvx512};
#endif

}  // namespace

const FastKernels* KernelsNamed(const char* name) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (std::strcmp(name, "avx512") == 0 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return &kAvx512;
  }
  if (std::strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2")) return &kAvx2;
#endif
  return std::strcmp(name, "baseline") == 0 ? &kBaseline : nullptr;
}

const FastKernels& ChooseKernels() {
  for (const char* name : {"avx512", "avx2"}) {
    if (const FastKernels* kernels = KernelsNamed(name)) return *kernels;
  }
  return kBaseline;
}

}  // namespace escalona::revisit

// A small, fast, seeded source of random numbers whose sequence is the same everywhere.
#ifndef ESCALONA_REVISIT_RANDOM_SOURCE_H_
#define ESCALONA_REVISIT_RANDOM_SOURCE_H_

#include <cmath>
#include <cstdint>
#include <numbers>

namespace escalona::revisit {

// SplitMix64 (Steele, Lea, Flood 2014): a counter through a 64-bit mixer. Eight bytes of state, so
// that every server can have one; one of <random> would need 2.5 kB for the same quality.
class RandomSource {
 public:
  explicit RandomSource(uint64_t seed) : state_(seed) {}
  // A stream of its own for part `index` of what `seed` determines.
  RandomSource(uint64_t seed, uint64_t index) : state_(Mix(Mix(seed) + index * kStep)) {}

  uint64_t Next() { return Mix(state_ += kStep); }
  // Uniform in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  // Standard normal, by Box and Muller's transform.
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(1 - Unit()));
    return radius * std::cos(2 * std::numbers::pi * Unit());
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  static uint64_t Mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  uint64_t state_;
};

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_RANDOM_SOURCE_H_

// The least of some hundred numbers, any of which may change.
#ifndef ESCALONA_REVISIT_BLOCK_MINIMA_H_
#define ESCALONA_REVISIT_BLOCK_MINIMA_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace escalona::revisit {

// Two numbers at a time, which every 64-bit machine can do.
#ifdef __SSE2__
class DoublePair {
 public:
  explicit DoublePair(double both) : pair_(_mm_set1_pd(both)) {}
  explicit DoublePair(const double* two) : pair_(_mm_loadu_pd(two)) {}
  friend DoublePair operator-(DoublePair a, DoublePair b) {
    return DoublePair(_mm_sub_pd(a.pair_, b.pair_));
  }
  friend DoublePair operator*(DoublePair a, DoublePair b) {
    return DoublePair(_mm_mul_pd(a.pair_, b.pair_));
  }
  friend DoublePair Max(DoublePair a, DoublePair b) {
    return DoublePair(_mm_max_pd(a.pair_, b.pair_));
  }
  friend DoublePair Min(DoublePair a, DoublePair b) {
    return DoublePair(_mm_min_pd(a.pair_, b.pair_));
  }
  // Bit i: the numbers at i are equal.
  friend uint32_t Equal(DoublePair a, DoublePair b) {
    return static_cast<uint32_t>(_mm_movemask_pd(_mm_cmpeq_pd(a.pair_, b.pair_)));
  }
  [[nodiscard]] double Greater() const {
    return _mm_cvtsd_f64(_mm_max_sd(pair_, _mm_unpackhi_pd(pair_, pair_)));
  }
  [[nodiscard]] double Lesser() const {
    return _mm_cvtsd_f64(_mm_min_sd(pair_, _mm_unpackhi_pd(pair_, pair_)));
  }

 private:
  explicit DoublePair(__m128d pair) : pair_(pair) {}
  __m128d pair_;
};
#else
class DoublePair {
 public:
  explicit DoublePair(double both) : a_(both), b_(both) {}
  explicit DoublePair(const double* two) : a_(two[0]), b_(two[1]) {}
  friend DoublePair operator-(DoublePair x, DoublePair y) { return {x.a_ - y.a_, x.b_ - y.b_}; }
  friend DoublePair operator*(DoublePair x, DoublePair y) { return {x.a_ * y.a_, x.b_ * y.b_}; }
  friend DoublePair Max(DoublePair x, DoublePair y) {
    return {x.a_ > y.a_ ? x.a_ : y.a_, x.b_ > y.b_ ? x.b_ : y.b_};
  }
  friend DoublePair Min(DoublePair x, DoublePair y) {
    return {x.a_ < y.a_ ? x.a_ : y.a_, x.b_ < y.b_ ? x.b_ : y.b_};
  }
  friend uint32_t Equal(DoublePair x, DoublePair y) {
    return uint32_t{x.a_ == y.a_} | uint32_t{x.b_ == y.b_} << 1;
  }
  [[nodiscard]] double Greater() const { return a_ > b_ ? a_ : b_; }
  [[nodiscard]] double Lesser() const { return a_ < b_ ? a_ : b_; }

 private:
  DoublePair(double a, double b) : a_(a), b_(b) {}
  double a_;
  double b_;
};
#endif

// The place of a number in a block of 16 that has it: the first one. Without branches.
inline size_t FindInBlock(const double* block, double wanted) {
  uint32_t equal = 0;
  for (uint32_t i = 0; i < 16; i += 2) {
    equal |= Equal(DoublePair(block + i), DoublePair(wanted)) << i;
  }
  return static_cast<size_t>(std::countr_zero(equal));
}

// Numbers by index, infinity where none was set. Invariant: minima_[b] is the least of block b,
// least_ that of all, and both arrays are padded with infinities to whole blocks. Hardly a branch
// depends on the numbers, so little is mispredicted: for hundreds this beats a heap. Set and
// IndexOfLeast O(16 + n/16), Least O(1).
class BlockMinima {
 public:
  static constexpr size_t kBlock = 16;
  static constexpr double kNone = std::numeric_limits<double>::infinity();

  [[nodiscard]] double operator[](size_t i) const { return values_[i]; }

  void Set(size_t i, double value) {
    if (i >= values_.size()) Extend(i);
    const size_t block = i / kBlock;
    const double of_block = Lesser(value, LeastButOne(&values_[block * kBlock], i % kBlock));
    double least = of_block;
    for (size_t at = 0; at < minima_.size(); at += kBlock) {
      const bool has_block = block - at < kBlock;
      least = Lesser(least,
                     has_block ? LeastButOne(&minima_[at], block % kBlock) : LeastOf(&minima_[at]));
    }
    values_[i] = value;
    minima_[block] = of_block;
    least_ = least;
  }
  void Remove(size_t i) {
    if (i < values_.size()) Set(i, kNone);
  }

  // Of all; infinity when there is none.
  [[nodiscard]] double Least() const { return least_; }
  // The first index at which it stands, if there is one.
  [[nodiscard]] size_t IndexOfLeast() const {
    size_t at = 0;
    while (LeastOf(&minima_[at]) != least_) at += kBlock;
    const size_t block = at + FindInBlock(&minima_[at], least_);
    return block * kBlock + FindInBlock(&values_[block * kBlock], least_);
  }

 private:
  static double Lesser(double a, double b) { return a < b ? a : b; }
  // Of all but the one at place `i`, which is about to be written: reading it in a pair just after
  // that would have to wait until the number has arrived in the cache.
  static double LeastButOne(const double* block, size_t i) {
    const double* raised = &kRaised[kBlock - 1 - i];  // infinity at place i
    DoublePair least = Max(DoublePair(block), DoublePair(raised));
    for (size_t j = 2; j < kBlock; j += 2) {
      least = Min(least, Max(DoublePair(block + j), DoublePair(raised + j)));
    }
    return least.Lesser();
  }
  static constexpr std::array<double, 2 * kBlock - 1> kRaised = [] {
    std::array<double, 2 * kBlock - 1> raised;
    raised.fill(-kNone);
    raised[kBlock - 1] = kNone;
    return raised;
  }();
  static double LeastOf(const double* block) {
    DoublePair least(block);
    for (size_t i = 2; i < kBlock; i += 2) least = Min(least, DoublePair(block + i));
    return least.Lesser();
  }
  void Extend(size_t i) {
    values_.resize((i / kBlock + 1) * kBlock, kNone);
    const size_t blocks = values_.size() / kBlock;
    minima_.resize((blocks + kBlock - 1) / kBlock * kBlock, kNone);
  }

  std::vector<double> values_;
  std::vector<double> minima_;
  double least_ = kNone;
};

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_BLOCK_MINIMA_H_

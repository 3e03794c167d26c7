// The least of some hundred doubles that change one at a time.
#ifndef ESCALONA_REVISIT_LEAST_OF_BLOCKS_H_
#define ESCALONA_REVISIT_LEAST_OF_BLOCKS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace escalona::revisit {

// Two doubles at a time, which every 64-bit machine can do; arrays are padded to whole blocks.
inline constexpr size_t kLanes = 2;
inline constexpr size_t kBlock = 16;
using DoublePair
    __attribute__((vector_size(kLanes * sizeof(double)), aligned(sizeof(double)), may_alias)) =
        double;
inline const DoublePair& PairAt(const double* p) { return *reinterpret_cast<const DoublePair*>(p); }

// Invariant: least_[b] is the least of block b of values_, top() the index of the least of all,
// the first among equals. Set costs a pass over one block and one over the blocks: some 40 cycles
// for 512 values, without a branch that cannot be foreseen but two; a heap needs twice that.
class LeastOfBlocks {
 public:
  static constexpr double kNothing = std::numeric_limits<double>::infinity();

  [[nodiscard]] uint32_t top() const { return top_; }
  [[nodiscard]] double least() const { return top_value_; }

  void Clear() { *this = {}; }

  void Set(uint32_t index, double value) {
    const size_t block = index / kBlock;
    if (index >= values_.size()) {
      values_.resize((block + 1) * kBlock, kNothing);
      least_.resize((block / kBlock + 1) * kBlock, kNothing);
    }
    values_[index] = value;
    least_[block] = LeastOf(&values_[block * kBlock]);
    double least = kNothing;
    for (size_t b = 0; b < least_.size(); b += kBlock) least = std::min(least, LeastOf(&least_[b]));
    size_t at = 0;
    while (least_[at] != least) ++at;
    at *= kBlock;
    while (values_[at] != least) ++at;
    top_ = static_cast<uint32_t>(at);
    top_value_ = least;
  }

 private:
  static double LeastOf(const double* p) {
    DoublePair least = PairAt(p);
    for (size_t i = kLanes; i < kBlock; i += kLanes) {
      const DoublePair next = PairAt(p + i);
      least = next < least ? next : least;
    }
    return least[0] < least[1] ? least[0] : least[1];
  }

  std::vector<double> values_;
  std::vector<double> least_;  // by block
  uint32_t top_ = 0;
  double top_value_ = kNothing;
};

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_LEAST_OF_BLOCKS_H_

// Walker's alias method: draws from a fixed distribution in O(1).
#ifndef ESCALONA_REVISIT_ALIAS_TABLE_H_
#define ESCALONA_REVISIT_ALIAS_TABLE_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/huge_memory.h"

namespace escalona::revisit {

// Cell i keeps its own column with probability keep/2^32 and gives the rest to `other`. Eight bytes
// per entry. Probabilities are exact to 2^-32 of a cell. Build O(n) (Vose 1991), Draw O(1).
class AliasTable {
 public:
  [[nodiscard]] size_t size() const { return cells_.size(); }

  // `weights` are finite, >= 0 and not all 0; `total` is their sum.
  void Build(std::span<const double> weights, double total) {
    const size_t n = weights.size();
    cells_.assign(n, {});
    std::vector<double> scaled(n);
    std::vector<uint32_t> small, large;
    for (uint32_t i = 0; i < n; ++i) {
      scaled[i] = weights[i] / total * static_cast<double>(n);
      (scaled[i] < 1 ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
      const uint32_t less = small.back();
      const uint32_t more = large.back();
      small.pop_back();
      cells_[less] = {Probability(scaled[less]), more};
      scaled[more] -= 1 - scaled[less];
      if (scaled[more] < 1) {
        large.pop_back();
        small.push_back(more);
      }
    }
    // What is left over is 1 up to rounding.
    for (const uint32_t i : small) cells_[i] = {UINT32_MAX, i};
    for (const uint32_t i : large) cells_[i] = {UINT32_MAX, i};
  }

  // The entry that 64 random bits select.
  [[nodiscard]] uint32_t Draw(uint64_t random) const {
    const Scaled scaled = Scale(random);
    const Cell& cell = cells_[scaled.column];
    return scaled.fraction < cell.keep ? scaled.column : cell.other;
  }

  // Starts to load the cell that Draw(random) will read.
  void Prefetch(uint64_t random) const { __builtin_prefetch(cells_.data() + Scale(random).column); }

 private:
  struct Cell {
    uint32_t keep = 0;
    uint32_t other = 0;
  };
  struct Scaled {
    uint32_t column;
    uint32_t fraction;
  };
  // random * n in fixed point: the whole part chooses the column, the next 32 bits are the coin.
  [[nodiscard]] Scaled Scale(uint64_t random) const {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(random) * cells_.size();
    return {static_cast<uint32_t>(product >> 64), static_cast<uint32_t>(product >> 32)};
  }
  static uint32_t Probability(double p) {
    return static_cast<uint32_t>(std::fmin(p * 0x1p32, 0x1p32 - 1));
  }

  HugeVector<Cell> cells_;
};

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_ALIAS_TABLE_H_

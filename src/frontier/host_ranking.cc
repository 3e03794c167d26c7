#include "frontier/host_ranking.h"

#include <algorithm>

namespace escalona {

void HostRanking::Level::AppendZeros() {
  size += kFanOut;
  if (size > numbers.size()) numbers.Grow(2 * size);
}

void HostRanking::Append() {
  uint32_t i = size_++;
  for (size_t level = 0;; ++level, i /= kFanOut) {
    if (level == levels_.size()) {
      // The level below has just outgrown 16 numbers: a new top, whose first number covers them.
      levels_.emplace_back().AppendZeros();
      const Level& below = levels_[level - 1];
      levels_[level][0] = *std::max_element(below.begin(), below.begin() + kFanOut);
    }
    if (i < levels_[level].size) return;
    levels_[level].AppendZeros();
    if (levels_[level].size == kFanOut) return;
  }
}

void HostRanking::Raise(uint32_t host, uint32_t value) {
  uint32_t i = host;
  for (size_t level = 1; level < levels_.size(); ++level) {
    i /= kFanOut;
    if (levels_[level][i] >= value) return;
    levels_[level][i] = value;
  }
}

void HostRanking::Set(uint32_t host, uint32_t count) {
  levels_[0][host] = count;
  uint32_t i = host;
  for (size_t level = 1; level < levels_.size(); ++level) {
    i /= kFanOut;
    const uint32_t* below = &levels_[level - 1][size_t{i} * kFanOut];
    const uint32_t largest = *std::max_element(below, below + kFanOut);
    if (levels_[level][i] == largest) return;
    levels_[level][i] = largest;
  }
}

uint32_t HostRanking::Most() const {
  const Level& top = levels_.back();
  return top.size == 0 ? 0 : *std::max_element(top.begin(), top.end());
}

uint32_t HostRanking::FirstFrom(uint32_t host, uint32_t count) const {
  // Upwards, until a number behind `host` is large enough ...
  uint32_t i = host;
  for (size_t level = 0; level < levels_.size(); ++level, i /= kFanOut) {
    const auto end = static_cast<uint32_t>(
        std::min<size_t>(levels_[level].size, (size_t{i} / kFanOut + 1) * kFanOut));
    while (i < end && levels_[level][i] < count) ++i;
    if (i == end) continue;
    // ... and down again to the host it comes from.
    while (level > 0) {
      --level;
      i *= kFanOut;
      while (levels_[level][i] < count) ++i;
    }
    return i;
  }
  return kNoHost;
}

}  // namespace escalona

#include "frontier/host_ranking.h"

#include <algorithm>

namespace escalona {

void HostRanking::Append() {
  uint32_t i = size_++;
  for (size_t level = 0;; ++level, i /= kFanOut) {
    if (level == levels_.size()) {
      // The level below has just outgrown 16 numbers: a new top, whose first number covers them.
      levels_.emplace_back(kFanOut);
      const std::vector<uint32_t>& below = levels_[level - 1];
      levels_[level][0] = *std::max_element(below.begin(), below.begin() + kFanOut);
    }
    if (i < levels_[level].size()) return;
    levels_[level].resize(levels_[level].size() + kFanOut);
    if (levels_[level].size() == kFanOut) return;
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

template <typename Wanted>
uint32_t HostRanking::Descend(size_t level, uint32_t i, Wanted wanted) const {
  while (level > 0) {
    --level;
    i *= kFanOut;
    while (!wanted(levels_[level][i])) ++i;
  }
  return i;
}

uint32_t HostRanking::FirstFrom(uint32_t host) const {
  const auto has_urls = [](uint32_t count) { return count > 0; };
  uint32_t i = host;
  for (size_t level = 0; level < levels_.size(); ++level) {
    const auto end = static_cast<uint32_t>(
        std::min<size_t>(levels_[level].size(), (size_t{i} / kFanOut + 1) * kFanOut));
    for (; i < end; ++i) {
      if (has_urls(levels_[level][i])) return Descend(level, i, has_urls);
    }
    i /= kFanOut;
  }
  return kNoHost;
}

uint32_t HostRanking::Largest() const {
  const std::vector<uint32_t>& top = levels_.back();
  const auto largest = std::max_element(top.begin(), top.end());
  if (largest == top.end() || *largest == 0) return kNoHost;
  const uint32_t most = *largest;
  return Descend(levels_.size() - 1, static_cast<uint32_t>(largest - top.begin()),
                 [most](uint32_t count) { return count == most; });
}

}  // namespace escalona

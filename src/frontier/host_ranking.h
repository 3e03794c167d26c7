// Which host is next? The number of URLs of every host, searchable.
#ifndef ESCALONA_FRONTIER_HOST_RANKING_H_
#define ESCALONA_FRONTIER_HOST_RANKING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/growing_array.h"

namespace escalona {

// A count per host, hosts numbered in the order they became known. Answers what the three
// strategies ask: the first host that has any URL (depth-first), the first one from a place on
// (breadth-first), the first of those that have the most (best-first).
//
// A tree of fan-out 16: level 0 holds the counts, each number above is the largest of the 16
// below it. Invariant: every level is padded with zeros to a multiple of 16.
// Cost: every operation is O(log16 hosts), one cache line per level; raising a count mostly stops
// at the first level. 4.3 bytes per host.
class HostRanking {
 public:
  static constexpr uint32_t kNoHost = UINT32_MAX;

  HostRanking() : levels_(1) {}

  // Adds a host with no URLs, behind the others.
  void Append();
  // Takes back the last Append(); that host has no URLs.
  void RemoveLast() { --size_; }
  uint32_t size() const { return size_; }

  uint32_t count(uint32_t host) const { return levels_[0][host]; }
  void Prefetch(uint32_t host) const { __builtin_prefetch(&levels_[0][host], 1); }

  void Increment(uint32_t host) {
    const uint32_t value = ++levels_[0][host];
    if (levels_.size() > 1 && value > levels_[1][host / kFanOut]) Raise(host, value);
  }
  void Set(uint32_t host, uint32_t count);

  // The largest count; 0 when no host has URLs.
  uint32_t Most() const;
  // The first host from `host` on that has at least `count` URLs (`count` > 0), or kNoHost. `host`
  // may be size().
  uint32_t FirstFrom(uint32_t host, uint32_t count) const;

  void Clear() { *this = HostRanking(); }

 private:
  static constexpr uint32_t kFanOut = 16;

  void Raise(uint32_t host, uint32_t value);
  // The numbers of one level: those before `size` are in use, those behind are zero.
  struct Level {
    GrowingArray<uint32_t> numbers;
    size_t size = 0;

    uint32_t& operator[](size_t i) { return numbers[i]; }
    const uint32_t& operator[](size_t i) const { return numbers[i]; }
    const uint32_t* begin() const { return &numbers[0]; }
    const uint32_t* end() const { return begin() + size; }
    void AppendZeros();
  };
  std::vector<Level> levels_;  // the last level has at most 16 numbers
  uint32_t size_ = 0;
};

}  // namespace escalona

#endif  // ESCALONA_FRONTIER_HOST_RANKING_H_

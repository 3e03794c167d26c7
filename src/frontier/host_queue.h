// The URLs of one host: smaller depth first, then the one that arrived first.
#ifndef ESCALONA_FRONTIER_HOST_QUEUE_H_
#define ESCALONA_FRONTIER_HOST_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "frontier/chunk_pool.h"
#include "frontier/record_queue.h"

namespace escalona {

// One record queue per depth that has URLs, in an array that lives in the pool like the URLs, or
// here as long as there was never more than one: many hosts have a single URL.
// Invariant: depths descend, so the next URL stands in the last queue, and no queue is empty.
//
// Cost: the next URL is O(1). Adding to a depth that has URLs is O(log depths); a new depth moves
// the smaller ones, of which there are at most `depth`, and a URL of that depth is at least as
// long: O(length). 20 bytes per depth in use, at most 52,428 of them. The owner clears it before it
// goes.
class HostQueue {
 public:
  using Reference = ChunkPool::Reference;

  bool empty() const { return count_ == 0; }

  // Appends a URL and returns its reference; kNone, and nothing changed, when there is no room.
  Reference Append(ChunkPool& pool, uint32_t host, uint32_t depth, std::string_view path,
                   bool stays) {
    const uint32_t place = Find(pool, depth);
    if (place == count_ || Depths(pool)[place].depth != depth) [[unlikely]] {
      return AppendAtNewDepth(pool, host, place, depth, path, stays);
    }
    return Depths(pool)[place].records.Append(pool, host, path, stays);
  }

  // Removes the next `count` URLs, of which there must be so many; calls visit(reference) with each
  // before it goes.
  template <typename Visit>
  void Take(ChunkPool& pool, uint32_t count, Visit visit) {
    while (count > 0) {
      RecordQueue& records = Depths(pool)[count_ - 1].records;
      RecordQueue::Scout scout(pool, records, count);
      for (; count > 0 && !records.empty(); --count) {
        if (count > 1) scout.Step(pool, records);
        visit(records.Front(pool));
        records.PopFront(pool);
      }
      if (records.empty() && --count_ == 0) Release(pool);
    }
  }

  // Removes all URLs.
  void Clear(ChunkPool& pool);

  // Calls visit(reference) for each URL in order.
  template <typename Visit>
  void ForEach(const ChunkPool& pool, Visit visit) const {
    for (uint32_t i = count_; i > 0; --i) Depths(pool)[i - 1].records.ForEach(pool, visit);
  }

  // For a batch that is about to Append() or to read Front(): each touches what the one before it
  // has fetched.
  void PrefetchDepths(const ChunkPool& pool) const {
    if (empty() || is_inline()) return;
    const std::byte* depths = pool.At(depths_);
    __builtin_prefetch(depths);
    __builtin_prefetch(depths + 64);
  }
  void PrefetchDepth(const ChunkPool& pool, uint32_t depth) const {
    if (empty() || is_inline()) return;
    __builtin_prefetch(&Depths(pool)[Guess(Depths(pool), depth)]);
  }
  void PrefetchTail(const ChunkPool& pool, uint32_t depth) const {
    const uint32_t place = Find(pool, depth);
    if (place < count_) Depths(pool)[place].records.PrefetchTail(pool);
  }
  void PrefetchHead(const ChunkPool& pool) const {
    if (!empty()) Depths(pool)[count_ - 1].records.PrefetchHead(pool);
  }
  void PrefetchFront(ChunkPool& pool) {
    if (!empty()) Depths(pool)[count_ - 1].records.PrefetchFront(pool);
  }
  void PrefetchFrontText(const ChunkPool& pool) const {
    if (!empty()) Depths(pool)[count_ - 1].records.PrefetchFrontText(pool);
  }

 private:
  struct Depth {
    uint32_t depth;
    RecordQueue records;
  };
  static_assert(sizeof(Depth) == 20);

  static constexpr int16_t kInline = -1;
  bool is_inline() const { return size_ == kInline; }
  const Depth* Depths(const ChunkPool& pool) const {
    return is_inline() ? &only_ : reinterpret_cast<const Depth*>(pool.At(depths_));
  }
  Depth* Depths(const ChunkPool& pool) {
    return is_inline() ? &only_ : reinterpret_cast<Depth*>(pool.At(depths_));
  }

  // Where `depth` would be if none were left out between it and the greatest: of deep hosts with
  // many URLs a good guess.
  uint32_t Guess(const Depth* depths, uint32_t depth) const {
    return std::min<uint32_t>(depths[0].depth - depth, count_ - 1U);
  }

  // The place of `depth` in the array, or the place where it belongs. A binary search without
  // branches, since which depth comes next cannot be predicted.
  uint32_t Find(const ChunkPool& pool, uint32_t depth) const {
    if (empty()) return 0;
    const Depth* depths = Depths(pool);
    if (const uint32_t guess = Guess(depths, depth); depths[guess].depth == depth) return guess;
    uint32_t first = 0;
    for (uint32_t size = count_; size > 0;) {
      const uint32_t half = size / 2;
      first += depths[first + half].depth > depth ? size - half : 0;
      size = half;
    }
    return first;
  }
  Reference AppendAtNewDepth(ChunkPool& pool, uint32_t host, uint32_t place, uint32_t depth,
                             std::string_view path, bool stays);
  bool MakeRoom(ChunkPool& pool);
  void Release(ChunkPool& pool);

  union {
    Depth only_ = {};
    Reference depths_;  // of the array
  };
  uint16_t count_ = 0;
  int16_t size_ = kInline;  // of the array's chunk, as the pool counts sizes
};
static_assert(sizeof(HostQueue) == 24);

}  // namespace escalona

#endif  // ESCALONA_FRONTIER_HOST_QUEUE_H_

// The URLs of one host: smaller depth first, then the one that arrived first.
#ifndef ESCALONA_FRONTIER_HOST_QUEUE_H_
#define ESCALONA_FRONTIER_HOST_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "frontier/chunk_pool.h"
#include "frontier/record_queue.h"

namespace escalona {

// One record queue per depth that has URLs. Invariant: depths descend, so the next URL stands in
// the last queue, and no queue is empty.
//
// Cost: the next URL is O(1). Adding to a depth that has URLs is O(log depths); a new depth moves
// the smaller ones, of which there are at most `depth`, and a URL of that depth is at least as
// long: O(length). 24 bytes per depth in use.
class HostQueue {
 public:
  using Reference = ChunkPool::Reference;

  bool empty() const { return depths_.empty(); }

  // Appends a URL and returns its reference; kNone, and nothing changed, when the pool is full.
  Reference Append(ChunkPool& pool, uint32_t host, uint32_t depth, std::string_view path) {
    auto place = Find(depth);
    const bool is_new = place == depths_.end() || place->depth != depth;
    if (is_new) place = depths_.insert(place, Depth{depth, {}});
    const Reference reference = place->records.Append(pool, host, path);
    if (reference == ChunkPool::kNone && is_new) depths_.erase(place);
    return reference;
  }

  // The next URL. The queue is not empty.
  Reference Front(ChunkPool& pool) { return depths_.back().records.Front(pool); }
  // Removes the URL that Front() returned.
  void PopFront(ChunkPool& pool) {
    depths_.back().records.PopFront(pool);
    if (depths_.back().records.empty()) depths_.pop_back();
  }

  // Removes all URLs.
  void Clear(ChunkPool& pool) {
    for (Depth& depth : depths_) depth.records.Clear(pool);
    depths_ = {};
  }

  // Calls visit(reference) for each URL in order.
  template <typename Visit>
  void ForEach(const ChunkPool& pool, Visit visit) const {
    for (auto depth = depths_.rbegin(); depth != depths_.rend(); ++depth) {
      depth->records.ForEach(pool, visit);
    }
  }

  // The three steps of a batch that is about to Append() or to read Front(): each touches what the
  // step before it has fetched.
  void PrefetchDepths() const { __builtin_prefetch(depths_.data()); }
  void PrefetchTail(const ChunkPool& pool, uint32_t depth) const {
    const auto place = const_cast<HostQueue*>(this)->Find(depth);
    if (place != depths_.end()) place->records.PrefetchTail(pool);
  }
  void PrefetchHead(const ChunkPool& pool) const {
    if (!depths_.empty()) depths_.back().records.PrefetchHead(pool);
  }

 private:
  struct Depth {
    uint32_t depth;
    RecordQueue records;
  };

  // The queue of `depth`, or the place where it belongs.
  std::vector<Depth>::iterator Find(uint32_t depth) {
    return std::lower_bound(depths_.begin(), depths_.end(), depth,
                            [](const Depth& d, uint32_t wanted) { return d.depth > wanted; });
  }

  std::vector<Depth> depths_;
};

}  // namespace escalona

#endif  // ESCALONA_FRONTIER_HOST_QUEUE_H_

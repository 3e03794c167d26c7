// A queue by key for entries that nearly always arrive in order.
#ifndef ESCALONA_REVISIT_RUN_QUEUE_H_
#define ESCALONA_REVISIT_RUN_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace escalona::revisit {

// Entries that arrive in order of their keys stand in a ring, one after the other in memory; the
// few others in a heap beside it, merged into the ring when they are too many. So a queue of
// millions costs what a FIFO costs, and the next entries are always in the cache.
//
// Invariant: the ring is ascending; the heap holds at most 64 entries more than a quarter of it.
// Push and Pop O(1) amortised for entries in order, O(log n) for others. Entries are never removed
// from the middle: the owner gives each a stamp, and skips at the front those that are out of date.
class RunQueue {
 public:
  struct Entry {
    double key;
    uint32_t id;
    uint32_t stamp;
  };

  [[nodiscard]] bool empty() const { return count_ == 0 && heap_.empty(); }
  [[nodiscard]] size_t size() const { return count_ + heap_.size(); }

  [[nodiscard]] const Entry& Front() const {
    return FrontInHeap() ? heap_.front() : ring_[head_ & mask()];
  }
  // An entry that will be at the front soon, so that what belongs to it can be loaded; may be null.
  // Starts to load the entries after it and the places behind the last.
  [[nodiscard]] const Entry* Soon() const {
    constexpr size_t kSoon = 4;
    constexpr size_t kLater = 12;
    if (count_ <= kLater) return nullptr;
    __builtin_prefetch(&ring_[(head_ + kLater) & mask()]);
    __builtin_prefetch(&ring_[(head_ + count_ + kSoon) & mask()], 1);
    return &ring_[(head_ + kSoon) & mask()];
  }

  void Pop() {
    if (FrontInHeap()) {
      std::pop_heap(heap_.begin(), heap_.end(), After);
      heap_.pop_back();
    } else {
      ++head_;
      --count_;
    }
  }

  // Pop(), and Push() of the same entry with another key: in order, and with an empty heap, no more
  // than a copy.
  void Renew(double key) {
    const uint32_t id = Front().id;
    const uint32_t stamp = Front().stamp;
    if (heap_.empty() && ring_[(head_ + count_ - 1) & mask()].key < key) [[likely]] {
      Entry& last = ring_[(head_++ + count_) & mask()];
      last.key = key;
      last.id = id;
      last.stamp = stamp;
      return;
    }
    Pop();
    Push({key, id, stamp});
  }

  void Push(const Entry& entry) {
    if (count_ == 0 || !After(ring_[(head_ + count_ - 1) & mask()], entry)) {
      if (count_ == ring_.size()) Resize(std::max<size_t>(4, count_ * 2));
      ring_[(head_ + count_++) & mask()] = entry;
      return;
    }
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), After);
    if (heap_.size() > 64 + count_ / 4) MergeHeap();
  }

  // Calls see(entry) for every entry, in no particular order.
  template <typename See>
  void ForEach(const See& see) const {
    for (size_t i = 0; i < count_; ++i) see(ring_[(head_ + i) & mask()]);
    for (const Entry& entry : heap_) see(entry);
  }

  // Drops the entries for which `keep` is false.
  template <typename Keep>
  void Filter(const Keep& keep) {
    std::vector<Entry> kept;
    kept.reserve(size());
    for (size_t i = 0; i < count_; ++i) {
      if (keep(ring_[(head_ + i) & mask()])) kept.push_back(ring_[(head_ + i) & mask()]);
    }
    std::erase_if(heap_, [&](const Entry& entry) { return !keep(entry); });
    std::make_heap(heap_.begin(), heap_.end(), After);
    head_ = 0;
    count_ = kept.size();
    Assign(kept);
  }

 private:
  static bool After(const Entry& a, const Entry& b) {
    return a.key > b.key || (a.key == b.key && a.id > b.id);
  }
  static bool Before(const Entry& a, const Entry& b) { return After(b, a); }
  [[nodiscard]] size_t mask() const { return ring_.size() - 1; }
  [[nodiscard]] bool FrontInHeap() const {
    return !heap_.empty() && (count_ == 0 || After(ring_[head_ & mask()], heap_.front()));
  }

  void Resize(size_t capacity) {
    std::vector<Entry> larger(capacity);
    for (size_t i = 0; i < count_; ++i) larger[i] = ring_[(head_ + i) & mask()];
    ring_.swap(larger);
    head_ = 0;
  }
  // Makes the ring hold `entries`, in a power of two of places.
  void Assign(std::vector<Entry>& entries) {
    size_t capacity = 4;
    while (capacity < entries.size()) capacity *= 2;
    entries.resize(capacity);
    ring_.swap(entries);
  }
  void MergeHeap() {
    std::sort(heap_.begin(), heap_.end(), Before);
    std::vector<Entry> run(count_);
    for (size_t i = 0; i < count_; ++i) run[i] = ring_[(head_ + i) & mask()];
    std::vector<Entry> merged(run.size() + heap_.size());
    std::merge(run.begin(), run.end(), heap_.begin(), heap_.end(), merged.begin(), Before);
    heap_.clear();
    head_ = 0;
    count_ = merged.size();
    Assign(merged);
  }

  std::vector<Entry> ring_;  // a power of two of places, or none
  size_t head_ = 0;
  size_t count_ = 0;
  std::vector<Entry> heap_;
};

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_RUN_QUEUE_H_

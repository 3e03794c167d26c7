// Who waits for a moment, the earliest first.
#ifndef ESCALONA_FRONTIER_WAITING_H_
#define ESCALONA_FRONTIER_WAITING_H_

#include <cstdint>
#include <vector>

namespace escalona::frontier {

// Waits in at most one heap.
struct Waiter {
  static constexpr uint32_t kNowhere = UINT32_MAX;

  int64_t wake = 0;
  uint32_t heap_place = kNowhere;
  bool is_group = false;
};

// A heap of four children per node that knows the place of each waiter, so that one can be taken
// out. O(log n) each; 16 bytes per waiter.
class WaitingHeap {
 public:
  bool empty() const { return heap_.empty(); }
  int64_t earliest() const { return heap_.front().wake; }
  Waiter& front() const { return *heap_.front().waiter; }
  // All of them, in no order.
  std::vector<Waiter*> All() const {
    std::vector<Waiter*> all;
    all.reserve(heap_.size());
    for (const Entry& entry : heap_) all.push_back(entry.waiter);
    return all;
  }

  void Insert(Waiter& waiter, int64_t wake) {
    waiter.wake = wake;
    heap_.push_back({wake, &waiter});
    Rise(heap_.size() - 1);
  }
  void Erase(Waiter& waiter) {
    const size_t at = waiter.heap_place;
    const Entry last = heap_.back();
    heap_.pop_back();
    waiter.heap_place = Waiter::kNowhere;
    if (last.waiter == &waiter) return;
    heap_[at] = last;
    last.waiter->heap_place = static_cast<uint32_t>(at);
    Sink(at);
    Rise(last.waiter->heap_place);
  }

 private:
  struct Entry {
    int64_t wake;
    Waiter* waiter;
  };
  static constexpr size_t kChildren = 4;

  void Set(size_t at, const Entry& entry) {
    heap_[at] = entry;
    entry.waiter->heap_place = static_cast<uint32_t>(at);
  }
  void Rise(size_t at) {
    const Entry entry = heap_[at];
    while (at > 0 && entry.wake < heap_[(at - 1) / kChildren].wake) {
      Set(at, heap_[(at - 1) / kChildren]);
      at = (at - 1) / kChildren;
    }
    Set(at, entry);
  }
  void Sink(size_t at) {
    const Entry entry = heap_[at];
    for (;;) {
      const size_t first = at * kChildren + 1;
      if (first >= heap_.size()) break;
      size_t least = first;
      for (size_t child = first + 1; child < first + kChildren && child < heap_.size(); ++child) {
        if (heap_[child].wake < heap_[least].wake) least = child;
      }
      if (heap_[least].wake >= entry.wake) break;
      Set(at, heap_[least]);
      at = least;
    }
    Set(at, entry);
  }

  std::vector<Entry> heap_;
};

}  // namespace escalona::frontier

#endif  // ESCALONA_FRONTIER_WAITING_H_

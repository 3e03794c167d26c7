// A min-heap of small numbers by a double, in which any entry can be moved or removed.
#ifndef ESCALONA_REVISIT_INDEXED_HEAP_H_
#define ESCALONA_REVISIT_INDEXED_HEAP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace escalona::revisit {

// Invariant: entries_[i] stands not before its parent entries_[(i-1)/4] in the order (key, id), and
// place_[id] is the index of id's entry. Four children per node: half the levels of a binary heap,
// and the children of a node share a cache line. Set and Remove O(log n), Top O(1).
class IndexedHeap {
 public:
  struct Entry {
    double key;
    uint32_t id;
  };

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] size_t size() const { return entries_.size(); }
  [[nodiscard]] const Entry& Top() const { return entries_.front(); }
  [[nodiscard]] bool Contains(uint32_t id) const {
    return id < place_.size() && place_[id] != kNowhere;
  }
  [[nodiscard]] double KeyOf(uint32_t id) const { return entries_[place_[id]].key; }

  // Adds id, or changes its key.
  void Set(uint32_t id, double key) {
    if (id >= place_.size()) place_.resize(std::max<size_t>(id + 1, place_.size() * 2), kNowhere);
    size_t i = place_[id];
    if (i == kNowhere) {
      i = entries_.size();
      entries_.push_back({key, id});
      place_[id] = static_cast<uint32_t>(i);
    } else {
      entries_[i].key = key;
    }
    SiftDown(SiftUp(i));
  }

  // The least entry moves to `key`, which is not less than its own: the common case of Set.
  void RaiseTop(double key) {
    entries_.front().key = key;
    SiftDown(0);
  }

  void Remove(uint32_t id) {
    if (!Contains(id)) return;
    const size_t i = place_[id];
    place_[id] = kNowhere;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (i == entries_.size()) return;
    Put(i, last);
    SiftDown(SiftUp(i));
  }

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;
  static constexpr size_t kChildren = 4;

  static bool Less(const Entry& a, const Entry& b) {
    return a.key < b.key || (a.key == b.key && a.id < b.id);
  }
  void Put(size_t i, const Entry& entry) {
    entries_[i] = entry;
    place_[entry.id] = static_cast<uint32_t>(i);
  }
  size_t SiftUp(size_t i) {
    const Entry entry = entries_[i];
    while (i > 0 && Less(entry, entries_[(i - 1) / kChildren])) {
      Put(i, entries_[(i - 1) / kChildren]);
      i = (i - 1) / kChildren;
    }
    Put(i, entry);
    return i;
  }
  void SiftDown(size_t i) {
    const Entry entry = entries_[i];
    const size_t n = entries_.size();
    for (size_t child = kChildren * i + 1; child < n; child = kChildren * i + 1) {
      const size_t end = std::min(child + kChildren, n);
      size_t least = child;
      for (size_t c = child + 1; c < end; ++c) {
        if (Less(entries_[c], entries_[least])) least = c;
      }
      if (!Less(entries_[least], entry)) break;
      Put(i, entries_[least]);
      i = least;
    }
    Put(i, entry);
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> place_;  // by id
};

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_INDEXED_HEAP_H_

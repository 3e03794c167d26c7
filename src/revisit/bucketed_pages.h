// Pages in buckets of nearly equal frequency, each bucket in the order of its last visits.
#ifndef ESCALONA_REVISIT_BUCKETED_PAGES_H_
#define ESCALONA_REVISIT_BUCKETED_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/huge_memory.h"
#include "escalona/revisit_policy.h"
#include "revisit/block_minima.h"
#include "revisit/run_queue.h"

namespace escalona::revisit {

// Frequencies within a ratio of e^width share a bucket and are visited at its mean. All pages of a
// bucket having one interval, they take turns: the one visited longest ago is the next due and the
// latest, and a page just visited goes to the end. So the choice among millions of pages is a
// choice among the fronts of some hundred buckets.
//
// The loss: with frequencies spread evenly over a bucket, a page's own differs from the mean by a
// factor of variance width^2/12, and since the allocation is optimal only the second order counts:
// at most 0.37/2 * width^2/12 of a page's freshness, 1.5e-4 for width 0.1.
//
// Invariant: every page inserted has exactly one entry whose stamp is current, in the queue of its
// bucket; the front of each queue is such an entry. Insert and Visit O(1) amortised plus the choice
// of a bucket; see Earliest and Latest.
class BucketedPages {
 public:
  enum class Order : uint8_t { kByDue, kByLateness };
  struct Front {
    uint32_t bucket;
    PageId page;
    double last;      // its last visit
    double interval;  // 1/f of the bucket
  };

  BucketedPages(double width, Order order) : width_(width), order_(order) {}

  // Starts anew with other parameters and no pages, but knows the last visit of each still.
  void Reset(double width, Order order);

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] Order order() const { return order_; }

  [[nodiscard]] bool Contains(PageId id) const {
    return id < places_.size() && places_[id].bucket != kNowhere;
  }
  // `frequency` > 0; the page is not inserted yet.
  void Insert(PageId id, double frequency, double last);
  // The page was inserted with `frequency`.
  void Erase(PageId id, double frequency);
  // Notes the last visit of a page that is not inserted.
  void Remember(PageId id, double last);
  // The last visit of a page inserted or remembered, now or before. O(1) amortised: see Bucket.
  [[nodiscard]] double LastVisit(PageId id) {
    if (Contains(id)) NoteVisits(places_[id].bucket);
    return places_[id].last;
  }

  // When the earliest page is due: last visit plus interval. Order kByDue; size() > 0.
  [[nodiscard]] double EarliestDue() const { return due_.Least(); }
  // That page, the lesser bucket first among equals.
  [[nodiscard]] Front Earliest() const {
    return FrontOf(static_cast<uint32_t>(due_.IndexOfLeast()));
  }
  // The page with the greatest (time - last) f. Order kByLateness; size() > 0. A pass over the
  // buckets, two numbers each.
  [[nodiscard]] Front Latest(double time) const;

  // The front of `bucket` was visited; it counts as visited at `last`.
  void Visit(uint32_t bucket, double last);

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;
  struct Place {
    double last = kNever;
    uint32_t stamp = 0;  // of the entry in force
    uint32_t bucket = kNowhere;
  };
  // The queue knows the last visit of each page; noting it in the page's place too is a write to a
  // random address. A bucket that was not asked for it during as many visits as it has pages stops
  // noting, and makes up for that when asked: one pass, for no more pages than there were visits.
  struct Bucket {
    RunQueue queue;
    int64_t number = 0;  // floor(log f / width)
    size_t count = 0;    // pages; the queue may hold stale entries besides
    double sum = 0;      // of their frequencies
    size_t unasked = 0;  // visits noted since the last question
    bool noted = true;   // the places of all its pages know the last visit
  };

  [[nodiscard]] Front FrontOf(uint32_t bucket) const {
    return {bucket, buckets_[bucket].queue.Front().id, front_last_[bucket], interval_[bucket]};
  }
  [[nodiscard]] bool IsCurrent(const RunQueue::Entry& entry) const {
    return places_[entry.id].stamp == entry.stamp;
  }
  uint32_t BucketOf(double frequency);
  void SetMean(uint32_t bucket);
  void RefreshFront(uint32_t bucket);
  void NoteVisits(uint32_t bucket);
  void Release(uint32_t bucket);

  double width_;
  Order order_;
  size_t size_ = 0;
  HugeVector<Place> places_;  // by page
  std::vector<Bucket> buckets_;
  std::vector<uint32_t> free_;
  absl::flat_hash_map<int64_t, uint32_t> by_number_;
  // By bucket, side by side for Latest: last visit of the front (infinity: no page) and mean
  // frequency. Padded to whole vectors.
  std::vector<double> front_last_;
  std::vector<double> frequency_;
  std::vector<double> interval_;  // 1/frequency_
  BlockMinima due_;               // in order kByDue
};

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_BUCKETED_PAGES_H_

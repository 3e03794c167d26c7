// MERGE and DELAYED: a heap of the pages by their ideal times.
#include <algorithm>
#include <limits>
#include <memory>

#include "revisit/indexed_heap.h"
#include "revisit/policies.h"
#include "revisit/random_source.h"
#include "revisit/slot_clock.h"

namespace escalona::revisit {
namespace {

// The page's wait until its first ideal time: what is left of the interval since its last visit,
// or a random part of an interval.
double FirstWait(double frequency, double now, double last_visit, RandomSource& random) {
  if (last_visit == kNever) return random.Unit() / frequency;
  return std::max(last_visit + 1 / frequency - now, 0.0);
}

// Slots are evenly spaced; each takes the page with the least key, and the key grows by 1/f.
//
// Keys live in a time of their own, which stands still at the last key taken: with slots missed or
// pages removed it runs apart from the clock, and only the order of keys matters. Invariant: the
// heap holds exactly the pages with f > 0, none with a key before that time.
class MergePolicy final : public RevisitPolicy {
 public:
  explicit MergePolicy(const PolicyOptions& options)
      : RevisitPolicy(options), random_(options.seed) {}

 protected:
  void OnAdd(PageId id, double now, double last_visit, double /*old_total*/) override {
    Schedule(id, now, last_visit);
    slots_.SetRate(total_frequency(), now, random_.Unit());
  }
  void OnUpdate(PageId id, const KnownPage& old, double now, double /*old_total*/) override {
    const double f = pages_[id].frequency;
    if (f > 0 && old.frequency > 0) {
      keys_.Set(id, key_time_ + (keys_.KeyOf(id) - key_time_) * (old.frequency / f));
    } else if (f > 0) {
      Schedule(id, now, kNever);
    } else {
      keys_.Remove(id);
    }
    slots_.SetRate(total_frequency(), now, random_.Unit());
  }
  void OnRemove(PageId id, const KnownPage& /*old*/, double now, double /*old_total*/) override {
    keys_.Remove(id);
    slots_.SetRate(total_frequency(), now, random_.Unit());
  }
  [[nodiscard]] double Due() const override { return slots_.next(); }

  PageId Choose(double now) override {
    slots_.Use(now);
    const IndexedHeap::Entry top = keys_.Top();
    key_time_ = top.key;
    keys_.RaiseTop(top.key + 1 / pages_[top.id].frequency);
    return top.id;
  }

 private:
  void Schedule(PageId id, double now, double last_visit) {
    const double f = pages_[id].frequency;
    if (f > 0) keys_.Set(id, key_time_ + FirstWait(f, now, last_visit, random_));
  }

  RandomSource random_;
  SlotClock slots_;
  IndexedHeap keys_;
  double key_time_ = 0;
};

// Each page at its own evenly spaced ideal times; one due while politeness forbids a request waits,
// and its next ideal time counts from the ideal one. Invariant: the heap holds exactly the pages
// with f > 0.
class DelayedPolicy final : public RevisitPolicy {
 public:
  explicit DelayedPolicy(const PolicyOptions& options)
      : RevisitPolicy(options), random_(options.seed) {}

 protected:
  void OnAdd(PageId id, double now, double last_visit, double /*old_total*/) override {
    Schedule(id, now, last_visit);
  }
  void OnUpdate(PageId id, const KnownPage& old, double now, double /*old_total*/) override {
    const double f = pages_[id].frequency;
    if (f > 0 && old.frequency > 0) {
      ideal_.Set(id, now + (ideal_.KeyOf(id) - now) * (old.frequency / f));
    } else if (f > 0) {
      Schedule(id, now, kNever);
    } else {
      ideal_.Remove(id);
    }
  }
  void OnRemove(PageId id, const KnownPage& /*old*/, double /*now*/,
                double /*old_total*/) override {
    ideal_.Remove(id);
  }
  [[nodiscard]] double Due() const override {
    return ideal_.empty() ? std::numeric_limits<double>::infinity() : ideal_.Top().key;
  }

  PageId Choose(double /*now*/) override {
    const IndexedHeap::Entry top = ideal_.Top();
    ideal_.RaiseTop(top.key + 1 / pages_[top.id].frequency);
    return top.id;
  }

 private:
  void Schedule(PageId id, double now, double last_visit) {
    const double f = pages_[id].frequency;
    if (f > 0) ideal_.Set(id, now + FirstWait(f, now, last_visit, random_));
  }

  RandomSource random_;
  IndexedHeap ideal_;
};

}  // namespace

std::unique_ptr<RevisitPolicy> MakeMergePolicy(const PolicyOptions& options) {
  return std::make_unique<MergePolicy>(options);
}

std::unique_ptr<RevisitPolicy> MakeDelayedPolicy(const PolicyOptions& options) {
  return std::make_unique<DelayedPolicy>(options);
}

}  // namespace escalona::revisit

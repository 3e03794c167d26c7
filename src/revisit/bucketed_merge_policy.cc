// Bucketed MERGE: MERGE on frequencies rounded to buckets, at a cost that does not grow with pages.
#include <algorithm>
#include <memory>

#include "revisit/bucketed_pages.h"
#include "revisit/policies.h"
#include "revisit/random_source.h"
#include "revisit/slot_clock.h"

namespace escalona::revisit {
namespace {

constexpr double kWidth = 0.1;

// MERGE's key is the due time of BucketedPages, whose "last visit" here is the previous key.
// Invariant: the buckets hold exactly the pages with f > 0.
class BucketedMergePolicy final : public RevisitPolicy {
 public:
  explicit BucketedMergePolicy(const PolicyOptions& options)
      : RevisitPolicy(options),
        random_(options.seed),
        buckets_(kWidth, BucketedPages::Order::kByDue) {}

 protected:
  void OnAdd(PageId id, double now, double last_visit, double /*old_total*/) override {
    const double f = pages_[id].frequency;
    if (f > 0) buckets_.Insert(id, f, key_time_ - Age(f, now, last_visit));
    slots_.SetRate(total_frequency(), now, random_.Unit());
  }
  void OnUpdate(PageId id, const KnownPage& old, double now, double /*old_total*/) override {
    const double f = pages_[id].frequency;
    double age = old.frequency > 0 ? key_time_ - buckets_.LastVisit(id) : 0;
    if (old.frequency > 0) buckets_.Erase(id, old.frequency);
    age = old.frequency > 0 ? age * (old.frequency / f) : random_.Unit() / f;
    if (f > 0) buckets_.Insert(id, f, key_time_ - age);
    slots_.SetRate(total_frequency(), now, random_.Unit());
  }
  void OnRemove(PageId id, const KnownPage& old, double now, double /*old_total*/) override {
    if (old.frequency > 0) buckets_.Erase(id, old.frequency);
    slots_.SetRate(total_frequency(), now, random_.Unit());
  }
  [[nodiscard]] double Due() const override { return slots_.next(); }

  PageId Choose(double now) override {
    slots_.Use(now);
    const BucketedPages::Front front = buckets_.Earliest();
    key_time_ = std::max(key_time_, front.last + front.interval);
    buckets_.Visit(front.bucket, key_time_);
    return front.page;
  }

 private:
  // How long ago the previous key lies: a random part of an interval without a last visit.
  double Age(double frequency, double now, double last_visit) {
    if (last_visit == kNever) return random_.Unit() / frequency;
    return std::min(now - last_visit, 1 / frequency);
  }

  RandomSource random_;
  SlotClock slots_;
  BucketedPages buckets_;
  double key_time_ = 0;
};

}  // namespace

std::unique_ptr<RevisitPolicy> MakeBucketedMergePolicy(const PolicyOptions& options) {
  return std::make_unique<BucketedMergePolicy>(options);
}

}  // namespace escalona::revisit

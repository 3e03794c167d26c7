// HYBRID: page-timed, by relative lateness where the server is saturated, unvisited pages first.
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "escalona/allocation.h"
#include "revisit/bucketed_pages.h"
#include "revisit/policies.h"
#include "revisit/random_source.h"
#include "revisit/run_queue.h"
#include "revisit/slot_clock.h"

namespace escalona::revisit {
namespace {

using Order = BucketedPages::Order;

// A server is saturated from this share of 1/P on; the gap keeps it from going to and fro.
constexpr double kSaturated = 0.95;
constexpr double kUnsaturated = 0.93;

// Widths of buckets. With few pages nearly each has a bucket of its own; Latest passes over all
// buckets and needs them to be few, Earliest less so.
constexpr double kFineWidth = 0x1p-10;
constexpr double kDueWidth = 0.05;
constexpr double kLatenessWidth = 0.1;
constexpr size_t kFewPages = 96;
constexpr size_t kManyPages = 160;

// One slot in so many goes to the scheduled page and one to the unvisited page whatever their
// worth, so that an endless stream of either cannot starve the other.
constexpr uint32_t kTurns = 64;

// Pages never visited.
class UnvisitedPages {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  // How many have f > 0.
  [[nodiscard]] size_t planned() const { return planned_; }
  [[nodiscard]] bool Contains(PageId id) const { return id < stamps_.size() && stamps_[id] != 0; }

  // `urgency` is L/w: the head of the queue is the page of least urgency, that stays fresh longest.
  void Insert(PageId id, double change_rate, double weight, bool planned) {
    if (id >= stamps_.size()) stamps_.resize(std::max<size_t>(id + 1, stamps_.size() * 2), 0);
    if (++last_stamp_ == 0) ++last_stamp_;
    stamps_[id] = last_stamp_;
    const double key = weight > 0 ? change_rate / weight : std::numeric_limits<double>::infinity();
    queue_.Push({key, id, last_stamp_});
    ++count_;
    planned_ += planned;
    SkipStale();
  }
  void Erase(PageId id, bool planned) {
    stamps_[id] = 0;
    --count_;
    planned_ -= planned;
    if (queue_.size() > 2 * count_ + 16) {
      queue_.Filter([this](const RunQueue::Entry& e) { return stamps_[e.id] == e.stamp; });
    }
    SkipStale();
  }
  [[nodiscard]] PageId Head() const { return queue_.Front().id; }
  // w/L of the head: the freshness a visit brings, over all time.
  [[nodiscard]] double Worth() const { return 1 / queue_.Front().key; }

 private:
  void SkipStale() {
    while (!queue_.empty() && stamps_[queue_.Front().id] != queue_.Front().stamp) queue_.Pop();
  }

  RunQueue queue_;                // by L/w
  std::vector<uint32_t> stamps_;  // by page; 0: not here
  uint32_t last_stamp_ = 0;
  size_t count_ = 0;
  size_t planned_ = 0;
};

// A page is unvisited, or scheduled (in the buckets: visited before and f > 0), or idle (f = 0).
//
// Saturated servers use evenly spaced slots and give each to the page with the greatest
// (age + slot/2) f. Others visit each page when it is due, an interval after its previous due time.
// While there are planned pages never visited, and until what fell behind meanwhile is made up,
// these servers use slots too, so that they keep to their rate. A slot goes to the unvisited page
// of greatest w/L if that exceeds the index (w/L) g(L age) of the scheduled page.
class HybridPolicy final : public RevisitPolicy {
 public:
  explicit HybridPolicy(const PolicyOptions& options)
      : RevisitPolicy(options), random_(options.seed), buckets_(kFineWidth, Order::kByDue) {}

 protected:
  void OnAdd(PageId id, double now, double last_visit, double /*old_total*/) override {
    const KnownPage& page = pages_[id];
    if (last_visit == kNever) {
      unvisited_.Insert(id, page.change_rate, page.weight, page.frequency > 0);
    } else if (page.frequency > 0) {
      buckets_.Insert(id, page.frequency, last_visit);
    } else {
      buckets_.Remember(id, last_visit);
    }
    Changed(now);
  }

  void OnUpdate(PageId id, const KnownPage& old, double now, double /*old_total*/) override {
    const KnownPage& page = pages_[id];
    if (unvisited_.Contains(id)) {
      unvisited_.Erase(id, old.frequency > 0);
      unvisited_.Insert(id, page.change_rate, page.weight, page.frequency > 0);
    } else {
      double last = buckets_.LastVisit(id);
      if (old.frequency > 0) buckets_.Erase(id, old.frequency);
      if (page.frequency > 0) {
        if (old.frequency > 0) last = now - (now - last) * (old.frequency / page.frequency);
        buckets_.Insert(id, page.frequency, last);
      }
    }
    Changed(now);
  }

  void OnRemove(PageId id, const KnownPage& old, double now, double /*old_total*/) override {
    if (unvisited_.Contains(id)) {
      unvisited_.Erase(id, old.frequency > 0);
    } else if (old.frequency > 0) {
      buckets_.Erase(id, old.frequency);
    }
    Changed(now);
  }

  void OnPoliteness(double now) override { Changed(now); }

  [[nodiscard]] double Due() const override {
    if (slotted_) return slots_.next();
    return buckets_.size() > 0 ? buckets_.EarliestDue() : std::numeric_limits<double>::infinity();
  }

  PageId Choose(double now) override { return slotted_ ? ChooseInSlot(now) : ChooseTimed(now); }

 private:
  PageId ChooseTimed(double now) {
    const BucketedPages::Front front = buckets_.Earliest();
    const double due = front.last + front.interval;
    // The next interval counts from the due time, unless so late that visits would run together.
    buckets_.Visit(front.bucket, now - due < front.interval ? due : now);
    return front.page;
  }

  PageId ChooseInSlot(double now) {
    ++turn_;
    const double half_slot = slots_.interval() / 2;
    slots_.Use(now);
    if (buckets_.size() == 0) return VisitFirstTime(now);
    const BucketedPages::Front front =
        saturated_ ? buckets_.Latest(now + half_slot) : buckets_.Earliest();
    if (!unvisited_.empty() && IsUnvisitedWorthMore(front, now)) return VisitFirstTime(now);
    buckets_.Visit(front.bucket, now);
    LeaveSlots(now);
    return front.page;
  }

  [[nodiscard]] bool IsUnvisitedWorthMore(const BucketedPages::Front& front, double now) const {
    if (turn_ % kTurns == 0) return now - front.last < front.interval;
    if (turn_ % kTurns == kTurns / 2 && unvisited_.planned() > 0) return true;
    const KnownPage& page = pages_[front.page];
    if (page.change_rate == 0) return true;
    const double index = page.weight / page.change_rate * G(page.change_rate * (now - front.last));
    return unvisited_.Worth() > index;
  }

  PageId VisitFirstTime(double now) {
    const PageId id = unvisited_.Head();
    const double f = pages_[id].frequency;
    unvisited_.Erase(id, f > 0);
    if (f > 0) {
      buckets_.Insert(id, f, now);
      FitBuckets();
    } else {
      buckets_.Remember(id, now);
    }
    LeaveSlots(now);
    return id;
  }

  // Page-timed again once no planned page is unvisited and none is overdue.
  void LeaveSlots(double now) {
    if (saturated_ || unvisited_.planned() > 0) return;
    slotted_ = buckets_.size() > 0 && buckets_.EarliestDue() <= now;
  }

  void Changed(double now) {
    FitBuckets();
    slots_.SetRate(total_frequency(), now, random_.Unit());
    const bool was_slotted = slotted_;
    if (saturated_ || unvisited_.planned() > 0) {
      slotted_ = true;
      if (!was_slotted) slots_.Restart(now, random_.Unit());
    } else {
      LeaveSlots(now);
    }
  }

  // Gives the buckets the order and the width that suit the server.
  void FitBuckets() {
    const double load = total_frequency() * politeness();
    saturated_ = load > (saturated_ ? kUnsaturated : kSaturated);
    const Order order = saturated_ ? Order::kByLateness : Order::kByDue;
    const bool was_few = buckets_.width() == kFineWidth;
    const bool few = buckets_.size() <= (was_few ? kManyPages : kFewPages);
    if (order == buckets_.order() && few == was_few) return;
    const double coarse = saturated_ ? kLatenessWidth : kDueWidth;
    Rebuild(few ? kFineWidth : coarse, order);
  }

  void Rebuild(double width, Order order) {
    struct Scheduled {
      double last;
      PageId id;
    };
    std::vector<Scheduled> scheduled;
    scheduled.reserve(buckets_.size());
    for (PageId id = 0; id < pages_.size(); ++id) {
      if (pages_[id].frequency > 0 && buckets_.Contains(id)) {
        scheduled.push_back({buckets_.LastVisit(id), id});
      }
    }
    std::sort(scheduled.begin(), scheduled.end(), [](const Scheduled& a, const Scheduled& b) {
      return a.last < b.last || (a.last == b.last && a.id < b.id);
    });
    buckets_.Reset(width, order);
    for (const Scheduled& page : scheduled) {
      buckets_.Insert(page.id, pages_[page.id].frequency, page.last);
    }
  }

  RandomSource random_;
  SlotClock slots_;
  UnvisitedPages unvisited_;
  BucketedPages buckets_;
  bool saturated_ = false;  // exactly when the order of the buckets is kByLateness
  bool slotted_ = false;    // slots_ decides when, not the pages' due times
  uint32_t turn_ = 0;
};

}  // namespace

std::unique_ptr<RevisitPolicy> MakeHybridPolicy(const PolicyOptions& options) {
  return std::make_unique<HybridPolicy>(options);
}

}  // namespace escalona::revisit

// The evenly spaced slots of one server.
#ifndef ESCALONA_REVISIT_SLOT_CLOCK_H_
#define ESCALONA_REVISIT_SLOT_CLOCK_H_

#include <limits>

namespace escalona::revisit {

// Slots 1/rate apart. Invariant: rate 0 exactly when next() is infinite. O(1).
class SlotClock {
 public:
  [[nodiscard]] double next() const { return next_; }
  [[nodiscard]] double interval() const { return interval_; }

  // Changes the rate. The first slot comes after a `phase` (in [0, 1)) of an interval; later the
  // wait that is left shrinks or grows with the interval.
  void SetRate(double rate, double now, double phase) {
    if (!(rate > 0)) {
      next_ = std::numeric_limits<double>::infinity();
      rate_ = 0;
      return;
    }
    if (rate_ == 0) {
      next_ = now + phase / rate;
    } else if (next_ > now) {
      next_ = now + (next_ - now) * (rate_ / rate);
    }
    rate_ = rate;
    interval_ = 1 / rate;
  }

  // Slots begin anew after a `phase` of an interval, when they were not used for a while.
  void Restart(double now, double phase) {
    if (rate_ > 0) next_ = now + phase / rate_;
  }

  // The slot was used at `now` >= next(). Slots missed meanwhile are lost.
  void Use(double now) {
    next_ += interval_;
    if (next_ < now) next_ = now + interval_;
  }

 private:
  double next_ = std::numeric_limits<double>::infinity();
  double rate_ = 0;
  double interval_ = 0;  // 1/rate_
};

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_SLOT_CLOCK_H_

// Where time comes from, so that a test can let six years pass in a millisecond.
#ifndef ESCALONA_CLOCK_H_
#define ESCALONA_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace escalona {

// Thread-safe. The time of the calendar, which may stand still or step back; who uses it must not
// break then.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  virtual absl::Time Now() const = 0;
};

class SystemClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
};

// Stands still until it is told otherwise.
class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(absl::Time start) : micros_(absl::ToUnixMicros(start)) {}

  absl::Time Now() const override { return absl::FromUnixMicros(micros_.load()); }
  void Set(absl::Time now) { micros_.store(absl::ToUnixMicros(now)); }
  void Advance(absl::Duration by) { micros_.fetch_add(absl::ToInt64Microseconds(by)); }

 private:
  std::atomic<int64_t> micros_;
};

}  // namespace escalona

#endif  // ESCALONA_CLOCK_H_

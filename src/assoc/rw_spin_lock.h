// A lock of four bytes for many readers or one writer, for critical sections of a microsecond.
#ifndef ESCALONA_ASSOC_RW_SPIN_LOCK_H_
#define ESCALONA_ASSOC_RW_SPIN_LOCK_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace escalona::assoc {

// Invariant: kWriter is set by at most one holder, and then no reader holds the lock. A waiting
// writer keeps new readers out, so writers do not starve. Waits by spinning, then by yielding,
// then by sleeping, because some sections (a list that grows) are longer.
class RwSpinLock {
 public:
  bool TryLockShared() {
    uint32_t state = state_.load(std::memory_order_relaxed);
    return (state & (kWriter | kWaiting)) == 0 &&
           state_.compare_exchange_strong(state, state + 1, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void LockShared() {
    for (int round = 0; !TryLockShared(); ++round) Pause(round);
  }
  void UnlockShared() { state_.fetch_sub(1, std::memory_order_release); }

  bool TryLock() {
    uint32_t state = state_.load(std::memory_order_relaxed);
    return (state & ~kWaiting) == 0 &&
           state_.compare_exchange_strong(state, kWriter, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  void Lock() {
    for (int round = 0; !TryLock(); ++round) {
      state_.fetch_or(kWaiting, std::memory_order_relaxed);
      Pause(round);
    }
  }
  void Unlock() { state_.fetch_and(~kWriter, std::memory_order_release); }

 private:
  static constexpr uint32_t kWriter = 1U << 31;
  static constexpr uint32_t kWaiting = 1U << 30;

  static void Pause(int round) {
    if (round < 64) return;
    if (round < 1024) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  std::atomic<uint32_t> state_ = 0;
};

class SharedHold {
 public:
  explicit SharedHold(RwSpinLock& lock) : lock_(lock) { lock_.LockShared(); }
  SharedHold(const SharedHold&) = delete;
  SharedHold& operator=(const SharedHold&) = delete;
  ~SharedHold() { lock_.UnlockShared(); }

 private:
  RwSpinLock& lock_;
};

class ExclusiveHold {
 public:
  explicit ExclusiveHold(RwSpinLock& lock) : lock_(lock) { lock_.Lock(); }
  ExclusiveHold(const ExclusiveHold&) = delete;
  ExclusiveHold& operator=(const ExclusiveHold&) = delete;
  ~ExclusiveHold() { lock_.Unlock(); }

 private:
  RwSpinLock& lock_;
};

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_RW_SPIN_LOCK_H_

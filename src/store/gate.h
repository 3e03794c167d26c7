// A lock that many may hold, or one alone.
#ifndef ESCALONA_STORE_GATE_H_
#define ESCALONA_STORE_GATE_H_

#include <atomic>

namespace escalona::store {

// For std::shared_lock, and std::unique_lock with std::try_to_lock. Who wants to be alone never
// waits, and others wait only for that one. So it may be taken twice by a thread, and held while
// visitors are called who lock what they like: neither holds with std::shared_mutex.
class Gate {
 public:
  void lock_shared() {
    int inside = inside_.load();
    while (true) {
      if (inside == kAlone) {
        inside_.wait(inside);
        inside = inside_.load();
      } else if (inside_.compare_exchange_weak(inside, inside + 1)) {
        return;
      }
    }
  }
  void unlock_shared() { inside_.fetch_sub(1); }

  bool try_lock() {
    int nobody = 0;
    return inside_.compare_exchange_strong(nobody, kAlone);
  }
  void unlock() {
    inside_.store(0);
    inside_.notify_all();
  }

 private:
  static constexpr int kAlone = -1;
  std::atomic<int> inside_ = 0;
};

}  // namespace escalona::store

#endif  // ESCALONA_STORE_GATE_H_

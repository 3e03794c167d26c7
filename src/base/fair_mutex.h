// A mutex that is given to those who wait in the order they came.
#ifndef ESCALONA_BASE_FAIR_MUTEX_H_
#define ESCALONA_BASE_FAIR_MUTEX_H_

#include <atomic>
#include <cstdint>

namespace escalona {

// Who unlocks a std::mutex and locks it again at once mostly gets it, before the thread that waited
// has woken up: one that does nothing else shuts all others out. Here each takes a number and waits
// for its turn. Not for sections so short that waking a thread takes longer than they do.
class FairMutex {
 public:
  void lock() {
    const uint32_t mine = next_.fetch_add(1);
    for (uint32_t turn = turn_.load(); turn != mine; turn = turn_.load()) turn_.wait(turn);
  }
  void unlock() {
    const uint32_t turn = turn_.fetch_add(1) + 1;
    if (next_.load() != turn) turn_.notify_all();
  }
  // How many wait for it.
  [[nodiscard]] uint32_t waiting() const {
    const uint32_t all = next_.load() - turn_.load();
    return all == 0 ? 0 : all - 1;
  }

 private:
  std::atomic<uint32_t> next_ = 0;  // the number of who comes next
  std::atomic<uint32_t> turn_ = 0;  // the number of who holds it
};

}  // namespace escalona

#endif  // ESCALONA_BASE_FAIR_MUTEX_H_

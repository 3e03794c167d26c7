// Frees memory that readers without a lock may still be looking at, once they cannot any more.
#ifndef ESCALONA_ASSOC_RECLAIMER_H_
#define ESCALONA_ASSOC_RECLAIMER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace escalona::assoc {

// Epochs. A guard counts its thread in at the present epoch. The epoch may go from e to e + 1 when
// nobody is counted in at e - 1 any more; what was retired (after it was made unreachable) in epoch
// e is freed when the epoch has come to e + 2, because whoever could have seen it has left by then.
// Entering and leaving is two atomic additions on a line that threads rarely share; nobody waits.
class Reclaimer {
 public:
  using Deleter = void (*)(void* block, void* context);

  class Guard {
   public:
    explicit Guard(Reclaimer& owner) : owner_(owner), counter_(owner.Enter()) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() {
      counter_.fetch_sub(1, std::memory_order_seq_cst);
      if (owner_.pending_.load(std::memory_order_relaxed)) owner_.TryFree();
    }

   private:
    Reclaimer& owner_;
    std::atomic<uint32_t>& counter_;
  };

  Reclaimer() = default;
  Reclaimer(const Reclaimer&) = delete;
  Reclaimer& operator=(const Reclaimer&) = delete;
  ~Reclaimer();

  // `block` cannot be reached any more by readers that enter from now on.
  void Retire(void* block, Deleter deleter, void* context);

 private:
  struct alignas(64) Slot {
    std::array<std::atomic<uint32_t>, 2> inside{};  // by parity of the epoch
  };
  struct Retired {
    uint64_t epoch;
    void* block;
    Deleter deleter;
    void* context;
  };

  std::atomic<uint32_t>& Enter();
  bool Deserted(uint64_t parity) const;
  void TryFree();

  std::array<Slot, 16> slots_;
  std::atomic<uint64_t> epoch_ = 1;
  std::atomic<bool> pending_ = false;
  std::mutex mutex_;
  std::vector<Retired> retired_;  // guarded by mutex_
};

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_RECLAIMER_H_

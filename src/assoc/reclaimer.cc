// Epoch-based reclamation.
#include "assoc/reclaimer.h"

#include <functional>
#include <thread>
#include <utility>

namespace escalona::assoc {

Reclaimer::~Reclaimer() {
  for (const Retired& item : retired_) item.deleter(item.block, item.context);
}

std::atomic<uint32_t>& Reclaimer::Enter() {
  const uint64_t thread = std::hash<std::thread::id>{}(std::this_thread::get_id());
  Slot& slot = slots_[(thread * 0x9E3779B97F4A7C15) >> 60];
  while (true) {
    const uint64_t epoch = epoch_.load(std::memory_order_seq_cst);
    std::atomic<uint32_t>& counter = slot.inside[epoch & 1];
    counter.fetch_add(1, std::memory_order_seq_cst);
    // Had the epoch moved on before we were counted in, we could be missed at this parity.
    if (epoch_.load(std::memory_order_seq_cst) == epoch) return counter;
    counter.fetch_sub(1, std::memory_order_seq_cst);
  }
}

bool Reclaimer::Deserted(uint64_t parity) const {
  for (const Slot& slot : slots_) {
    if (slot.inside[parity & 1].load(std::memory_order_seq_cst) != 0) return false;
  }
  return true;
}

void Reclaimer::Retire(void* block, Deleter deleter, void* context) {
  const std::lock_guard<std::mutex> lock(mutex_);
  retired_.push_back({epoch_.load(std::memory_order_seq_cst), block, deleter, context});
  pending_.store(true, std::memory_order_relaxed);
}

void Reclaimer::TryFree() {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  uint64_t epoch = epoch_.load(std::memory_order_seq_cst);
  for (int step = 0; step < 2 && Deserted(epoch - 1); ++step) {
    epoch_.store(++epoch, std::memory_order_seq_cst);
  }
  size_t kept = 0;
  for (const Retired& item : retired_) {
    if (item.epoch + 2 <= epoch) {
      item.deleter(item.block, item.context);
    } else {
      retired_[kept++] = item;
    }
  }
  retired_.resize(kept);
  pending_.store(kept != 0, std::memory_order_relaxed);
}

}  // namespace escalona::assoc

// The window of event ids: a ring in the order of arrival and a map from id to arrival.
#include "escalona/event_window.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "assoc/key.h"

namespace escalona {

EventId EventIdOf(std::string_view id) {
  constexpr uint64_t kOther = 0x452821E638D01377;
  return {assoc::HashKey(assoc::KeyKind::kBytes, id, 0),
          assoc::HashKey(assoc::KeyKind::kBytes, id, kOther)};
}

class EventWindow::Impl {
 public:
  explicit Impl(size_t capacity) : capacity_(capacity) {}

  bool Admit(const EventId& id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (capacity_ == 0) return true;
    if (!arrivals_.try_emplace(id, arrived_).second) return false;
    if (ring_.size() < capacity_) {
      ring_.push_back(id);
    } else {
      EventId& oldest = ring_[arrived_ % capacity_];
      // It may have been forgotten and have come again since.
      const auto found = arrivals_.find(oldest);
      if (found != arrivals_.end() && found->second == arrived_ - capacity_) arrivals_.erase(found);
      oldest = id;
    }
    ++arrived_;
    return true;
  }

  void Forget(const EventId& id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    arrivals_.erase(id);
  }

  void SetCapacity(size_t capacity) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t kept = std::min(capacity, ring_.size());
    std::vector<EventId> ring;
    absl::flat_hash_map<EventId, uint64_t> arrivals;
    for (uint64_t arrival = arrived_ - kept; arrival < arrived_; ++arrival) {
      const EventId& id = ring_[arrival % capacity_];
      // It may have been forgotten, and have come again since.
      const auto found = arrivals_.find(id);
      if (found != arrivals_.end() && found->second == arrival) arrivals.emplace(id, ring.size());
      ring.push_back(id);
    }
    ring_ = std::move(ring);
    arrivals_ = std::move(arrivals);
    arrived_ = kept;
    capacity_ = capacity;
  }

  size_t capacity() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return capacity_;
  }

  size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return arrivals_.size();
  }

 private:
  mutable std::mutex mutex_;
  size_t capacity_;            // guarded by mutex_
  std::vector<EventId> ring_;  // guarded by mutex_; place = arrival % capacity
  absl::flat_hash_map<EventId, uint64_t> arrivals_;  // guarded by mutex_
  uint64_t arrived_ = 0;                             // guarded by mutex_
};

EventWindow::EventWindow(size_t capacity) : impl_(std::make_unique<Impl>(capacity)) {}
EventWindow::~EventWindow() = default;
bool EventWindow::Admit(const EventId& id) { return impl_->Admit(id); }
void EventWindow::Forget(const EventId& id) { impl_->Forget(id); }
void EventWindow::SetCapacity(size_t capacity) { impl_->SetCapacity(capacity); }
size_t EventWindow::capacity() const { return impl_->capacity(); }
size_t EventWindow::size() const { return impl_->size(); }

}  // namespace escalona

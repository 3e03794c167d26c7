// Work on the pieces of a stream in parallel, taken in and handed out in order.
#ifndef ESCALONA_CLI_ORDERED_PIPELINE_H_
#define ESCALONA_CLI_ORDERED_PIPELINE_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace escalona::cli {

// Repeats: fill(job) in order, on the calling thread, until it returns false; work(job) on
// `threads` threads; drain(job) in order, on the calling thread. Jobs are used again, so what they
// allocate is kept. At most 2 threads + 2 jobs exist, whatever the length of the stream. Stops at
// the first failure of fill or drain and returns it. work must not fail; it leaves what went wrong
// in the job.
template <typename Job, typename Fill, typename Work, typename Drain>
absl::Status RunOrdered(int threads, const Fill& fill, const Work& work, const Drain& drain) {
  enum class State : uint8_t { kFree, kReady, kDone };
  struct Slot {
    Job job;
    State state = State::kFree;
  };
  std::vector<Slot> slots(2 * static_cast<size_t>(threads) + 2);
  std::mutex mutex;
  std::condition_variable ready;
  std::condition_variable done;
  uint64_t filled = 0;
  uint64_t taken = 0;
  uint64_t drained = 0;
  bool stop = false;

  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      std::unique_lock lock(mutex);
      while (true) {
        ready.wait(lock, [&] { return stop || taken < filled; });
        if (stop) return;
        Slot& slot = slots[taken++ % slots.size()];
        lock.unlock();
        work(slot.job);
        lock.lock();
        slot.state = State::kDone;
        done.notify_one();
      }
    });
  }
  absl::Status status;
  bool at_end = false;
  while (status.ok() && !(at_end && drained == filled)) {
    Slot& oldest = slots[drained % slots.size()];
    bool can_drain = false;
    {
      std::unique_lock lock(mutex);
      const bool full = at_end || filled - drained == slots.size();
      if (full) done.wait(lock, [&] { return oldest.state == State::kDone; });
      can_drain = drained < filled && oldest.state == State::kDone;
    }
    if (can_drain) {
      status = drain(oldest.job);
      oldest.state = State::kFree;
      ++drained;
      continue;
    }
    Slot& next = slots[filled % slots.size()];
    absl::StatusOr<bool> more = fill(next.job);
    if (!more.ok()) status = more.status();
    at_end = !more.ok() || !*more;
    if (at_end) continue;
    const std::lock_guard lock(mutex);
    next.state = State::kReady;
    ++filled;
    ready.notify_one();
  }
  {
    const std::lock_guard lock(mutex);
    stop = true;
  }
  ready.notify_all();
  for (std::thread& worker : workers) worker.join();
  return status;
}

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_ORDERED_PIPELINE_H_

// A few threads for work that may wait.
#ifndef ESCALONA_SERVER_WORKER_POOL_H_
#define ESCALONA_SERVER_WORKER_POOL_H_

#include <deque>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace escalona::server {

// Runs what is posted, first in first out. Everything posted is run before the destructor returns.
class WorkerPool {
 public:
  explicit WorkerPool(size_t threads) {
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
  }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool() {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    for (std::thread& thread : threads_) thread.join();
  }

  void Post(std::function<void()> work) {
    absl::MutexLock lock(&mutex_);
    work_.push_back(std::move(work));
  }

 private:
  void Run() {
    while (true) {
      mutex_.LockWhen(absl::Condition(
          +[](WorkerPool* pool) { return pool->stopping_ || !pool->work_.empty(); }, this));
      if (work_.empty()) {
        mutex_.Unlock();
        return;
      }
      std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      mutex_.Unlock();
      work();
    }
  }

  absl::Mutex mutex_;
  std::deque<std::function<void()>> work_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_WORKER_POOL_H_

// A parallel loop over numbered tasks.
#ifndef ESCALONA_REVISIT_PARALLEL_H_
#define ESCALONA_REVISIT_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace escalona::revisit {

// The number of threads that a request of `threads` means: 0 is one per core.
inline int ThreadCount(int threads) {
  if (threads > 0) return threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Calls task(i) once for each i < count, on up to `threads` threads, and returns when all are done.
// Which thread takes which task is open, so a task may write only to what belongs to its number;
// then the outcome does not depend on `threads`.
template <typename Task>
void ParallelFor(int threads, size_t count, const Task& task) {
  const size_t workers = std::min<size_t>(static_cast<size_t>(threads), count);
  if (workers <= 1) {
    for (size_t i = 0; i < count; ++i) task(i);
    return;
  }
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) task(i);
  };
  std::vector<std::thread> helpers;
  helpers.reserve(workers - 1);
  for (size_t i = 1; i < workers; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_PARALLEL_H_

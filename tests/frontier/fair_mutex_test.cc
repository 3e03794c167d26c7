// Who locks first has it first, and nobody has it beside another.
#include "base/fair_mutex.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace escalona {
namespace {

TEST(FairMutexTest, GoesToThoseWhoWaitInTheOrderTheyCame) {
  FairMutex mutex;
  std::vector<uint32_t> order;
  std::vector<std::thread> threads;
  mutex.lock();
  for (uint32_t i = 0; i < 8; ++i) {
    threads.emplace_back([&mutex, &order, i] {
      const std::lock_guard lock(mutex);
      order.push_back(i);
    });
    while (mutex.waiting() <= i) std::this_thread::yield();
  }
  mutex.unlock();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(FairMutexTest, IsHeldByOneAtATime) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 5'000;
  FairMutex mutex;
  int64_t sum = 0;  // not atomic
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        const std::lock_guard lock(mutex);
        ++sum;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, int64_t{kThreads} * kRounds);
  EXPECT_EQ(mutex.waiting(), 0U);
}

}  // namespace
}  // namespace escalona

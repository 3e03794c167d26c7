#include "store/gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace escalona::store {
namespace {

TEST(GateThreads, ManyOrOneAlone) {
  Gate gate;
  uint64_t version = 0;  // a plain one: ThreadSanitizer tells if the gate does not order them
  std::atomic<int> inside = 0;
  std::atomic<uint64_t> visits = 0;
  std::atomic<bool> stop = false;
  std::vector<std::thread> many;
  for (int i = 0; i < 3; ++i) {
    many.emplace_back([&] {
      uint64_t seen = 0;
      for (; !stop; std::this_thread::yield()) {
        const std::shared_lock<Gate> lock(gate);
        const std::shared_lock<Gate> again(gate);  // by a visitor
        ++inside;
        EXPECT_GE(version, seen);
        seen = version;
        if (++visits % 8 == 0) std::this_thread::yield();
        --inside;
      }
    });
  }
  std::thread one([&] {
    while (version < 2'000 || visits < 2'000) {
      const std::unique_lock<Gate> lock(gate, std::try_to_lock);
      if (!lock.owns_lock()) continue;
      std::this_thread::yield();  // whoever wants to come in
      EXPECT_EQ(inside, 0);
      ++version;
    }
    stop = true;
  });
  one.join();
  for (std::thread& thread : many) thread.join();
  EXPECT_GE(version, 2'000);
}

TEST(GateTest, WhoIsAloneIsWaitedFor) {
  Gate gate;
  std::unique_lock<Gate> alone(gate, std::try_to_lock);
  ASSERT_TRUE(alone.owns_lock());
  EXPECT_FALSE(std::unique_lock<Gate>(gate, std::try_to_lock).owns_lock());
  std::atomic<bool> entered = false;
  std::thread other([&] {
    const std::shared_lock<Gate> lock(gate);
    entered = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(entered);
  alone.unlock();
  other.join();
  EXPECT_TRUE(entered);
}

}  // namespace
}  // namespace escalona::store

// Many threads at once: nothing is lost, and no reader sees a list that is not one.
#include <atomic>
#include <cstdio>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "escalona/associations.h"
#include "gtest/gtest.h"

namespace escalona {
namespace {

constexpr int kThreads = 4;

std::string Guid(uint32_t number) {
  char text[40];
  std::snprintf(text, sizeof(text), "%08x-1111-4222-8333-%012x", number * 2654435761U, number);
  return text;
}

std::string Name(uint32_t number) { return absl::StrCat("associator", number); }

// Runs `body(thread)` in kThreads threads and waits for them.
void InThreads(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

// What every state of a list has in common: counts descend and no key stands twice.
void ExpectIsAList(const std::vector<CountedKey>& list) {
  std::set<std::string> keys;
  for (size_t i = 0; i < list.size(); ++i) {
    ASSERT_TRUE(keys.insert(list[i].key).second) << list[i].key << " stands twice";
    ASSERT_GE(list[i].count, 1);
    if (i > 0) {
      ASSERT_GE(list[i - 1].count, list[i].count);
    }
  }
}

TEST(AssociationConcurrency, NoWriteIsLost) {
  AssociationCounter counter;
  constexpr uint32_t kWrites = 15000;
  InThreads([&](int thread) {
    std::mt19937 random(thread);
    std::vector<std::string> keys(48);
    std::vector<std::string> names(48);
    std::vector<AssociationIncrement> items(48);
    for (uint32_t i = 0; i < kWrites; i += 48) {
      for (size_t j = 0; j < items.size(); ++j) {
        names[j] = Name(random() % 3);
        keys[j] = random() % 20 == 0 ? absl::StrCat("word", random() % 50) : Guid(random() % 400);
        items[j] = {names[j], keys[j], 1};
      }
      if (i % 96 == 0) {
        ASSERT_EQ(counter.IncrementBatch(items, nullptr), items.size());
      } else {
        for (const auto& item : items) {
          ASSERT_TRUE(counter.Increment(item.associator, item.key).ok());
        }
      }
    }
  });
  const uint64_t written = uint64_t{kThreads} * ((kWrites + 47) / 48) * 48;
  EXPECT_EQ(counter.Totals().count, written);
  uint64_t total = 0;
  for (uint32_t i = 0; i < 3; ++i) {
    const auto list = counter.Top(Name(i), 100000);
    ExpectIsAList(*list);
    EXPECT_EQ(counter.TotalsOf(Name(i)).pairs, list->size());
    for (const CountedKey& entry : *list) total += entry.count;
  }
  EXPECT_EQ(total, written);
}

// Lists that grow long, shrink, vanish and come back while they are read and fetched ahead.
TEST(AssociationConcurrency, ReadersSeeListsOnlyWhateverWritersDo) {
  AssociationCounter counter;
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> reads = 0;
  std::thread reader([&] {
    std::mt19937 random(99);
    while (!stop.load()) {
      const std::string name = Name(random() % 4);
      const auto list = counter.Top(name, 100000);
      ASSERT_TRUE(list.ok());
      ExpectIsAList(*list);
      const auto standing = counter.CountAndRank(name, Guid(random() % 300));
      if (standing) {
        ASSERT_GE(standing->rank, 1);
      }
      counter.ForEachAssociator([&](std::string_view) { return true; });
      reads.fetch_add(1);
    }
  });
  InThreads([&](int thread) {
    std::mt19937 random(thread);
    uint64_t age = 0;
    for (int step = 0; step < 6000; ++step) {
      const std::string name = Name(random() % 4);
      const auto chance = random() % 1000;
      if (chance < 5) {
        counter.DeleteAssociator(name);
      } else if (chance < 250 + 250 * static_cast<uint32_t>(step / 1000 % 2)) {
        counter.DeletePair(name, Guid(random() % 300));
      } else if (chance == 600 && thread == 0) {
        counter.SetAge(++age);
      } else if (chance < 620) {
        const std::string word = absl::StrCat("word", random() % 10);
        ASSERT_TRUE(counter.Increment(name, word).ok());
      } else {
        std::vector<std::string> keys;
        std::vector<AssociationIncrement> items;
        for (int i = 0; i < 8; ++i) keys.push_back(Guid(random() % 300));
        items.reserve(keys.size());
        for (const std::string& key : keys) items.push_back({name, key, 1 + random() % 3});
        ASSERT_EQ(counter.IncrementBatch(items, nullptr), items.size());
      }
    }
  });
  stop.store(true);
  reader.join();
  EXPECT_GT(reads.load(), 0);
  counter.Settle();
  AssociationTotals sum;
  for (uint32_t i = 0; i < 4; ++i) {
    const AssociatorTotals totals = counter.TotalsOf(Name(i));
    sum.pairs += totals.pairs;
    sum.count += totals.count;
  }
  EXPECT_EQ(counter.Totals().pairs, sum.pairs);
  EXPECT_EQ(counter.Totals().count, sum.count);
}

TEST(AssociationConcurrency, TheQuotaHoldsUnderManyWriters) {
  AssociationCounter counter({.max_pairs = 500});
  std::atomic<uint64_t> accepted = 0;
  InThreads([&](int thread) {
    for (uint32_t i = 0; i < 400; ++i) {
      const uint32_t number = static_cast<uint32_t>(thread) * 1000 + i;
      if (counter.Increment(Name(number % 50), Guid(number)).ok()) accepted.fetch_add(1);
    }
  });
  EXPECT_EQ(accepted.load(), 500);
  EXPECT_EQ(counter.Totals().pairs, 500);
}

TEST(AssociationConcurrency, AReaderDoesNotWaitForAWriterOfAnotherAssociator) {
  AssociationCounter counter;
  ASSERT_TRUE(counter.Increment("busy", "x").ok());
  ASSERT_TRUE(counter.Increment("free", "y").ok());
  // A visit that goes on holds the lock of "busy"; whoever waited for it would never come back.
  counter.ForEachKey("busy", [&](std::string_view, uint64_t) {
    std::thread writer([&] {
      EXPECT_EQ(counter.Top("free", 1)->front().key, "y");
      EXPECT_TRUE(counter.Increment("free", "z").ok());
      EXPECT_TRUE(counter.Increment("new", "z").ok());
      EXPECT_EQ(counter.DeleteAssociator("new"), 1);
    });
    writer.join();
    return true;
  });
}

}  // namespace
}  // namespace escalona

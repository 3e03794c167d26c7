// The durable counter when things go wrong, or happen at the same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../frontier/flaky_store.h"
#include "absl/strings/str_cat.h"
#include "assoc/durable.h"
#include "store/store.h"

namespace escalona::assoc {
namespace {

using std::chrono::milliseconds;

// A store in memory whose calls can be disturbed.
class TestStore final : public store::Store {
 public:
  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) override {
    if (get_takes.load() > milliseconds(0)) std::this_thread::sleep_for(get_takes.load());
    if (!unreadable.empty() && key == unreadable && --until_unreadable == 0) {
      return absl::InternalError("told to fail");
    }
    return store_->Get(key);
  }
  absl::Status Write(const store::Batch& batch, store::Reach reach) override {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      writer_waits_ = held_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !held_; });
    }
    return store_->Write(batch, reach);
  }
  absl::Status Scan(std::string_view begin, std::string_view end,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    return store_->Scan(begin, end, visit);
  }
  absl::Status Sync() override { return store_->Sync(); }

  // Writes wait until false is set.
  void SetHeld(bool held) {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  void AwaitWriter() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return writer_waits_; });
  }

  std::atomic<milliseconds> get_takes = milliseconds(0);
  std::string unreadable;    // a key
  int until_unreadable = 1;  // this many times it is asked for

 private:
  bool held_ = false;
  bool writer_waits_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::unique_ptr<store::Store> store_ = store::NewMemoryStore();
};

bool Known(DurableAssociations& counter, const std::string& id) {
  return absl::IsAlreadyExists(counter.Increment("probe", "p", 1, EventIdOf(id)).status());
}

void Reopen(store::Store& store, const DurableOptions& options,
            std::unique_ptr<DurableAssociations>& counter) {
  counter.reset();
  counter = *DurableAssociations::Open(store, options);
}

TEST(DurableFaults, RowsOfIdsStayWhereNumbersWouldBeginAnew) {
  const auto store = store::NewMemoryStore();
  auto counter = *DurableAssociations::Open(*store, {});
  ASSERT_TRUE(counter->Increment("a", "x", 1, EventIdOf("first")).ok());
  ASSERT_TRUE(counter->Checkpoint().ok());
  ASSERT_EQ(*counter->DeleteAssociator("a"), 1);
  ASSERT_TRUE(counter->Checkpoint().ok());
  Reopen(*store, {}, counter);
  ASSERT_TRUE(counter->Increment("b", "x", 1, EventIdOf("second")).ok());
  ASSERT_TRUE(counter->Checkpoint().ok());
  Reopen(*store, {}, counter);
  EXPECT_TRUE(Known(*counter, "second"));
  EXPECT_TRUE(Known(*counter, "first"));
}

TEST(DurableFaults, IdsAgreeWithAModelOfTheWindow) {
  for (int seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    const auto store = store::NewMemoryStore();
    DurableOptions options;
    options.event_window = 1 + random() % 12;
    options.memory_bytes = seed % 3 == 0 ? 1 : 1 << 30;
    auto counter = *DurableAssociations::Open(*store, options);
    std::deque<uint32_t> window;
    uint64_t age = 0;
    for (int step = 0; step < 1000; ++step) {
      const auto chance = random() % 100;
      const std::string a = absl::StrCat("a", random() % 4);
      const std::string k = absl::StrCat("k", random() % 3);
      if (chance < 80) {
        const uint32_t id = random() % 30;
        const bool known = std::find(window.begin(), window.end(), id) != window.end();
        const EventId event = EventIdOf(absl::StrCat("id", id));
        const std::vector<AssociationIncrement> items = {{a, k, 1}, {"b", k, 1}};
        const absl::Status sent = chance < 40
                                      ? counter->Increment(a, k, 1, event).status()
                                      : counter->IncrementTogether(items, event, nullptr).status();
        ASSERT_EQ(absl::IsAlreadyExists(sent), known) << seed << " " << step;
        if (!known) window.push_back(id);
        if (window.size() > options.event_window) window.pop_front();
      } else if (chance < 85) {
        ASSERT_TRUE(counter->Checkpoint().ok());
      } else if (chance < 88) {
        Reopen(*store, options, counter);
      } else if (chance < 90) {
        ASSERT_TRUE(counter->SetAge(++age).ok());
      } else {
        ASSERT_TRUE(counter->DeleteAssociator(chance < 96 ? a : "b").ok());
      }
    }
  }
}

TEST(DurableFaults, AnIdThatCameAgainHasItsNewPlaceAfterARestart) {
  const auto store = store::NewMemoryStore();
  DurableOptions options;
  options.event_window = 2;
  auto counter = *DurableAssociations::Open(*store, options);
  ASSERT_TRUE(counter->Increment("a", "1", 1, EventIdOf("e1")).ok());
  ASSERT_TRUE(counter->Increment("a", "2", 1, EventIdOf("e2")).ok());
  EXPECT_FALSE(counter->Increment("", "x", 1, EventIdOf("x")).ok());   // takes the place of e1
  ASSERT_TRUE(counter->Increment("a", "1", 1, EventIdOf("e1")).ok());  // the newest
  Reopen(*store, options, counter);
  ASSERT_TRUE(counter->Increment("a", "1", 1, EventIdOf("e3")).ok());
  EXPECT_TRUE(Known(*counter, "e1"));
}

// The three ways to count an event.
absl::Status Send(DurableAssociations& counter, int how) {
  const std::vector<AssociationIncrement> items = {{"a", "x", 1}};
  const std::vector<std::optional<EventId>> ids = {EventIdOf("e")};
  if (how == 0) return counter.Increment("a", "x", 1, ids[0]).status();
  if (how == 1) return counter.IncrementTogether(items, *ids[0], nullptr).status();
  return counter.IncrementBatch(items, nullptr, ids).status();
}

TEST(DurableFaults, AfterAFailedLogARetryIsNotToldThatItWasCounted) {
  for (const int how : {0, 1, 2}) {
    Failures failures;
    FlakyStore store(failures);
    const DurableOptions options = {.durability = Durability::kSync};
    auto counter = *DurableAssociations::Open(store, options);
    failures.next_write = true;
    EXPECT_EQ(Send(*counter, how).code(), absl::StatusCode::kInternal);
    EXPECT_EQ(Send(*counter, how).code(), absl::StatusCode::kInternal);
    Reopen(store, options, counter);
    EXPECT_TRUE(counter->Top("a", 1)->empty());
    EXPECT_TRUE(Send(*counter, how).ok());
  }
}

TEST(DurableFaults, ARetryIsAnsweredWhenTheFirstIsSafe) {
  for (const int how : {0, 1, 2}) {
    TestStore store;
    auto counter = *DurableAssociations::Open(store, {.durability = Durability::kSync});
    store.SetHeld(true);
    std::thread first([&] { EXPECT_TRUE(Send(*counter, how).ok()); });
    store.AwaitWriter();
    std::atomic<bool> answered = false;
    std::thread second([&] {
      Send(*counter, how).IgnoreError();
      answered = true;
    });
    std::this_thread::sleep_for(milliseconds(100));
    EXPECT_FALSE(answered) << how;
    store.SetHeld(false);
    first.join();
    second.join();
  }
}

TEST(DurableFaults, ABasketOfWhichAListCannotBeReadMayBeSentAgain) {
  TestStore store;
  auto counter = *DurableAssociations::Open(store, {.memory_bytes = 1});
  ASSERT_TRUE(counter->Increment("a", "x").ok());
  ASSERT_TRUE(counter->Increment("b", "x").ok());
  const std::vector<AssociationIncrement> basket = {{"a", "b", 1}, {"b", "a", 1}};
  store.unreadable = "assoc/Ab";
  EXPECT_FALSE(counter->IncrementTogether(basket, EventIdOf("e"), nullptr).ok());
  store.unreadable.clear();
  EXPECT_EQ(*counter->IncrementTogether(basket, EventIdOf("e"), nullptr), 2);
  EXPECT_EQ(counter->TotalsOf("a")->count, 2);
  EXPECT_EQ(counter->TotalsOf("b")->count, 2);
}

TEST(DurableFaults, ABatchOfWhichAListCannotBeReadFails) {
  TestStore store;
  auto counter = *DurableAssociations::Open(store, {.memory_bytes = 1});
  ASSERT_TRUE(counter->Increment("a", "x").ok());
  ASSERT_TRUE(counter->Increment("b", "x").ok());
  const std::vector<AssociationIncrement> items = {{"a", "b", 1}, {"b", "a", 1}};
  const std::vector<std::optional<EventId>> ids = {EventIdOf("1"), EventIdOf("2")};
  store.unreadable = "assoc/Ab";
  EXPECT_EQ(counter->IncrementBatch(items, nullptr, ids).status().code(),
            absl::StatusCode::kInternal);
  store.unreadable.clear();
  std::vector<AssociationBatchError> errors;
  EXPECT_EQ(*counter->IncrementBatch(items, &errors, ids), 1);
  ASSERT_EQ(errors.size(), 1);
  EXPECT_TRUE(absl::IsAlreadyExists(errors[0].status));
}

TEST(DurableFaults, AListThatCannotBeReadWhileAKeyIsDeletedEverywhereLosesNoOther) {
  TestStore store;
  auto counter = *DurableAssociations::Open(store, {.memory_bytes = 1});
  ASSERT_TRUE(counter->Increment("a", "goes").ok());
  ASSERT_TRUE(counter->Increment("b", "goes").ok());
  ASSERT_TRUE(counter->Increment("c", "stays", 1000).ok());
  ASSERT_TRUE(counter->Checkpoint().ok());
  store.unreadable = "assoc/Ab";
  store.until_unreadable = 2;  // first it is looked at, then changed
  EXPECT_FALSE(counter->DeleteKeyEverywhere("goes").ok());
  store.unreadable.clear();
  counter->SetMemoryBytes(1 << 30);
  EXPECT_TRUE(counter->Top("a", 1).ok());
  EXPECT_TRUE(counter->Top("b", 1).ok());
  EXPECT_EQ(*counter->Increment("c", "stays"), 1001);
}

TEST(DurableRaces, AReaderAlwaysFindsAListThatIsThere) {
  const auto store = store::NewMemoryStore();
  auto counter = *DurableAssociations::Open(*store, {.memory_bytes = 1});
  ASSERT_TRUE(counter->Increment("a", "x").ok());
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) ASSERT_TRUE(counter->Increment("a", "x").ok());
  });
  const auto until = std::chrono::steady_clock::now() + milliseconds(1500);
  uint64_t missed = 0;
  while (std::chrono::steady_clock::now() < until) {
    missed += counter->Top("a", 1)->empty() ? 1 : 0;
    missed += counter->CountAndRank("a", "x")->has_value() ? 0 : 1;
    missed += counter->TotalsOf("a")->pairs == 0 ? 1 : 0;
  }
  stop = true;
  writer.join();
  EXPECT_EQ(missed, 0);
}

TEST(DurableRaces, TheQuotaIsRightWhileListsComeAndGo) {
  const auto store = store::NewMemoryStore();
  DurableOptions options{.memory_bytes = 1};
  options.counter.max_pairs = 1500;
  auto counter = *DurableAssociations::Open(*store, options);
  std::vector<CountedKey> list;
  for (int i = 0; i < 1000; ++i) list.push_back({absl::StrCat("k", i), 1});
  ASSERT_TRUE(counter->Replace("big", list).ok());
  std::atomic<bool> stop = false;
  std::thread mover([&] {
    while (!stop) ASSERT_TRUE(counter->Top("big", 1).ok());
  });
  uint64_t refused = 0;
  const auto until = std::chrono::steady_clock::now() + milliseconds(500);
  while (std::chrono::steady_clock::now() < until) {
    refused += counter->Increment("small", "x").ok() ? 0 : 1;
    ASSERT_TRUE(counter->DeletePair("small", "x").ok());
  }
  stop = true;
  mover.join();
  EXPECT_EQ(refused, 0);  // there were never more than 1001 pairs
}

TEST(DurableRaces, AHalfLifeDuringEvictionLosesNoList) {
  TestStore store;
  auto counter = *DurableAssociations::Open(store, {});
  ASSERT_TRUE(counter->SetAge(1).ok());
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(counter->Increment(absl::StrCat("a", i), "k", 4096).ok());
  }
  ASSERT_TRUE(counter->Checkpoint().ok());
  counter->SetMemoryBytes(counter->MemoryBytes() - 1);
  ASSERT_TRUE(counter->Increment("x", "y").ok());  // one or two go; the others are cold now
  counter->SetMemoryBytes(1);
  store.get_takes = milliseconds(5);
  std::thread age([&] {
    std::this_thread::sleep_for(milliseconds(12));
    EXPECT_TRUE(counter->SetAge(2).ok());
  });
  EXPECT_TRUE(counter->Increment("x", "y").ok());
  age.join();
  store.get_takes = milliseconds(0);
  for (int i = 0; i < 12; ++i) {
    const auto standing = *counter->CountAndRank(absl::StrCat("a", i), "k");
    EXPECT_EQ(standing.has_value() ? standing->count : 0, 2048) << "a" << i;
  }
}

// What one of many threads does, at random.
void DoSomething(DurableAssociations& counter, std::mt19937& random, uint64_t event) {
  const std::string a = absl::StrCat("a", random() % 20);
  const std::string b = absl::StrCat("a", random() % 20);
  const std::string k = absl::StrCat("k", random() % 5);
  const std::vector<AssociationIncrement> items = {{a, k, 1}, {b, k, 1}};
  const auto chance = random() % 100;
  if (chance < 50) {
    ASSERT_TRUE(counter.Increment(a, k, 1 + random() % 3).ok());
  } else if (chance < 70) {
    ASSERT_TRUE(counter.IncrementTogether(items, EventIdOf(absl::StrCat(event)), nullptr).ok());
  } else if (chance < 80) {
    ASSERT_TRUE(counter.DeletePair(a, k).ok());
  } else if (chance < 85) {
    ASSERT_TRUE(counter.DeleteAssociator(a).ok());
  } else if (chance < 86) {
    ASSERT_TRUE(counter.DeleteKeyEverywhere(k).ok());
  } else if (chance < 90) {
    ASSERT_TRUE(counter.Replace(a, std::vector<CountedKey>{{"k1", 3}, {"k2", 1}}).ok());
  } else {
    ASSERT_TRUE(counter.IncrementBatch(items, nullptr).ok());
  }
}

TEST(DurableRaces, AfterEverythingAtOnceTotalsAreThoseOfTheLists) {
  for (const size_t budget : {1, 30000}) {
    const auto store = store::NewMemoryStore();
    auto counter = *DurableAssociations::Open(*store, {.memory_bytes = budget});
    std::atomic<bool> stop = false;
    std::atomic<uint64_t> events = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(t);
        while (!stop) DoSomething(*counter, random, ++events);
      });
    }
    threads.emplace_back([&] {
      std::mt19937 random(7);
      while (!stop) {
        const std::string a = absl::StrCat("a", random() % 20);
        counter->VisitHead(a, 3, 0, [](std::string_view, uint64_t) {});
        ASSERT_TRUE(counter->Top(a, 3).ok());
        ASSERT_TRUE(counter->CountAndRank(a, "k1").ok());
      }
    });
    threads.emplace_back([&] {
      for (uint64_t age = 0; !stop;) {
        std::this_thread::sleep_for(milliseconds(3));
        ASSERT_TRUE(counter->Checkpoint().ok());
        ASSERT_TRUE(counter->SetAge(++age / 3).ok());
      }
    });
    std::this_thread::sleep_for(milliseconds(1200));
    stop = true;
    for (std::thread& thread : threads) thread.join();
    const auto lists = [&] {
      std::vector<std::vector<CountedKey>> all;
      AssociationTotals sum;
      for (int i = 0; i < 20; ++i) {
        all.push_back(*counter->Top(absl::StrCat("a", i), 1000));
        sum.associators += all.back().empty() ? 0 : 1;
        sum.pairs += all.back().size();
        for (const CountedKey& entry : all.back()) sum.count += entry.count;
      }
      EXPECT_EQ(counter->Totals().associators, sum.associators) << budget;
      EXPECT_EQ(counter->Totals().pairs, sum.pairs) << budget;
      EXPECT_EQ(counter->Totals().count, sum.count) << budget;
      return all;
    };
    const auto before = lists();
    Reopen(*store, {.memory_bytes = budget}, counter);
    EXPECT_EQ(lists(), before);
  }
}

}  // namespace
}  // namespace escalona::assoc

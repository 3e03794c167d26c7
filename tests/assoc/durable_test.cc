// Restarts, evictions, checkpoints and kills change nothing that was acknowledged.
#include "assoc/durable.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../frontier/flaky_store.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "order_model.h"
#include "store/store.h"

namespace escalona::assoc {
namespace {

using assoc_test::ListModel;
using Entries = std::vector<std::pair<std::string, uint64_t>>;

int Rounds(int usual) { return std::getenv("ESCALONA_LONG") != nullptr ? usual * 20 : usual; }

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "escalona-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Entries ListOf(DurableAssociations& counter, const std::string& associator) {
  Entries entries;
  const auto top = counter.Top(associator, 1000000);
  EXPECT_TRUE(top.ok()) << top.status();
  for (const CountedKey& entry : *top) entries.emplace_back(entry.key, entry.count);
  return entries;
}

std::string Name(uint32_t number) { return absl::StrCat("associator", number); }

std::string KeyName(uint32_t number) {
  char text[40];
  if (number % 5 == 0) return absl::StrCat("word", number);
  std::snprintf(text, sizeof(text), "%08x-1111-4222-8333-%012x", number * 2654435761U, number);
  return text;
}

// A counter, the model of it, and random things that happen to both.
class World {
 public:
  // Where there are few keys, lists are short and often fade to nothing.
  World(store::Store& store, const DurableOptions& options, uint32_t keys = 200)
      : store_(store), options_(options), keys_(keys) {
    Open();
  }

  void Open() {
    counter_.reset();
    auto opened = DurableAssociations::Open(store_, options_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    counter_ = std::move(*opened);
  }

  void Step(std::mt19937& random) {
    const std::string name = Name(random() % 12);
    const std::string key = KeyName(random() % keys_);
    const auto chance = random() % 1000;
    if (chance < 100) {
      EXPECT_EQ(*counter_->DeletePair(name, key), models_[name].Delete(key));
    } else if (chance < 105) {
      EXPECT_EQ(*counter_->DeleteAssociator(name), models_[name].list().size());
      models_.erase(name);
    } else if (chance < 108) {
      uint64_t lists = 0;
      for (auto& [_, model] : models_) lists += model.Delete(key) ? 1 : 0;
      EXPECT_EQ(*counter_->DeleteKeyEverywhere(key), lists);
    } else if (chance < 110) {
      EXPECT_TRUE(counter_->Checkpoint().ok());
    } else if (chance == 110 || (keys_ < 10 && chance > 980)) {
      EXPECT_TRUE(counter_->SetAge(++age_).ok());
      for (auto& [_, model] : models_) model.Halve(1);
    } else if (chance < 114) {
      // The list as it is, of another associator: the order stays.
      const Entries from = models_[Name(random() % 12)].list();
      std::vector<CountedKey> list;
      for (const auto& [entry, count] : from) list.push_back({entry, count});
      EXPECT_TRUE(counter_->Replace(name, list).ok());
      models_[name].Set(from);
    } else if (chance < 400) {
      Batch(random);
    } else {
      const uint64_t weight = 1 + random() % 3;
      models_[name].Write(key, weight);
      const auto counted = counter_->Increment(name, key, weight);
      ASSERT_TRUE(counted.ok()) << counted.status();
      EXPECT_EQ(*counted, models_[name].list()[models_[name].Position(key)].second);
    }
  }

  void ExpectEqual() {
    uint64_t pairs = 0;
    for (uint32_t i = 0; i < 12; ++i) {
      ASSERT_EQ(ListOf(*counter_, Name(i)), models_[Name(i)].list()) << Name(i);
      pairs += models_[Name(i)].list().size();
    }
    EXPECT_EQ(counter_->Totals().pairs, pairs);
  }

  DurableAssociations& counter() { return *counter_; }

 private:
  void Batch(std::mt19937& random) {
    std::vector<std::pair<std::string, std::string>> names;
    std::vector<AssociationIncrement> items;
    for (int i = 0; i < 20; ++i) names.emplace_back(Name(random() % 12), KeyName(random() % keys_));
    names.emplace_back("", "refused");
    for (const auto& [name, key] : names) {
      items.push_back({name, key, 1});
      if (!name.empty()) models_[name].Write(key, 1);
    }
    std::vector<AssociationBatchError> errors;
    const auto accepted = counter_->IncrementBatch(items, &errors);
    ASSERT_TRUE(accepted.ok()) << accepted.status();
    EXPECT_EQ(*accepted, 20);
    ASSERT_EQ(errors.size(), 1);
    EXPECT_EQ(errors[0].index, 20);
  }

  store::Store& store_;
  DurableOptions options_;
  const uint32_t keys_;
  std::unique_ptr<DurableAssociations> counter_;
  std::map<std::string, ListModel> models_;
  uint64_t age_ = 0;
};

TEST(DurableAssociations, RestartsAndEvictionsChangeNothing) {
  for (const size_t budget : {std::numeric_limits<size_t>::max(), size_t{90000}, size_t{1}}) {
    for (int seed = 0; seed < Rounds(1); ++seed) {
      const std::unique_ptr<store::Store> store = store::NewMemoryStore();
      World world(*store, {.memory_bytes = budget});
      std::mt19937 random(seed);
      for (int step = 0; step < 3000; ++step) {
        ASSERT_NO_FATAL_FAILURE(world.Step(random));
        if (random() % 300 == 0) {
          ASSERT_NO_FATAL_FAILURE(world.Open());
        }
        if (random() % 100 == 0) {
          ASSERT_NO_FATAL_FAILURE(world.ExpectEqual());
        }
      }
      ASSERT_NO_FATAL_FAILURE(world.Open());
      ASSERT_NO_FATAL_FAILURE(world.ExpectEqual());
    }
  }
}

TEST(DurableAssociations, ListsThatFadeRestartsAndEvictionsAgreeWithTheModel) {
  for (const size_t budget : {std::numeric_limits<size_t>::max(), size_t{20000}, size_t{1}}) {
    for (int seed = 0; seed < Rounds(3); ++seed) {
      const std::unique_ptr<store::Store> store = store::NewMemoryStore();
      World world(*store, {.memory_bytes = budget}, 5);
      std::mt19937 random(seed);
      for (int step = 0; step < 2000; ++step) {
        ASSERT_NO_FATAL_FAILURE(world.Step(random));
        if (random() % 300 == 0) {
          ASSERT_NO_FATAL_FAILURE(world.Open());
        }
        if (random() % 20 == 0) {
          ASSERT_NO_FATAL_FAILURE(world.ExpectEqual());
        }
        ASSERT_FALSE(HasFailure()) << "budget " << budget << ", seed " << seed << ", " << step;
      }
    }
  }
}

TEST(DurableAssociations, AListThatFadedInMemoryIsNotTakenForOneInTheStore) {
  const auto store = store::NewMemoryStore();
  const auto counter = *DurableAssociations::Open(*store, {});
  EXPECT_EQ(*counter->Increment("faded", "k"), 1);
  EXPECT_EQ(*counter->Increment("kept", "k", 100), 100);
  ASSERT_TRUE(counter->SetAge(1).ok());
  EXPECT_EQ(ListOf(*counter, "faded"), Entries{});
  EXPECT_EQ(counter->Totals().associators, 1);
  counter->SetMemoryBytes(1);
  EXPECT_EQ(*counter->Increment("kept", "k"), 51);  // and goes to the store
  EXPECT_EQ(ListOf(*counter, "faded"), Entries{});
  EXPECT_EQ(*counter->Increment("kept", "k"), 52);
  EXPECT_EQ(counter->Totals().associators, 1);
  EXPECT_EQ(counter->Totals().pairs, 1);
}

TEST(DurableAssociations, RestartsOnRocksDbChangeNothing) {
  const Folder folder;
  auto store = store::OpenRocksStore(folder.path());
  ASSERT_TRUE(store.ok()) << store.status();
  World world(**store, {.memory_bytes = 90000});
  std::mt19937 random(5);
  for (int step = 0; step < 3000; ++step) {
    ASSERT_NO_FATAL_FAILURE(world.Step(random));
    if (random() % 300 == 0) {
      ASSERT_NO_FATAL_FAILURE(world.Open());
    }
  }
  ASSERT_NO_FATAL_FAILURE(world.ExpectEqual());
}

TEST(DurableAssociations, ManyThreadsEvictionsAndCheckpointsLoseNothing) {
  const std::unique_ptr<store::Store> store = store::NewMemoryStore();
  auto counter = DurableAssociations::Open(*store, {.memory_bytes = 60000});
  ASSERT_TRUE(counter.ok());
  constexpr int kThreads = 4;
  constexpr int kWrites = 1500;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(thread);
      for (int i = 0; i < kWrites; ++i) {
        const std::string name = Name(random() % 30);
        ASSERT_TRUE((*counter)->Increment(name, KeyName(random() % 200)).ok());
        // Every associator that was written has a list, wherever it is at the moment.
        ASSERT_FALSE((*counter)->Top(name, 3)->empty()) << name;
        if (i % 500 == 499) {
          ASSERT_TRUE((*counter)->Checkpoint().ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ((*counter)->Totals().count, kThreads * kWrites);
  counter->reset();
  counter = DurableAssociations::Open(*store, {});
  ASSERT_TRUE(counter.ok());
  uint64_t total = 0;
  for (uint32_t i = 0; i < 30; ++i) {
    for (const auto& entry : ListOf(**counter, Name(i))) total += entry.second;
  }
  EXPECT_EQ(total, kThreads * kWrites);
}

TEST(DurableAssociations, WithoutALogACheckpointIsWhatStays) {
  const std::unique_ptr<store::Store> store = store::NewMemoryStore();
  const DurableOptions options{.durability = Durability::kNone};
  {
    auto counter = DurableAssociations::Open(*store, options);
    ASSERT_TRUE((*counter)->Increment("a", "x").ok());
    ASSERT_TRUE((*counter)->Checkpoint().ok());
    ASSERT_TRUE((*counter)->Increment("a", "y").ok());
  }
  auto counter = DurableAssociations::Open(*store, options);
  EXPECT_EQ(ListOf(**counter, "a"), (Entries{{"x", 1}}));
}

TEST(DurableAssociations, AfterTheLogFailedEveryWriteIsRefusedAndReadingGoesOn) {
  for (const Durability durability : {Durability::kSync, Durability::kInterval}) {
    Failures failures;
    FlakyStore store(failures);
    const auto counter = DurableAssociations::Open(store, {.durability = durability});
    ASSERT_TRUE(counter.ok());
    ASSERT_TRUE((*counter)->Increment("a", "x").ok());
    failures.next_write = true;
    int written = 0;
    while ((*counter)->Increment("a", "x").ok()) ASSERT_LT(++written, 100000);
    EXPECT_FALSE(failures.next_write);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE((*counter)->Increment("a", "x").ok());
    EXPECT_FALSE((*counter)->DeletePair("a", "x").ok());
    EXPECT_TRUE((*counter)->Top("a", 1).ok());
  }
}

TEST(DurableAssociations, ADeletedAssociatorDoesNotReturn) {
  const std::unique_ptr<store::Store> store = store::NewMemoryStore();
  for (int restart = 0; restart < 3; ++restart) {
    auto counter = DurableAssociations::Open(*store, {});
    EXPECT_TRUE(ListOf(**counter, "a").empty());
    ASSERT_TRUE((*counter)->Increment("a", "x").ok());
    if (restart == 1) {
      ASSERT_TRUE((*counter)->Checkpoint().ok());
    }
    EXPECT_EQ(*(*counter)->DeleteAssociator("a"), 1);
  }
}

TEST(DurableAssociations, ShortRecordsOfALongLogAreReplayed) {
  const std::unique_ptr<store::Store> store = store::NewMemoryStore();
  ListModel model;
  {
    auto counter = DurableAssociations::Open(*store, {.durability = Durability::kSync});
    for (int i = 0; i < 3000; ++i) {
      const std::string key = absl::StrCat(i * i % 7);
      ASSERT_TRUE((*counter)->Increment(absl::StrCat(i % 100), key).ok());
      if (i % 100 == 5) model.Write(key, 1);
    }
  }
  auto counter = DurableAssociations::Open(*store, {});
  EXPECT_TRUE((*counter)->HasReplay());
  EXPECT_EQ(ListOf(**counter, "5"), model.list());
  ASSERT_TRUE((*counter)->Checkpoint().ok());
  EXPECT_FALSE((*counter)->HasReplay());
  EXPECT_EQ((*counter)->Totals().associators, 100);
  EXPECT_EQ((*counter)->Totals().count, 3000);
  EXPECT_EQ((*counter)->LogChanges(), 0);
}

TEST(DurableAssociations, TheQuotaBindsReplacedListsToo) {
  const std::unique_ptr<store::Store> store = store::NewMemoryStore();
  auto counter = DurableAssociations::Open(*store, {.counter = {.max_pairs = 3}});
  const std::vector<CountedKey> list = {{"x", 2}, {"y", 1}};
  EXPECT_TRUE((*counter)->Replace("a", list).ok());
  EXPECT_TRUE(absl::IsResourceExhausted((*counter)->Replace("b", list)));
  EXPECT_TRUE((*counter)->Replace("a", list).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(
      (*counter)->Replace("a", std::vector<CountedKey>{{"x", 1}, {"y", 2}})));
  EXPECT_EQ(ListOf(**counter, "a"), (Entries{{"x", 2}, {"y", 1}}));
  (*counter)->SetMaxPairs(4);
  EXPECT_TRUE((*counter)->Replace("b", list).ok());
}

TEST(DurableAssociations, TheQuotaCountsListsThatAreAway) {
  const std::unique_ptr<store::Store> store = store::NewMemoryStore();
  DurableOptions options{.memory_bytes = 1};
  options.counter.max_pairs = 3;
  auto counter = DurableAssociations::Open(*store, options);
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE((*counter)->Increment(name, "x").ok());
  }
  EXPECT_EQ((*counter)->Increment("d", "x").status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(*(*counter)->Increment("a", "x"), 2);
  EXPECT_EQ((*counter)->Totals().associators, 3);
}

TEST(DurableAssociations, AtTheQuotaABatchIsTakenInItsOrder) {
  const auto store = store::NewMemoryStore();
  DurableOptions options;
  options.counter.max_pairs = 3;
  auto counter = *DurableAssociations::Open(*store, options);
  std::vector<std::string> names;
  for (uint32_t i = 0; i < 20; ++i) names.push_back(Name(i));
  std::vector<AssociationIncrement> items;
  for (const std::string& name : names) items.push_back({name, "x", 1});
  items.push_back({names[1], "x", 1});
  std::vector<AssociationBatchError> errors;
  EXPECT_EQ(*counter->IncrementBatch(items, &errors), 4);
  ASSERT_EQ(errors.size(), 17);
  for (size_t i = 0; i < errors.size(); ++i) EXPECT_EQ(errors[i].index, 3 + i);
}

TEST(DurableAssociations, AKeyDeletedEverywhereLeavesListsInTheStoreThere) {
  const Folder folder;
  auto store = *store::OpenRocksStore(folder.path());
  DurableOptions options;
  options.memory_bytes = 64 << 10;
  auto counter = *DurableAssociations::Open(*store, options);
  for (uint32_t i = 0; i < 2000; ++i) {
    for (const char* key : {"stays", "goes", "stays too"}) {
      ASSERT_TRUE(counter->Increment(Name(i), key).ok());
    }
  }
  ASSERT_TRUE(counter->Increment("only", "goes").ok());
  EXPECT_EQ(*counter->DeleteKeyEverywhere("goes"), 2001);
  EXPECT_LE(counter->MemoryBytes(), options.memory_bytes);
  EXPECT_EQ(counter->Totals().pairs, 4000);
  EXPECT_EQ(counter->Totals().associators, 2000);
  EXPECT_EQ(*counter->DeleteKeyEverywhere("goes"), 0);
  for (const bool reopened : {false, true}) {
    if (reopened) {
      counter.reset();
      counter = *DurableAssociations::Open(*store, options);
    }
    for (uint32_t i = 0; i < 2000; i += 7) {
      ASSERT_EQ(ListOf(*counter, Name(i)), (Entries{{"stays", 1}, {"stays too", 1}})) << Name(i);
    }
    EXPECT_TRUE(ListOf(*counter, "only").empty());
  }
}

// Something happens when it has been read through.
class InterruptedStore final : public store::Store {
 public:
  std::function<void()> after_scan;

  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) override {
    return store_->Get(key);
  }
  absl::Status Write(const store::Batch& batch, store::Reach reach) override {
    return store_->Write(batch, reach);
  }
  absl::Status Scan(std::string_view begin, std::string_view end,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    absl::Status status = store_->Scan(begin, end, visit);
    if (const auto happen = std::exchange(after_scan, nullptr)) happen();
    return status;
  }
  absl::Status Sync() override { return store_->Sync(); }

 private:
  const std::unique_ptr<store::Store> store_ = store::NewMemoryStore();
};

TEST(DurableAssociations, AKeyIsDeletedEverywhereAtOneMoment) {
  InterruptedStore store;
  auto counter = *DurableAssociations::Open(store, {});
  for (const char* name : {"had it", "got it", "lost it"}) {
    ASSERT_TRUE(counter->Increment(name, "other").ok());
  }
  ASSERT_TRUE(counter->Increment("had it", "x").ok());
  ASSERT_TRUE(counter->Increment("lost it", "x").ok());
  store.after_scan = [&] {
    ASSERT_TRUE(counter->Increment("got it", "x").ok());
    ASSERT_TRUE(counter->Increment("new", "x").ok());
    ASSERT_TRUE(counter->Checkpoint().ok());  // which forgets what has changed
    ASSERT_TRUE(*counter->DeletePair("lost it", "x"));
  };
  EXPECT_EQ(*counter->DeleteKeyEverywhere("x"), 3);
  for (const char* name : {"had it", "got it", "lost it"}) {
    EXPECT_EQ(ListOf(*counter, name), (Entries{{"other", 1}})) << name;
  }
  EXPECT_TRUE(ListOf(*counter, "new").empty());
}

bool IsKnown(DurableAssociations& counter, const std::string& event) {
  const auto counted = counter.Increment("probe", "k", 1, EventIdOf(event));
  EXPECT_TRUE(counted.ok() || absl::IsAlreadyExists(counted.status())) << counted.status();
  return !counted.ok();
}

TEST(DurableAssociations, AnEventIsKnownAfterARestartIfItWasCounted) {
  for (const bool checkpoint : {false, true}) {
    const auto store = store::NewMemoryStore();
    DurableOptions options;
    options.event_window = 5;
    options.counter.max_pairs = 4;
    auto counter = *DurableAssociations::Open(*store, options);
    EXPECT_EQ(*counter->Increment("a", "b", 2, EventIdOf("single")), 2);
    const std::vector<AssociationIncrement> items = {{"a", "c", 1}, {"a", "d", 1}, {"a", "c", 1}};
    const std::vector<std::optional<EventId>> ids = {EventIdOf("batch"), {}, EventIdOf("batch")};
    std::vector<AssociationBatchError> errors;
    EXPECT_EQ(*counter->IncrementBatch(items, &errors, ids), 2);
    ASSERT_EQ(errors.size(), 1);
    EXPECT_EQ(errors[0].index, 2);
    EXPECT_TRUE(absl::IsAlreadyExists(errors[0].status));
    const std::vector<AssociationIncrement> basket = {{"x", "y", 1}, {"y", "x", 1}};
    EXPECT_EQ(*counter->IncrementTogether(basket, EventIdOf("basket"), &errors), 1);
    EXPECT_TRUE(absl::IsResourceExhausted(errors.back().status));
    // What the quota refuses is not known.
    EXPECT_FALSE(counter->Increment("x", "z", 1, EventIdOf("refused")).ok());
    EXPECT_EQ(*counter->IncrementTogether(std::vector<AssociationIncrement>{{"q", "r", 1}},
                                          EventIdOf("refused basket"), nullptr),
              0);
    if (checkpoint) {
      ASSERT_TRUE(counter->Checkpoint().ok());
    }
    counter.reset();

    options.counter.max_pairs = 100;
    counter = *DurableAssociations::Open(*store, options);
    for (const char* event : {"single", "batch", "basket"}) {
      EXPECT_TRUE(IsKnown(*counter, event)) << event;
    }
    EXPECT_TRUE(absl::IsAlreadyExists(
        counter->IncrementTogether(basket, EventIdOf("basket"), nullptr).status()));
    EXPECT_FALSE(IsKnown(*counter, "refused"));
    EXPECT_FALSE(IsKnown(*counter, "refused basket"));
    EXPECT_FALSE(IsKnown(*counter, "sixth"));  // of a window of five: the first goes
    ASSERT_TRUE(counter->Checkpoint().ok());
    counter = *DurableAssociations::Open(*store, options);
    EXPECT_TRUE(IsKnown(*counter, "batch"));
    EXPECT_FALSE(IsKnown(*counter, "single"));
    EXPECT_EQ(ListOf(*counter, "a"), (Entries{{"b", 2}, {"c", 1}, {"d", 1}}));
    EXPECT_EQ(ListOf(*counter, "x"), (Entries{{"y", 1}}));
  }
}

TEST(DurableAssociations, ABrokenRecordIsSaidToBeBroken) {
  const std::unique_ptr<store::Store> store = store::NewMemoryStore();
  store::Batch batch;
  batch.Put("assoc/Ta", "no record");
  ASSERT_TRUE(store->Write(batch, store::Reach::kOs).ok());
  EXPECT_EQ(DurableAssociations::Open(*store, {}).status().code(), absl::StatusCode::kDataLoss);
}

TEST(DurableAssociations, TheLogTakesAtMostFortyBytesPerIncrement) {
  const std::unique_ptr<store::Store> store = store::NewMemoryStore();
  auto counter = DurableAssociations::Open(*store, {});
  std::vector<std::string> ids;
  for (uint32_t i = 0; i < 64; ++i) ids.push_back(absl::StrCat("0123456789", 100000 + i));
  std::vector<AssociationIncrement> items;
  for (const std::string& id : ids) items.push_back({ids[0], id, 1});
  ASSERT_EQ(*(*counter)->IncrementBatch(items, nullptr), 64);
  for (const std::string& id : ids) ASSERT_TRUE((*counter)->Increment(id, id).ok());
  ASSERT_TRUE((*counter)->Sync().ok());
  size_t bytes = 0;
  ASSERT_TRUE(store
                  ->ScanPrefix("assoc/L",
                               [&](std::string_view key, std::string_view value) {
                                 bytes += key.size() + value.size();
                                 return true;
                               })
                  .ok());
  EXPECT_LE(bytes, 2 * 64 * 40);
}

// The n-th thing the killed writer does; the same in the model.
struct Deed {
  std::string name;
  std::string key;
  bool is_delete;
};
Deed DeedNumber(uint64_t number, int seed) {
  std::mt19937_64 random(number * 1000 + seed);
  const bool is_delete = random() % 20 == 0;
  return {Name(random() % 3), KeyName(random() % 150), is_delete};
}

// Writes until it is killed; after each acknowledged deed one byte goes through the pipe, an 's' if
// it, and so all before it, had to be safe by then.
[[noreturn]] void WriteForever(const std::string& path, Durability durability, int seed, int pipe) {
  auto store = store::OpenRocksStore(path);
  if (!store.ok()) _exit(1);
  auto counter = DurableAssociations::Open(
      **store, {.durability = durability, .memory_bytes = seed % 2 == 0 ? 1UL : 1UL << 40});
  if (!counter.ok()) _exit(2);
  for (uint64_t number = 0;; ++number) {
    const Deed deed = DeedNumber(number, seed);
    const bool done = deed.is_delete ? (*counter)->DeletePair(deed.name, deed.key).ok()
                                     : (*counter)->Increment(deed.name, deed.key).ok();
    const bool safe = durability == Durability::kSync || number % 40 == 39;
    if (durability != Durability::kSync && safe && !(*counter)->Sync().ok()) _exit(4);
    if (!done || write(pipe, safe ? "s" : "x", 1) != 1) _exit(3);
    if (number % 200 == 199 && !(*counter)->Checkpoint().ok()) _exit(5);
  }
}

// What a writer had acknowledged when it was killed, at a moment that follows from the seed.
struct Acknowledged {
  uint64_t all = 0;
  uint64_t safe = 0;  // up to the last 's'
};

// Runs `write_forever(pipe)` in a process of its own.
void RunAndKill(int seed, absl::FunctionRef<void(int pipe)> write_forever,
                Acknowledged& acknowledged) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(ends[0]);
    write_forever(ends[1]);
  }
  close(ends[1]);
  const uint64_t enough = 50 + std::mt19937(seed)() % 700;
  const auto read_until = [&](uint64_t most) {
    char byte;
    while (acknowledged.all < most && read(ends[0], &byte, 1) == 1) {
      ++acknowledged.all;
      if (byte == 's') acknowledged.safe = acknowledged.all;
    }
  };
  read_until(enough);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended with " << WEXITSTATUS(status);
  read_until(std::numeric_limits<uint64_t>::max());
  close(ends[0]);
}

void KillAndCompare(Durability durability, int seed) {
  const Folder folder;
  Acknowledged acknowledged;
  ASSERT_NO_FATAL_FAILURE(RunAndKill(
      seed, [&](int pipe) { WriteForever(folder.path(), durability, seed, pipe); }, acknowledged));
  auto store = store::OpenRocksStore(folder.path());
  ASSERT_TRUE(store.ok()) << store.status();
  auto counter = DurableAssociations::Open(**store, {.durability = durability});
  ASSERT_TRUE(counter.ok()) << counter.status();
  std::map<std::string, ListModel> models;
  for (uint32_t i = 0; i < 3; ++i) models[Name(i)];
  const auto equal = [&] {
    return std::all_of(models.begin(), models.end(), [&](const auto& entry) {
      return ListOf(**counter, entry.first) == entry.second.list();
    });
  };
  const auto apply = [&](uint64_t number) {
    const Deed deed = DeedNumber(number, seed);
    if (deed.is_delete) {
      models[deed.name].Delete(deed.key);
    } else {
      models[deed.name].Write(deed.key, 1);
    }
  };
  for (uint64_t number = 0; number < acknowledged.safe; ++number) apply(number);
  // What came after the last safe deed may be lost from some moment on; the deed under way when the
  // end came may have happened.
  bool found = equal();
  for (uint64_t number = acknowledged.safe; number <= acknowledged.all && !found; ++number) {
    apply(number);
    found = equal();
  }
  EXPECT_TRUE(found) << acknowledged.all << " acknowledged, " << acknowledged.safe << " safe, seed "
                     << seed;
}

// The n-th event, with an id of its own: an increment, or several that are one event.
absl::Status Happen(DurableAssociations& counter, uint64_t number, int seed) {
  const Deed deed = DeedNumber(number, seed);
  const EventId id = EventIdOf(absl::StrCat("event", number));
  if (number % 5 != 0) return counter.Increment(deed.name, deed.key, 1, id).status();
  const std::string other = Name(3);
  const std::vector<AssociationIncrement> items = {{deed.name, deed.key, 1}, {other, deed.key, 1}};
  return counter.IncrementTogether(items, id, nullptr).status();
}

[[noreturn]] void HappenForever(const std::string& path, Durability durability, int seed,
                                int pipe) {
  auto store = store::OpenRocksStore(path);
  if (!store.ok()) _exit(1);
  auto counter = DurableAssociations::Open(**store, {.durability = durability});
  if (!counter.ok()) _exit(2);
  for (uint64_t number = 0;; ++number) {
    if (!Happen(**counter, number, seed).ok() || write(pipe, "x", 1) != 1) _exit(3);
    if (number % 40 == 39 && !(*counter)->Sync().ok()) _exit(4);
    if (number % 150 == 149 && !(*counter)->Checkpoint().ok()) _exit(5);
  }
}

// All events are sent again after the end: each counts once, as if nothing had happened.
void KillAndSendAgain(Durability durability, int seed) {
  const Folder folder;
  Acknowledged acknowledged;
  ASSERT_NO_FATAL_FAILURE(RunAndKill(
      seed, [&](int pipe) { HappenForever(folder.path(), durability, seed, pipe); }, acknowledged));
  auto store = store::OpenRocksStore(folder.path());
  ASSERT_TRUE(store.ok()) << store.status();
  auto counter = DurableAssociations::Open(**store, {.durability = durability});
  ASSERT_TRUE(counter.ok()) << counter.status();
  std::map<std::string, ListModel> models;
  uint64_t known = 0;
  for (uint64_t number = 0; number <= acknowledged.all; ++number) {
    const absl::Status sent = Happen(**counter, number, seed);
    ASSERT_TRUE(sent.ok() || absl::IsAlreadyExists(sent)) << sent;
    known += sent.ok() ? 0 : 1;
    const Deed deed = DeedNumber(number, seed);
    models[deed.name].Write(deed.key, 1);
    if (number % 5 == 0) models[Name(3)].Write(deed.key, 1);
  }
  if (durability == Durability::kSync) {
    EXPECT_GE(known, acknowledged.all);
  }
  for (const auto& [name, model] : models) EXPECT_EQ(ListOf(**counter, name), model.list()) << name;
}

TEST(DurableAssociations, AfterAKillEventsThatAreSentAgainCountOnce) {
  for (int seed = 0; seed < Rounds(3); ++seed) {
    KillAndSendAgain(Durability::kSync, seed);
    KillAndSendAgain(Durability::kInterval, seed);
  }
}

TEST(DurableAssociations, AKillLosesNothingAcknowledgedInSyncMode) {
  for (int seed = 0; seed < Rounds(3); ++seed) KillAndCompare(Durability::kSync, seed);
}

TEST(DurableAssociations, AKillLosesNothingFromBeforeTheLastSyncInIntervalMode) {
  for (int seed = 0; seed < Rounds(3); ++seed) KillAndCompare(Durability::kInterval, seed);
}

}  // namespace
}  // namespace escalona::assoc

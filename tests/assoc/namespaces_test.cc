// Namespaces: separate, limited, fading, and there again after a restart.
#include "assoc/namespaces.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../frontier/flaky_store.h"
#include "store/store.h"

namespace escalona::assoc {
namespace {

class NamespacesTest : public ::testing::Test {
 protected:
  void Open(const Namespaces::Options& options = {}) {
    spaces_.reset();
    auto opened = Namespaces::Open(*store_, clock_, options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    spaces_ = std::move(*opened);
  }
  uint64_t CountOf(const std::string& space, const std::string& associator,
                   const std::string& key) {
    const auto standing = spaces_->Find(space)->counter().CountAndRank(associator, key);
    return standing.ok() && standing->has_value() ? (*standing)->count : 0;
  }
  void Add(const std::string& space, const std::string& associator, const std::string& key,
           uint64_t weight = 1) {
    ASSERT_TRUE(spaces_->Find(space)->counter().Increment(associator, key, weight).ok());
  }

  std::unique_ptr<store::Store> store_ = store::NewMemoryStore();
  VirtualClock clock_{absl::FromUnixSeconds(1800000000)};
  std::unique_ptr<Namespaces> spaces_;
};

TEST_F(NamespacesTest, TheDefaultOneIsAlwaysThere) {
  Open();
  EXPECT_NE(spaces_->Find("default"), nullptr);
  EXPECT_EQ(spaces_->Default(), spaces_->Find("default"));
  EXPECT_EQ(spaces_->Find("other"), nullptr);
  EXPECT_EQ(spaces_->Drop("default").code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(NamespacesTest, SettingsCountsAndUsageSurviveARestart) {
  Open();
  NamespaceSettings settings;
  settings.k = 7;
  settings.max_pairs = 100;
  settings.writes_per_second = 12;
  settings.half_life = absl::Hours(3);
  settings.event_window = 9;
  settings.saturate_32bit = true;
  settings.intern_ids = true;
  EXPECT_EQ(*spaces_->Put("a", settings), true);
  EXPECT_EQ(*spaces_->Put("a", settings), false);
  Add("a", "x", "y", uint64_t{1} << 33);
  Add("default", "x", "y", 3);
  spaces_->Find("a")->CountWrites(5);
  spaces_->Find("a")->CountReads(6);
  ASSERT_TRUE(spaces_->Maintain().ok());
  Open();
  EXPECT_EQ(spaces_->Names(), (std::vector<std::string>{"a", "default"}));
  EXPECT_EQ(spaces_->Find("a")->settings(), settings);
  EXPECT_EQ(spaces_->Find("a")->Usage().writes, 5);
  EXPECT_EQ(spaces_->Find("a")->Usage().reads, 6);
  EXPECT_EQ(CountOf("a", "x", "y"), AssociationOptions::kSaturate32Bit);
  EXPECT_EQ(CountOf("default", "x", "y"), 3);
}

TEST_F(NamespacesTest, NamesAndSettingsAreChecked) {
  Open();
  const std::string long_name(129, 'a');
  for (const std::string& name : {std::string(), std::string("a b"), std::string("a/b"),
                                  std::string("\xC3\xA9"), long_name}) {
    EXPECT_EQ(spaces_->Put(name, {}).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
  NamespaceSettings settings;
  settings.k = 0;
  EXPECT_FALSE(spaces_->Put("a", settings).ok());
  settings = {};
  settings.half_life = absl::Milliseconds(1);
  EXPECT_FALSE(spaces_->Put("a", settings).ok());
  EXPECT_EQ(spaces_->Find("a"), nullptr);
  ASSERT_TRUE(spaces_->Put("a", {}).ok());
  settings = {};
  settings.intern_ids = true;
  EXPECT_EQ(spaces_->Put("a", settings).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(NamespacesTest, ChangesAtTheSameTimeLoseNoSetting) {
  Open();
  constexpr uint64_t kChanges = 500;
  std::vector<std::thread> threads;
  for (uint64_t NamespaceSettings::*setting :
       {&NamespaceSettings::max_pairs, &NamespaceSettings::writes_per_second,
        &NamespaceSettings::max_pairs}) {
    threads.emplace_back([this, setting] {
      for (uint64_t i = 0; i < kChanges; ++i) {
        const auto add_one = [setting](NamespaceSettings& settings) {
          ++(settings.*setting);
          return absl::OkStatus();
        };
        EXPECT_TRUE(spaces_->Update("a", add_one).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(spaces_->Find("a")->settings().max_pairs, 2 * kChanges);
  EXPECT_EQ(spaces_->Find("a")->settings().writes_per_second, kChanges);
}

TEST_F(NamespacesTest, AChangeThatIsGivenUpChangesNothing) {
  Open();
  const auto give_up = [](NamespaceSettings& settings) {
    settings.k = 7;
    return absl::CancelledError("no");
  };
  EXPECT_EQ(spaces_->Update("a", give_up).status(), absl::CancelledError("no"));
  EXPECT_EQ(spaces_->Find("a"), nullptr);
  EXPECT_EQ(spaces_->Update("default", give_up).status(), absl::CancelledError("no"));
  EXPECT_EQ(spaces_->Default()->settings(), NamespaceSettings());
}

TEST_F(NamespacesTest, AChangeThatCannotBeStoredChangesNothing) {
  Failures failures;
  store_ = std::make_unique<FlakyStore>(failures);
  Open();
  NamespaceSettings settings;
  settings.k = 7;
  settings.half_life = absl::Hours(1);
  failures.next_write = true;
  EXPECT_FALSE(spaces_->Put("default", settings).ok());
  EXPECT_EQ(spaces_->Default()->settings(), NamespaceSettings());
  EXPECT_TRUE(spaces_->Put("default", settings).ok());
  EXPECT_EQ(spaces_->Default()->settings(), settings);
  spaces_.reset();
}

TEST_F(NamespacesTest, ADroppedOneIsGoneWithAllInIt) {
  Open();
  ASSERT_TRUE(spaces_->Put("a", {}).ok());
  ASSERT_TRUE(spaces_->Put("b", {}).ok());
  Add("a", "x", "y");
  Add("b", "x", "y", 2);
  ASSERT_TRUE(spaces_->Sync().ok());
  // Who still holds it may finish.
  auto held = spaces_->Find("a");
  std::thread dropping([&] { EXPECT_TRUE(spaces_->Drop("a").ok()); });
  while (!held->dropped()) std::this_thread::yield();
  EXPECT_TRUE(held->counter().Increment("x", "late").ok());
  held.reset();
  dropping.join();
  EXPECT_EQ(spaces_->Drop("a").code(), absl::StatusCode::kNotFound);
  for (int restart = 0; restart < 2; ++restart) {
    EXPECT_EQ(spaces_->Find("a"), nullptr);
    EXPECT_EQ(CountOf("b", "x", "y"), 2);
    ASSERT_TRUE(spaces_->Put("a", {}).ok());
    EXPECT_EQ(spaces_->Find("a")->counter().Totals().pairs, 0);
    ASSERT_TRUE(spaces_->Drop("a").ok());
    Open();
  }
}

TEST_F(NamespacesTest, ADropThatCannotBeStoredChangesNothing) {
  Failures failures;
  store_ = std::make_unique<FlakyStore>(failures);
  Open();
  ASSERT_TRUE(spaces_->Put("a", {}).ok());
  Add("a", "x", "y");
  ASSERT_TRUE(spaces_->Sync().ok());
  failures.next_write = true;
  EXPECT_FALSE(spaces_->Drop("a").ok());
  ASSERT_NE(spaces_->Find("a"), nullptr);
  EXPECT_EQ(CountOf("a", "x", "y"), 1);
  Open();
  EXPECT_EQ(CountOf("a", "x", "y"), 1);
  EXPECT_TRUE(spaces_->Drop("a").ok());
  Open();
  EXPECT_EQ(spaces_->Find("a"), nullptr);
  spaces_.reset();
}

TEST_F(NamespacesTest, WhatADropLeftBehindIsNoPartOfALaterOne) {
  Failures failures;
  store_ = std::make_unique<FlakyStore>(failures);
  Open();
  ASSERT_TRUE(spaces_->Put("a", {}).ok());
  Add("a", "x", "y");
  ASSERT_TRUE(spaces_->Checkpoint().ok());
  ASSERT_TRUE(spaces_->Sync().ok());
  auto held = spaces_->Find("a");
  std::thread dropping([&] { EXPECT_TRUE(spaces_->Drop("a").ok()); });
  while (!held->dropped()) std::this_thread::yield();
  failures.next_write = true;  // it is gone, and what was in it cannot be deleted
  held.reset();
  dropping.join();
  EXPECT_FALSE(failures.next_write);
  EXPECT_EQ(spaces_->Find("a"), nullptr);
  for (const char* name : {"a", "b"}) {
    Open();
    EXPECT_EQ(spaces_->Find(name), nullptr);
    ASSERT_TRUE(spaces_->Put(name, {}).ok());
    EXPECT_EQ(spaces_->Find(name)->Usage().totals.pairs, 0);
    EXPECT_EQ(CountOf(name, "x", "y"), 0);
  }
  spaces_.reset();
}

TEST_F(NamespacesTest, OneThatFailsDoesNotKeepTheOthersFromBeingWritten) {
  Failures failures;
  store_ = std::make_unique<FlakyStore>(failures);
  Open({.checkpoint_changes = 1});
  ASSERT_TRUE(spaces_->Put("a", {}).ok());
  Add("a", "x", "y");
  failures.next_write = true;
  EXPECT_FALSE(spaces_->Sync().ok());  // "a" takes no further write
  Add("default", "x", "y");
  EXPECT_FALSE(spaces_->Sync().ok());
  {
    const auto others = *Namespaces::Open(*store_, clock_, {});
    EXPECT_TRUE((*others->Default()->counter().CountAndRank("x", "y")).has_value());
  }
  EXPECT_FALSE(spaces_->Maintain().ok());
  EXPECT_EQ(spaces_->Default()->counter().LogChanges(), 0);
  Add("default", "x", "y");
  EXPECT_FALSE(spaces_->Checkpoint().ok());
  EXPECT_EQ(spaces_->Default()->counter().LogChanges(), 0);
  spaces_.reset();
}

TEST_F(NamespacesTest, UsageThatCouldNotBeStoredIsStoredLater) {
  Failures failures;
  store_ = std::make_unique<FlakyStore>(failures);
  Open();
  spaces_->Default()->CountReads(3);
  failures.next_write = true;
  EXPECT_FALSE(spaces_->Maintain().ok());
  EXPECT_TRUE(spaces_->Maintain().ok());
  Open();
  EXPECT_EQ(spaces_->Default()->Usage().reads, 3);
  spaces_.reset();
}

TEST_F(NamespacesTest, CountsHalveWithTheClockAlsoWhileTheServerIsOff) {
  Open();
  NamespaceSettings settings;
  settings.half_life = absl::Hours(1);
  ASSERT_TRUE(spaces_->Put("a", settings).ok());
  Add("a", "x", "y", 1000);
  clock_.Advance(absl::Minutes(59));
  ASSERT_TRUE(spaces_->Maintain().ok());
  EXPECT_EQ(CountOf("a", "x", "y"), 1000);
  clock_.Advance(absl::Minutes(1));
  ASSERT_TRUE(spaces_->Maintain().ok());
  EXPECT_EQ(CountOf("a", "x", "y"), 500);
  ASSERT_TRUE(spaces_->Sync().ok());
  clock_.Advance(absl::Hours(2));
  Open();
  EXPECT_EQ(CountOf("a", "x", "y"), 125);
  Add("a", "x", "z", 1);  // too late for what passed
  ASSERT_TRUE(spaces_->Maintain().ok());
  EXPECT_EQ(CountOf("a", "x", "y"), 125);
  EXPECT_EQ(CountOf("a", "x", "z"), 1);
  // A longer half-life begins where the shorter one ended.
  settings.half_life = absl::Hours(10);
  ASSERT_TRUE(spaces_->Put("a", settings).ok());
  clock_.Advance(absl::Hours(9));
  ASSERT_TRUE(spaces_->Maintain().ok());
  EXPECT_EQ(CountOf("a", "x", "y"), 125);
  clock_.Advance(absl::Hours(1));
  ASSERT_TRUE(spaces_->Maintain().ok());
  EXPECT_EQ(CountOf("a", "x", "y"), 62);
  // A clock that goes back halves nothing and undoes nothing.
  clock_.Advance(-absl::Hours(100));
  ASSERT_TRUE(spaces_->Maintain().ok());
  EXPECT_EQ(CountOf("a", "x", "y"), 62);
}

TEST_F(NamespacesTest, WritesPerSecondAreAllowedOnTheWhole) {
  Open();
  NamespaceSettings settings;
  settings.writes_per_second = 10;
  ASSERT_TRUE(spaces_->Put("a", settings).ok());
  const auto space = spaces_->Find("a");
  absl::Duration wait;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(space->TakeWrites(1, clock_.Now(), wait).ok());
  EXPECT_FALSE(space->TakeWrites(1, clock_.Now(), wait).ok());
  EXPECT_EQ(wait, absl::Milliseconds(100));
  clock_.Advance(wait);
  EXPECT_TRUE(space->TakeWrites(51, clock_.Now(), wait).ok());  // a debt of 50
  EXPECT_FALSE(space->TakeWrites(1, clock_.Now(), wait).ok());
  EXPECT_NEAR(absl::ToDoubleSeconds(wait), 5.1, 1e-6);
  clock_.Advance(absl::Seconds(5));
  EXPECT_FALSE(space->TakeWrites(1, clock_.Now(), wait).ok());
  clock_.Advance(absl::Milliseconds(101));
  EXPECT_TRUE(space->TakeWrites(1, clock_.Now(), wait).ok());
  // What is not used for an hour is not saved up.
  clock_.Advance(absl::Hours(1));
  EXPECT_TRUE(space->TakeWrites(10, clock_.Now(), wait).ok());
  EXPECT_FALSE(space->TakeWrites(1, clock_.Now(), wait).ok());
}

TEST_F(NamespacesTest, OnlyAnotherRateForgetsWhatIsOwed) {
  Open();
  NamespaceSettings settings;
  settings.writes_per_second = 10;
  ASSERT_TRUE(spaces_->Put("a", settings).ok());
  const auto space = spaces_->Find("a");
  absl::Duration wait;
  EXPECT_TRUE(space->TakeWrites(100, clock_.Now(), wait).ok());
  settings.k = 7;
  ASSERT_TRUE(spaces_->Put("a", settings).ok());
  EXPECT_FALSE(space->TakeWrites(1, clock_.Now(), wait).ok());
  settings.writes_per_second = 20;
  ASSERT_TRUE(spaces_->Put("a", settings).ok());
  EXPECT_TRUE(space->TakeWrites(1, clock_.Now(), wait).ok());
}

TEST_F(NamespacesTest, AClockThatIsSetBackStopsNobodyForLong) {
  Open();
  NamespaceSettings settings;
  settings.writes_per_second = 10;
  ASSERT_TRUE(spaces_->Put("a", settings).ok());
  const auto space = spaces_->Find("a");
  absl::Duration retry_after;
  ASSERT_TRUE(space->TakeWrites(10, clock_.Now(), retry_after).ok());
  clock_.Set(clock_.Now() - absl::Hours(1));
  EXPECT_FALSE(space->TakeWrites(1, clock_.Now(), retry_after).ok());
  clock_.Advance(retry_after);
  EXPECT_TRUE(space->TakeWrites(1, clock_.Now(), retry_after).ok());
}

TEST_F(NamespacesTest, ARateLimitsNobodyWhereItIsNotAsked) {
  Open({.limit_rate = false});
  NamespaceSettings settings;
  settings.writes_per_second = 1;
  ASSERT_TRUE(spaces_->Put("a", settings).ok());
  EXPECT_FALSE(spaces_->Find("a")->limited());
  EXPECT_EQ(spaces_->Find("a")->settings(), settings);
}

TEST_F(NamespacesTest, AMemoryBudgetIsSharedAndChangesNothing) {
  Open({.memory_bytes = 200 << 10});
  ASSERT_TRUE(spaces_->Put("a", {}).ok());
  for (int i = 0; i < 20000; ++i) {
    Add(i % 4 == 0 ? "default" : "a", std::to_string(i % 500), std::to_string(i % 97));
    if (i % 1000 == 0) {
      ASSERT_TRUE(spaces_->Maintain().ok());
    }
  }
  ASSERT_TRUE(spaces_->Maintain().ok());
  for (const char* space : {"default", "a"}) Add(space, "one more", "pair");
  const size_t used =
      spaces_->Find("a")->Usage().memory_bytes + spaces_->Find("default")->Usage().memory_bytes;
  EXPECT_LE(used, 260 << 10);
  EXPECT_EQ(
      spaces_->Find("a")->Usage().totals.count + spaces_->Find("default")->Usage().totals.count,
      20002);
}

TEST_F(NamespacesTest, DamagedSettingsAreSaid) {
  Open();
  spaces_.reset();
  store::Batch batch;
  batch.Put("Nbroken", "\x07rubbish");
  ASSERT_TRUE(store_->Write(batch, store::Reach::kDisk).ok());
  EXPECT_EQ(Namespaces::Open(*store_, clock_, {}).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace escalona::assoc

// Many threads on a virtual clock: at no moment is a queue served inside its delay, over its
// in-process cap, while blocked, or past its limit, and no URL is leased twice.
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "escalona/frontier.h"
#include "frontier/check.h"
#include "frontier/core.h"
#include "frontier_fixture.h"
#include "gtest/gtest.h"
#include "store/store.h"

namespace escalona {
namespace {

constexpr int kQueues = 12;
constexpr int kThreads = 4;
constexpr int64_t kDelay = 40;  // milliseconds
constexpr uint32_t kCap = 5;
constexpr uint32_t kLimit = 400;
constexpr absl::Duration kLease = absl::Hours(1);  // none ends by time

std::string KeyOf(int queue) { return "q" + std::to_string(queue); }
int QueueOf(std::string_view key) { return std::stoi(std::string(key.substr(1))); }

// What the threads know of a queue at least, whatever the frontier is doing at the moment.
struct Seen {
  std::atomic<int64_t> blocked_until = 0;
  std::atomic<uint32_t> completed = 0;
  std::atomic<uint32_t> in_process = 0;
  std::mutex mutex;
  std::set<std::string> leased;          // guarded by mutex
  std::map<int64_t, uint64_t> servings;  // guarded by mutex: moment -> call
};

class Crowd {
 public:
  Crowd(Frontier& frontier, VirtualClock& clock) : frontier_(frontier), clock_(clock) {}

  void Run(int steps) {
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, t, steps] {
        std::mt19937 random(t);
        for (int i = 0; i < steps && !failed_; ++i) Step(random);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (Seen& queue : seen_) {
      int64_t last = -kDelay;
      for (const auto& [moment, call] : queue.servings) {
        EXPECT_GE(moment - last, kDelay);
        last = moment;
      }
    }
  }
  uint64_t served() const { return served_; }
  uint64_t completed() const {
    uint64_t sum = 0;
    for (const Seen& queue : seen_) sum += queue.completed;
    return sum;
  }

 private:
  void Fail(const std::string& what) {
    failed_ = true;
    ADD_FAILURE() << what;
  }

  void Step(std::mt19937& random) {
    switch (random() % 16) {
      case 0: {
        const int queue = static_cast<int>(random() % kQueues);
        const int64_t until =
            absl::ToUnixMillis(clock_.Now()) + static_cast<int64_t>(random() % 50);
        Seen& seen = seen_[static_cast<size_t>(queue)];
        const std::lock_guard<std::mutex> lock(block_mutex_);
        if (until <= seen.blocked_until) return;  // never unblocked
        if (!frontier_.BlockQueueUntil("", KeyOf(queue), absl::FromUnixMillis(until)).ok()) {
          Fail("block");
        }
        seen.blocked_until = until;
        return;
      }
      case 1:
        (void)frontier_.Stats(std::nullopt, std::nullopt);
        (void)frontier_.ListQueues("", false, 0, 5, nullptr);
        return;
      case 2:
        (void)frontier_.Explain("", KeyOf(static_cast<int>(random() % kQueues)), "u1");
        return;
      case 3:
        clock_.Advance(absl::Milliseconds(random() % 20));
        return;
      case 4: {
        int left = 20;
        (void)frontier_.ListUrls({}, [&](const KnownUrl&) { return --left > 0; });
        return;
      }
      case 5:
      case 6:
      case 7:
        return Discover(random);
      default:
        return Fetch(random);
    }
  }

  void Discover(std::mt19937& random) {
    std::vector<std::string> texts;
    std::vector<FrontierPut> items;
    std::vector<std::string> keys;
    for (int i = 0; i < 8; ++i) {
      texts.push_back("u" + std::to_string(random() % 100000));
      keys.push_back(KeyOf(static_cast<int>(random() % kQueues)));
    }
    for (size_t i = 0; i < texts.size(); ++i) items.push_back({.url = texts[i], .key = keys[i]});
    absl::Status error;
    frontier_.Put(items, &error);
    if (!error.ok()) Fail("put");
  }

  void Fetch(std::mt19937& random) {
    std::array<int64_t, kQueues> blocked;
    std::array<uint32_t, kQueues> completed;
    for (size_t q = 0; q < kQueues; ++q) {
      blocked[q] = seen_[q].blocked_until;
      completed[q] = seen_[q].completed;
    }
    const uint64_t call = ++calls_;
    std::vector<std::pair<int, std::string>> urls;
    GetRequest request = {.max_urls_per_queue = 1 + static_cast<uint32_t>(random() % 4),
                          .max_queues = static_cast<uint32_t>(random() % 4),
                          .lease = kLease};
    if (random() % 4 == 0) {
      request.key = KeyOf(static_cast<int>(random() % kQueues));
      request.crawl = "";
    }
    const auto got = frontier_.Get(request, [&](const LeasedUrl& url) {
      const int64_t moment = absl::ToUnixMillis(url.deadline - kLease);
      const int queue = QueueOf(url.key);
      const auto index = static_cast<size_t>(queue);
      Seen& seen = seen_[index];
      if (blocked[index] >= moment) Fail("served while blocked");
      if (completed[index] >= kLimit) Fail("served past its limit");
      if (++seen.in_process > kCap) Fail("over the in-process cap");
      const std::lock_guard<std::mutex> lock(seen.mutex);
      if (!seen.leased.emplace(url.url).second) Fail("leased twice");
      const auto [serving, is_first] = seen.servings.emplace(moment, call);
      if (serving->second != call) Fail("served twice at one moment");
      urls.emplace_back(queue, url.url);
      ++served_;
    });
    if (!got.ok()) Fail("get");
    for (const auto& [queue, url] : urls) {
      Seen& seen = seen_[static_cast<size_t>(queue)];
      {
        const std::lock_guard<std::mutex> lock(seen.mutex);
        seen.leased.erase(url);
      }
      --seen.in_process;
      const std::string key = KeyOf(queue);
      const FrontierPut done = {.url = url, .key = key, .kind = PutKind::kCompleted};
      if (frontier_.Put({&done, 1})[0] != PutStatus::kOk) Fail("complete");
      ++seen.completed;
    }
  }

  Frontier& frontier_;
  VirtualClock& clock_;
  std::array<Seen, kQueues> seen_;
  std::mutex block_mutex_;
  std::atomic<uint64_t> calls_ = 0;
  std::atomic<uint64_t> served_ = 0;
  std::atomic<bool> failed_ = false;
};

const FrontierOptions kOptions = {
    .default_delay = absl::Milliseconds(kDelay), .max_in_process = kCap, .journal_changes = 100};

void Prepare(Frontier& frontier) {
  for (int q = 0; q < kQueues; ++q) {
    const std::string key = KeyOf(q);
    const FrontierPut first = {.url = "first", .key = key, .kind = PutKind::kCompleted};
    frontier.Put({&first, 1});
    ASSERT_TRUE(frontier.SetCrawlLimit("", key, kLimit).ok());
  }
}

void CheckCounts(Frontier& frontier, const Crowd& crowd) {
  const FrontierStats stats = frontier.Stats(std::nullopt, std::nullopt);
  EXPECT_EQ(stats.completed, crowd.completed() + kQueues);
  EXPECT_EQ(stats.leased, 0);
  uint64_t scheduled = 0;
  uint64_t completed = 0;
  EXPECT_TRUE(frontier
                  .ListUrls({},
                            [&](const KnownUrl& url) {
                              ++(url.state == UrlState::kCompleted ? completed : scheduled);
                              return true;
                            })
                  .ok());
  EXPECT_EQ(stats.scheduled, scheduled);
  EXPECT_EQ(stats.completed, completed);
  EXPECT_GT(crowd.served(), 100);
}

TEST(FrontierConcurrency, NoRuleIsBrokenAtAnyMoment) {
  VirtualClock clock(absl::FromUnixSeconds(1'700'000'000));
  const auto frontier = Frontier::OpenInMemory(kOptions, clock);
  ASSERT_NO_FATAL_FAILURE(Prepare(*frontier));
  Crowd crowd(*frontier, clock);
  crowd.Run(3000);
  CheckCounts(*frontier, crowd);
}

TEST(FrontierCrowd, NoRuleIsBrokenAtAnyMomentOnRocksDb) {
  const TestFolder folder;
  VirtualClock clock(absl::FromUnixSeconds(1'700'000'000));
  auto frontier = *Frontier::Open(folder.path(), kOptions, clock);
  ASSERT_NO_FATAL_FAILURE(Prepare(*frontier));
  Crowd crowd(*frontier, clock);
  crowd.Run(3000);
  CheckCounts(*frontier, crowd);
  frontier.reset();
  frontier = *Frontier::Open(folder.path(), kOptions, clock);
  CheckCounts(*frontier, crowd);
}

// Queues and crawls vanish under those who serve them.
TEST(FrontierConcurrency, RemovalAndServingGoTogether) {
  VirtualClock clock(absl::FromUnixSeconds(1'700'000'000));
  for (const PolitenessGroup group : {PolitenessGroup::kQueue, PolitenessGroup::kDomain}) {
    const auto frontier =
        Frontier::OpenInMemory({.group = group, .default_delay = absl::Milliseconds(1)}, clock);
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(t);
        for (int i = 0; i < 3000; ++i) {
          const std::string crawl = "c" + std::to_string(random() % 3);
          const std::string key =
              "h" + std::to_string(random() % 3) + ".d" + std::to_string(random() % 2) + ".org";
          const std::string url = "u" + std::to_string(random() % 50);
          switch (random() % 12) {
            case 0:
              (void)frontier->DeleteQueue(crawl, key);
              break;
            case 1:
              (void)frontier->DeleteCrawl(crawl);
              break;
            case 2:
              (void)frontier->Purge(crawl, key, absl::InfiniteFuture());
              break;
            case 3:
              (void)frontier->SetStrategy(crawl, static_cast<Strategy>(random() % 3),
                                          UrlOrder::kDate);
              break;
            case 4:
              (void)frontier->SetDefaultDelay(absl::Milliseconds(random() % 3));
              break;
            case 5:
            case 6:
            case 7: {
              clock.Advance(absl::Milliseconds(1));
              (void)frontier->Get({.max_urls_per_queue = 3, .lease = absl::Milliseconds(20)},
                                  [](const LeasedUrl&) {});
              break;
            }
            default: {
              const FrontierPut item = {.url = url,
                                        .key = key,
                                        .crawl = crawl,
                                        .kind = static_cast<PutKind>(random() % 3),
                                        .date = clock.Now()};
              frontier->Put({&item, 1});
            }
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    uint64_t urls = 0;
    for (const std::string& crawl : frontier->ListCrawls()) {
      (void)frontier->ListUrls({.crawl = crawl}, [&](const KnownUrl&) { return ++urls > 0; });
    }
    const FrontierStats stats = frontier->Stats(std::nullopt, std::nullopt);
    EXPECT_EQ(stats.scheduled + stats.completed, urls);
    for (const std::string& crawl : frontier->ListCrawls()) {
      EXPECT_TRUE(frontier->DeleteCrawl(crawl).ok());
    }
    EXPECT_EQ(frontier->Stats(std::nullopt, std::nullopt).queues, 0);
  }
}

// A store that calls a function before each ScanFirst.
class HookedStore final : public store::Store {
 public:
  HookedStore(store::Store& store, std::function<void(uint64_t)>& hook)
      : store_(store), hook_(hook) {}
  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) override {
    return store_.Get(key);
  }
  absl::Status Write(const store::Batch& batch, store::Reach reach) override {
    return store_.Write(batch, reach);
  }
  absl::Status Scan(std::string_view begin, std::string_view end,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    return store_.Scan(begin, end, visit);
  }
  absl::Status ScanFirst(
      std::string_view begin, std::string_view end, uint64_t limit,
      absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    if (hook_) hook_(limit);
    return store_.ScanFirst(begin, end, limit, visit);
  }
  absl::Status Sync() override { return store_.Sync(); }

 private:
  store::Store& store_;
  std::function<void(uint64_t)>& hook_;
};

void Fill(Frontier& frontier, std::string_view key, int count) {
  std::vector<std::string> urls;
  for (int i = 0; i < count; ++i) urls.push_back("u" + std::to_string(100'000 + i));
  std::vector<FrontierPut> items;
  for (const std::string& url : urls) items.push_back({.url = url, .key = key});
  frontier.Put(items);
}

TEST(FrontierConcurrency, AQueueThatCameAgainBetweenTwoPartsOfAPurgeHarmsNoOther) {
  VirtualClock clock(absl::FromUnixSeconds(1'700'000'000));
  const std::unique_ptr<store::Store> kept = store::NewMemoryStore();
  std::function<void(uint64_t)> hook;
  auto opened = frontier::Core::Open(std::make_unique<HookedStore>(*kept, hook), {}, clock);
  ASSERT_TRUE(opened.ok());
  Frontier& frontier = **opened;
  constexpr int kPart = 10'000;
  Fill(frontier, "purged", kPart + 1);
  Fill(frontier, "other", 5);
  clock.Advance(absl::Seconds(100));
  std::vector<std::thread> threads;
  std::atomic<bool> once = false;
  hook = [&](uint64_t limit) {
    if (limit != kPart || once.exchange(true)) return;
    // The stripe is fair: both go between the first part and the second.
    constexpr std::chrono::milliseconds kEnough(200);
    threads.emplace_back([&] { EXPECT_TRUE(frontier.DeleteQueue("", "purged").ok()); });
    std::this_thread::sleep_for(kEnough);
    threads.emplace_back([&] { Fill(frontier, "purged", 3); });
    std::this_thread::sleep_for(kEnough);
  };
  const auto purged = frontier.Purge("", "purged", clock.Now() - absl::Seconds(50));
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(purged.ok()) << purged.status();
  EXPECT_EQ(*purged, kPart);
  EXPECT_EQ(frontier.Stats("", "other").scheduled, 5);
  EXPECT_EQ(frontier.Stats("", "purged").scheduled, 3);
  const auto got =
      frontier.Get({.max_urls_per_queue = 0, .key = "other", .crawl = ""}, [](const LeasedUrl&) {});
  EXPECT_EQ(*got, 5);
  const auto counts =
      frontier::CheckStore(*kept, [](const std::string& what) { ADD_FAILURE() << what; });
  EXPECT_TRUE(counts.ok()) << counts.status();
}

TEST(FrontierConcurrency, WhatIsForgottenWhileAPutRunsIsKnown) {
  VirtualClock clock(absl::FromUnixSeconds(1'700'000'000));
  std::vector<std::string> urls;
  for (int i = 0; i < 20'000; ++i) urls.push_back("u" + std::to_string(i));
  for (int trial = 0; trial < 12; ++trial) {
    auto frontier = Frontier::OpenInMemory({.memory_bytes = 512 << 10}, clock);
    std::vector<FrontierPut> known;
    for (int i = 0; i < 8'000; ++i) {
      known.push_back({.url = urls[i], .key = "a", .kind = PutKind::kCompleted});
    }
    frontier->Put(known);
    for (FrontierPut& put : known) put.kind = PutKind::kDiscovered;
    std::vector<FrontierPut> fresh;
    for (const std::string& url : urls) fresh.push_back({.url = url, .key = "b"});
    std::atomic<bool> stop = false;
    std::atomic<uint64_t> taken = 0;
    std::thread other([&] {
      while (!stop) {
        for (PutStatus status : frontier->Put(known)) taken += status == PutStatus::kOk ? 1 : 0;
      }
    });
    for (size_t at = 0; at < fresh.size(); at += 500) {
      frontier->Put(std::span(fresh).subspan(at, 500));
    }
    stop = true;
    other.join();
    ASSERT_EQ(taken, 0) << "trial " << trial;
    ASSERT_EQ(frontier->Stats("", "a").completed, known.size());
  }
}

}  // namespace
}  // namespace escalona

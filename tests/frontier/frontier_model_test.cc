// Random operations over virtual time, with restarts in between: the frontier does what the naive
// model does, and its counters equal a recount.
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "escalona/frontier.h"
#include "flaky_store.h"
#include "frontier/check.h"
#include "frontier/core.h"
#include "frontier_fixture.h"
#include "frontier_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace escalona {
namespace {

using frontier_model::Model;
using frontier_model::Served;

constexpr int64_t kStart = 1'700'000'000'000;

enum class Kind { kMemory, kRocksDb, kFlaky };

struct LeaseSeen {
  std::string crawl, key, url;
  uint64_t lease;
};

class World {
 public:
  World(uint32_t seed, Kind kind) : random_(seed), kind_(kind), clock_(absl::Now()) {
    options_.strategy = static_cast<Strategy>(Below(3));
    options_.url_order = Below(3) == 0 ? UrlOrder::kDepth : UrlOrder::kDate;
    options_.group = static_cast<PolitenessGroup>(Below(3));
    options_.default_delay = absl::Milliseconds(Below(4) == 0 ? 0 : Below(3000));
    if (Below(3) == 0) options_.max_in_process = 1 + Below(4);
    if (Below(4) == 0) options_.max_urls_per_queue = 3 + Below(5);
    if (Below(4) == 0) options_.max_urls_per_crawl = 5 + Below(20);
    options_.memory_bytes = Below(2) == 0 ? 1 << 12 : 32 << 20;   // forgetful or not
    if (Below(2) == 0) options_.journal_changes = 1 + Below(40);  // folds all the time
    // By depth a clock that steps back makes the order of dates and of places differ.
    steps_back_ = options_.url_order == UrlOrder::kDate && Below(2) == 0;
    model_.emplace(options_);
    now_ = kStart;
    SetTime();
    Open();
  }

  void Run(int steps) {
    for (int i = 0; i < steps; ++i) {
      ASSERT_NO_FATAL_FAILURE(Step()) << "step " << i;
      ASSERT_NO_FATAL_FAILURE(CompareStats()) << "step " << i;
      if (i % 16 != 0) continue;
      ASSERT_NO_FATAL_FAILURE(CompareAll()) << "step " << i;
    }
  }

 private:
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  std::string AnyCrawl() {
    static const std::vector<std::string> kNames = {"", " \t", "DEFAULT", "c_1", "c", "c%", "c.1"};
    return kNames[Below(kNames.size())];
  }
  std::string AnyKey() {
    static const std::vector<std::string> kKeys = {
        "a.example.com", "b.example.com", "x.org", "10.0.0.1", "_", "\xC3\xA9"};
    return kKeys[Below(kKeys.size())];
  }
  std::string AnyUrl(const std::string& key) {
    static const std::vector<std::string> kPaths = {"/",  "/a",       "/a/b",
                                                    "/b", "/b?c/d/e", "/c/d/e/f"};
    std::string url = "http://" + key + kPaths[Below(kPaths.size())];
    if (url.back() == '/') url += "x";
    return url;
  }

  void Open() {
    if (kind_ != Kind::kRocksDb && frontier_ != nullptr) return;
    if (kind_ == Kind::kMemory) {
      frontier_ = Frontier::OpenInMemory(options_, clock_);
      return;
    }
    if (kind_ == Kind::kFlaky) {
      frontier_ = *frontier::Core::Open(std::make_unique<FlakyStore>(failures_), options_, clock_);
      return;
    }
    const bool was_open = frontier_ != nullptr;
    frontier_.reset();
    if (was_open) {
      const auto store = *store::OpenRocksStore(folder_.path());
      const auto counts =
          frontier::CheckStore(*store, [](const std::string& what) { ADD_FAILURE() << what; });
      ASSERT_TRUE(counts.ok()) << counts.status();
    }
    auto opened = Frontier::Open(folder_.path(), options_, clock_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    frontier_ = *std::move(opened);
    model_->Restart();
  }

  void SetTime() {
    latest_ = std::max(latest_, now_);
    clock_.Set(absl::FromUnixMillis(now_));
    model_->Tick(now_);
  }

  void Step() {
    switch (Below(20)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
        return Put();
      case 6:
      case 7:
      case 8:
      case 9:
      case 10:
        return Get();
      case 11:
      case 12:
      case 13:
        now_ += Below(10) == 0 ? Below(100'000) : Below(2500);
        if (steps_back_ && Below(6) == 0) now_ -= Below(20'000);
        return SetTime();
      case 14:
        return Below(4) == 0 ? Remove() : Explain();
      case 15:
        if (Below(10) != 0) return Explain();
        // A lease that has ended is live again if the clock stands before its end at a restart.
        now_ = latest_;
        SetTime();
        return Open();
      default:
        return Control();
    }
  }

  void Put() {
    struct Text {
      std::string crawl, key, url, metadata;
    };
    std::vector<Text> texts(1 + Below(5));
    std::vector<FrontierPut> items;
    for (Text& text : texts) {
      text = {AnyCrawl(), AnyKey(), "", std::to_string(Below(1000))};
      text.url = AnyUrl(text.key);
      FrontierPut item;
      item.kind = static_cast<PutKind>(Below(3));
      item.date = absl::FromUnixMillis(now_ - 20'000 + Below(40'000));
      if (!leases_.empty() && Below(2) == 0) {
        const LeaseSeen& lease =
            leases_[leases_.size() - 1 - Below(std::min<size_t>(leases_.size(), 10))];
        text.crawl = lease.crawl;
        text.key = lease.key;
        text.url = lease.url;
        if (Below(2) == 0) item.lease = lease.lease;
      }
      item.crawl = text.crawl;
      item.key = text.key;
      item.url = text.url;
      item.metadata = text.metadata;
      items.push_back(item);
    }
    absl::Status error;
    if (FailNext()) failures_.next_write = true;
    if (FailNext()) failures_.next_read = true;
    const std::vector<PutStatus> statuses = frontier_->Put(items, &error);
    failures_.next_read = false;
    if (!error.ok() && kind_ == Kind::kFlaky) {
      failures_.next_write = false;
      for (PutStatus status : statuses) ASSERT_EQ(status, PutStatus::kFailed);
      return;
    }
    failures_.next_write = false;
    ASSERT_TRUE(error.ok()) << error;
    ASSERT_EQ(statuses, model_->Put(items));
  }

  void Get() {
    GetRequest request;
    request.max_urls_per_queue = Below(4);
    if (Below(4) == 0) request.max_urls_at_once = 1 + Below(3);
    request.max_queues = Below(4);
    if (Below(2) == 0) request.crawl = AnyCrawl();
    if (Below(5) == 0) request.key = AnyKey();
    request.lease = Below(3) == 0 ? absl::ZeroDuration() : absl::Milliseconds(Below(20'000));
    std::vector<Served> served;
    std::vector<LeaseSeen> leases;
    if (FailNext()) failures_.next_write = true;
    if (FailNext()) failures_.next_scan = true;
    const auto count = frontier_->Get(request, [&](const LeasedUrl& url) {
      served.push_back({std::string(url.crawl), std::string(url.key), std::string(url.url),
                        std::string(url.metadata), absl::ToUnixMillis(url.deadline)});
      leases.push_back(
          {std::string(url.crawl), std::string(url.key), std::string(url.url), url.lease});
      ASSERT_TRUE(ids_.insert(url.lease).second);
    });
    failures_.next_write = false;
    failures_.next_scan = false;
    if (!count.ok() && kind_ == Kind::kFlaky) {
      ASSERT_TRUE(served.empty());
      return;
    }
    ASSERT_TRUE(count.ok()) << count.status();
    ASSERT_EQ(*count, served.size());
    const std::vector<Served> expected = model_->Get(request);
    ASSERT_EQ(served.size(), expected.size()) << Show(served) << "expected\n" << Show(expected);
    ASSERT_TRUE(served == expected) << Show(served) << "expected\n" << Show(expected);
    for (const LeaseSeen& lease : leases) {
      model_->Lease(lease.crawl, lease.key, lease.url, lease.lease);
      leases_.push_back(lease);
    }
  }

  static std::string Show(const std::vector<Served>& served) {
    std::string text;
    for (const Served& url : served) text += url.crawl + " " + url.key + " " + url.url + "\n";
    return text;
  }

  bool FailNext() { return kind_ == Kind::kFlaky && Below(6) == 0; }

  // Each is one write.
  void FailToControl() {
    const std::string crawl = AnyCrawl();
    const std::string key = AnyKey();
    const bool known = model_->Find(Model::Name(crawl), key) != nullptr;
    std::vector<std::function<absl::Status()>> calls = {
        [&] { return frontier_->SetActive(!model_->active); },
        [&] { return frontier_->SetDefaultDelay(absl::Hours(1)); },
        [&] { return frontier_->SetDelay(crawl, key, absl::Hours(1)); },
        [&] { return frontier_->BlockQueueUntil(crawl, key, absl::InfiniteFuture()); },
        [&] { return frontier_->SetQueueAddress(crawl, key, "10.0.0.3"); },
        [&] { return frontier_->SetStrategy(crawl, Strategy::kBestFirst, UrlOrder::kDate); },
    };
    if (known) {
      calls.emplace_back([&] { return frontier_->SetCrawlLimit(crawl, key, 1); });
      calls.emplace_back([&] { return frontier_->DeleteQueue(crawl, key).status(); });
      calls.emplace_back([&] { return frontier_->DeleteCrawl(crawl).status(); });
    }
    failures_.next_write = true;
    ASSERT_FALSE(calls[Below(static_cast<uint32_t>(calls.size()))]().ok());
    ASSERT_EQ(frontier_->active(), model_->active);
  }

  void Control() {
    if (FailNext()) return FailToControl();
    const std::string crawl = AnyCrawl();
    const std::string key = AnyKey();
    switch (Below(9)) {
      case 0:
        model_->active = Below(4) != 0;
        ASSERT_TRUE(frontier_->SetActive(model_->active).ok());
        ASSERT_EQ(frontier_->active(), model_->active);
        return;
      case 1: {
        const int64_t delay = Below(2000);
        model_->SetDefaultDelay(delay);
        ASSERT_TRUE(frontier_->SetDefaultDelay(absl::Milliseconds(delay)).ok());
        return;
      }
      case 2:
      case 3: {
        const int64_t delay = Below(3) * 700;
        model_->Tell(crawl, key).delay = delay;
        ASSERT_TRUE(frontier_->SetDelay(crawl, key, absl::Milliseconds(delay)).ok());
        return;
      }
      case 4: {
        const int64_t until = Below(2) == 0 ? 0 : now_ + Below(4000);
        model_->Tell(crawl, key).blocked = until == 0 ? -1 : until;
        ASSERT_TRUE(frontier_->BlockQueueUntil(crawl, key, absl::FromUnixMillis(until)).ok());
        return;
      }
      case 5: {
        const uint32_t limit = Below(4);
        const absl::Status set = frontier_->SetCrawlLimit(crawl, key, limit);
        auto* const queue = model_->Find(Model::Name(crawl), key);
        ASSERT_EQ(set.code(), queue ? absl::StatusCode::kOk : absl::StatusCode::kNotFound);
        if (queue != nullptr) queue->limit = limit;
        return;
      }
      case 6: {
        const auto strategy = static_cast<Strategy>(Below(3));
        const UrlOrder order = steps_back_ ? UrlOrder::kDate : static_cast<UrlOrder>(Below(2));
        model_->SetStrategy(crawl, strategy, order);
        ASSERT_TRUE(frontier_->SetStrategy(crawl, strategy, order).ok());
        return;
      }
      default: {
        static const std::vector<std::string> kAddresses = {"", "10.0.0.1", "10.0.0.2"};
        const std::string& address = kAddresses[Below(3)];
        model_->SetAddress(crawl, key, address);
        ASSERT_TRUE(frontier_->SetQueueAddress(crawl, key, address).ok());
        return;
      }
    }
  }

  void Remove() {
    const std::string crawl = AnyCrawl();
    const std::string key = AnyKey();
    switch (Below(3)) {
      case 0:
        ASSERT_EQ(*frontier_->DeleteQueue(crawl, key), model_->DeleteQueue(crawl, key));
        return;
      case 1:
        ASSERT_EQ(*frontier_->DeleteCrawl(crawl), model_->DeleteCrawl(crawl));
        return;
      default: {
        std::optional<std::string> only;
        if (Below(2) == 0) only = key;
        const int64_t before = now_ / 1000 - Below(60);
        ASSERT_EQ(*frontier_->Purge(crawl, only, absl::FromUnixSeconds(before)),
                  model_->Purge(crawl, only, before));
      }
    }
  }

  void Explain() {
    const std::string crawl = AnyCrawl();
    const std::string key = AnyKey();
    const std::string text = AnyUrl(key);
    const auto answer = frontier_->Explain(crawl, key, text);
    ASSERT_TRUE(answer.ok()) << answer.status();
    auto* const queue = model_->Find(Model::Name(crawl), key);
    int64_t when = now_;
    if (queue == nullptr || !queue->urls.contains(text) || queue->urls[text].completed ||
        !model_->active) {
      when = frontier_model::kForever;
    } else {
      const frontier_model::Url& url = queue->urls[text];
      when = std::max({when, model_->QueueWake(Model::Name(crawl), key), url.date * 1000});
      if (url.lease != 0) when = std::max(when, url.deadline);
      std::vector<int64_t> ends;
      for (const auto& [one, other] : queue->urls) {
        if (other.lease != 0) ends.push_back(other.deadline);
      }
      std::sort(ends.begin(), ends.end());
      if (ends.size() >= options_.max_in_process) {
        when = std::max(when, ends[ends.size() - options_.max_in_process]);
      }
    }
    ASSERT_EQ(answer->when, when == frontier_model::kForever ? absl::InfiniteFuture()
                                                             : absl::FromUnixMillis(when));
    ASSERT_EQ(answer->reasons.size() == 1 && answer->reasons[0] == Explanation::Reason::kServable,
              when == now_);
  }

  static void ExpectSame(const FrontierStats& a, const FrontierStats& b) {
    ASSERT_EQ(a.scheduled, b.scheduled);
    ASSERT_EQ(a.completed, b.completed);
    ASSERT_EQ(a.leased, b.leased);
    ASSERT_EQ(a.queues, b.queues);
    ASSERT_EQ(a.active_queues, b.active_queues);
  }

  void CompareStats() {
    FrontierStats all;
    for (const auto& [name, crawl] : model_->crawls()) {
      FrontierStats sum;
      for (const auto& [key, queue] : crawl.queues) {
        const FrontierStats one = model_->StatsOf(queue);
        ASSERT_NO_FATAL_FAILURE(ExpectSame(frontier_->Stats(name, key), one)) << name << key;
        sum.scheduled += one.scheduled;
        sum.completed += one.completed;
        sum.leased += one.leased;
        sum.queues += 1;
        sum.active_queues += one.active_queues;
      }
      ASSERT_NO_FATAL_FAILURE(ExpectSame(frontier_->Stats(name, std::nullopt), sum)) << name;
      all.scheduled += sum.scheduled;
      all.completed += sum.completed;
      all.leased += sum.leased;
      all.queues += sum.queues;
      all.active_queues += sum.active_queues;
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSame(frontier_->Stats(std::nullopt, std::nullopt), all));
  }

  void CompareAll() {
    std::vector<std::string> crawls;
    for (const auto& [name, crawl] : model_->crawls()) {
      if (!crawl.queues.empty()) crawls.push_back(name);
      uint64_t total = 0;
      ASSERT_EQ(frontier_->ListQueues(name, true, 0, 100, &total), model_->KeysInOrder(name));
      ASSERT_EQ(total, crawl.queues.size());
      ASSERT_NO_FATAL_FAILURE(CompareUrls(name));
    }
    ASSERT_EQ(frontier_->ListCrawls(), crawls);
  }

  void CompareUrls(const std::string& crawl) {
    size_t listed = 0;
    UrlFilter filter;
    filter.crawl = crawl;
    const auto compare = [&](const KnownUrl& url) {
      auto* const queue = model_->Find(crawl, std::string(url.key));
      ASSERT_NE(queue, nullptr) << url.key;
      ASSERT_TRUE(queue->urls.contains(std::string(url.url))) << url.url;
      const frontier_model::Url& expected = queue->urls[std::string(url.url)];
      ASSERT_EQ(url.state, expected.completed    ? UrlState::kCompleted
                           : expected.lease != 0 ? UrlState::kLeased
                                                 : UrlState::kScheduled)
          << url.url;
      ASSERT_EQ(url.metadata, expected.metadata);
      ASSERT_EQ(absl::ToUnixSeconds(url.date), expected.date);
      ASSERT_EQ(absl::ToUnixSeconds(url.created), expected.created);
      if (expected.lease != 0) {
        ASSERT_EQ(absl::ToUnixMillis(url.deadline), expected.deadline);
      }
    };
    ASSERT_TRUE(frontier_
                    ->ListUrls(filter,
                               [&](const KnownUrl& url) {
                                 ++listed;
                                 compare(url);
                                 return !::testing::Test::HasFatalFailure();
                               })
                    .ok());
    size_t expected = 0;
    for (const std::string& key : model_->KeysInOrder(crawl)) {
      for (const auto& [text, url] : model_->Find(crawl, key)->urls) {
        ++expected;
        ASSERT_TRUE(frontier_->GetUrl(crawl, key, text, compare).ok());
      }
    }
    ASSERT_EQ(listed, expected);
  }

  std::mt19937 random_;
  const Kind kind_;
  TestFolder folder_;
  Failures failures_;
  VirtualClock clock_;
  FrontierOptions options_;
  bool steps_back_ = false;
  int64_t now_ = 0;
  int64_t latest_ = 0;
  std::optional<Model> model_;
  std::unique_ptr<Frontier> frontier_;
  std::vector<LeaseSeen> leases_;
  std::set<uint64_t> ids_;
};

uint32_t Rounds(uint32_t usual) {
  return std::getenv("ESCALONA_LONG") == nullptr ? usual : 50 * usual;
}

TEST(FrontierModelTest, InMemory) {
  for (uint32_t seed = 0; seed < Rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed, Kind::kMemory);
    ASSERT_NO_FATAL_FAILURE(world.Run(600));
  }
}

TEST(FrontierModelTest, OnRocksDbWithRestarts) {
  for (uint32_t seed = 1000; seed < 1000 + Rounds(20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed, Kind::kRocksDb);
    ASSERT_NO_FATAL_FAILURE(world.Run(500));
  }
}

TEST(FrontierModelTest, AStoreThatFailsChangesNothing) {
  for (uint32_t seed = 2000; seed < 2000 + Rounds(40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed, Kind::kFlaky);
    ASSERT_NO_FATAL_FAILURE(world.Run(600));
  }
}

}  // namespace
}  // namespace escalona

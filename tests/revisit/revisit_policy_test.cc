// The policies: order, politeness, fairness and incremental changes, against naive models.
#include "escalona/revisit_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "escalona/allocation.h"
#include "revisit/alias_table.h"
#include "revisit/block_minima.h"
#include "revisit/bucketed_pages.h"
#include "revisit/indexed_heap.h"
#include "revisit/random_source.h"
#include "revisit/run_queue.h"

namespace escalona::revisit {
namespace {

constexpr PolicyKind kAll[] = {PolicyKind::kRandom, PolicyKind::kMerge, PolicyKind::kBucketedMerge,
                               PolicyKind::kDelayed, PolicyKind::kHybrid};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class EveryPolicy : public testing::TestWithParam<PolicyKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, EveryPolicy, testing::ValuesIn(kAll),
                         [](const auto& test) { return std::string(PolicyName(test.param)); });

TEST(MergePolicy, WorkedExampleRepeats21121) {
  auto policy = MakeRevisitPolicy(PolicyKind::kMerge);
  ASSERT_TRUE(policy->Add(1, {.frequency = 1.0 / 40}, 0, -30).ok());  // first key 10
  ASSERT_TRUE(policy->Add(2, {.frequency = 1.0 / 60}, 0, -60).ok());  // first key 0
  double before = kNever;
  for (const PageId page : {2, 1, 1, 2, 1, 2, 1, 1, 2, 1, 2, 1, 1, 2, 1}) {
    const double now = policy->NextTime();
    if (before != kNever) {
      EXPECT_NEAR(now - before, 24, 1e-9);
    }
    before = now;
    EXPECT_EQ(policy->Take(now), page);
  }
}

TEST(MergePolicy, TakesTheLeastKeyOfANaiveList) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < 20; ++round) {
    auto policy = MakeRevisitPolicy(PolicyKind::kMerge);
    std::map<PageId, std::pair<double, double>> keys;  // page -> key, interval
    for (PageId id = 0; id < 30; ++id) {
      const double f = 0.1 + unit(random);
      const double age = unit(random) / f;
      ASSERT_TRUE(policy->Add(id, {.frequency = f}, 0, -age).ok());
      keys[id] = {1 / f - age, 1 / f};
    }
    for (int i = 0; i < 2000; ++i) {
      const auto least = std::min_element(keys.begin(), keys.end(), [](auto& a, auto& b) {
        return a.second.first < b.second.first;
      });
      ASSERT_EQ(policy->Take(policy->NextTime()), least->first);
      least->second.first += least->second.second;
    }
  }
}

TEST_P(EveryPolicy, NamesRoundTrip) {
  EXPECT_EQ(PolicyFromName(PolicyName(GetParam())), GetParam());
  EXPECT_EQ(PolicyFromName("nosuch"), std::nullopt);
}

TEST_P(EveryPolicy, WithoutFrequencyNothingIsDue) {
  auto policy = MakeRevisitPolicy(GetParam(), {.politeness = 1, .seed = 1});
  EXPECT_EQ(policy->NextTime(), kInfinity);
  EXPECT_EQ(policy->Take(1e9), std::nullopt);
  ASSERT_TRUE(policy->Add(0, {.frequency = 0, .change_rate = 1}, 0).ok());
  EXPECT_EQ(policy->NextTime(), kInfinity);
  EXPECT_EQ(policy->Take(kInfinity), std::nullopt);
  ASSERT_TRUE(policy->Update(0, {.frequency = 2, .change_rate = 1}, 5).ok());
  EXPECT_LT(policy->NextTime(), 6.0);
  EXPECT_EQ(policy->Take(policy->NextTime()), 0u);
  ASSERT_TRUE(policy->Remove(0, 7).ok());
  EXPECT_EQ(policy->NextTime(), kInfinity);
  EXPECT_EQ(policy->total_frequency(), 0);
}

TEST_P(EveryPolicy, BadArgumentsAreRefusedAndChangeNothing) {
  auto policy = MakeRevisitPolicy(GetParam(), {.politeness = 1, .seed = 1});
  const double nan = std::nan("");
  for (const double bad : {nan, kInfinity, -1.0}) {
    EXPECT_EQ(policy->Add(0, {.frequency = bad}, 0).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(policy->Add(0, {.frequency = 1, .change_rate = bad}, 0).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(policy->Add(0, {.frequency = 1, .weight = bad}, 0).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(policy->SetPoliteness(bad).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(policy->Add(0, {.frequency = 1}, nan).ok());
  EXPECT_FALSE(policy->Add(0, {.frequency = 1}, 0, 1).ok());
  EXPECT_FALSE(policy->Add(0, {.frequency = 1}, 0, nan).ok());
  EXPECT_EQ(policy->Update(0, {.frequency = 1}, 0).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(policy->Remove(0, 0).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(policy->size(), 0u);
  ASSERT_TRUE(policy->Add(0, {.frequency = 1}, 0).ok());
  EXPECT_EQ(policy->Add(0, {.frequency = 1}, 0).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(policy->Remove(0, nan).ok());
  EXPECT_EQ(policy->size(), 1u);
  EXPECT_EQ(policy->Take(nan), std::nullopt);
}

// A naive model: the set of pages and the last request. Whatever is added, removed, changed or
// asked too early, the gap holds in doubles, every page taken is one that is there, and none with
// f > 0 waits much longer than its share demands.
TEST_P(EveryPolicy, StaysPoliteAndStarvesNoneUnderRandomChanges) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> unit(0, 1);
    const double start = seed % 3 == 0 ? 0 : 1.7e9 * unit(random);
    double politeness = 0.01 + unit(random);
    auto policy = MakeRevisitPolicy(GetParam(), {.politeness = politeness, .seed = seed});
    std::map<PageId, double> pages;  // frequency
    double now = start;
    double last = kNever;
    const auto page = [&] {
      const double f = unit(random) < 0.1 ? 0 : std::exp(3 * unit(random) - 3) / politeness / 20;
      return RevisitPage{f, std::exp(4 * unit(random) - 2) * f,
                         unit(random) < 0.1 ? 0 : unit(random)};
    };
    for (int step = 0; step < 6000; ++step) {
      const double dice = unit(random);
      const auto id = static_cast<PageId>(random() % 400);
      if (dice < 0.12 && pages.size() < 350) {
        const RevisitPage p = page();
        const double visited = dice < 0.06 ? kNever : now - unit(random) * 50;
        EXPECT_EQ(policy->Add(id, p, now, visited).ok(), !pages.contains(id));
        if (!pages.contains(id)) pages[id] = p.frequency;
      } else if (dice < 0.2) {
        EXPECT_EQ(policy->Remove(id, now).ok(), pages.erase(id) == 1);
      } else if (dice < 0.3) {
        const RevisitPage p = page();
        EXPECT_EQ(policy->Update(id, p, now).ok(), pages.contains(id));
        if (pages.contains(id)) pages[id] = p.frequency;
      } else if (dice < 0.302) {
        politeness = 0.01 + unit(random);
        ASSERT_TRUE(policy->SetPoliteness(politeness).ok());
      } else if (dice < 0.35) {
        now += unit(random) * politeness / 3;  // perhaps too early
        const double next = policy->NextTime();
        EXPECT_EQ(policy->Take(now).has_value(), now >= next);
        if (now >= next) {
          EXPECT_GE(now - last, politeness);
          last = now;
        }
      } else if (policy->NextTime() < kInfinity) {
        now = std::max(now, policy->NextTime());
        if (dice > 0.97) now += 5 * unit(random);  // a late caller
        const std::optional<PageId> taken = policy->Take(now);
        ASSERT_TRUE(taken.has_value());
        ASSERT_TRUE(pages.contains(*taken));
        ASSERT_GE(now - last, politeness);
        last = now;
      }
      ASSERT_EQ(policy->size(), pages.size());
      double total = 0;
      for (const auto& [unused, f] : pages) total += f;
      ASSERT_NEAR(policy->total_frequency(), total, 1e-9 * (total + 1));
      if (total > 0) {
        ASSERT_LT(policy->NextTime(), kInfinity);
      }
    }
    // From now on nothing changes: every page with f > 0 comes within a few of its intervals.
    std::set<PageId> waiting;
    double least = kInfinity, total = 0;
    for (const auto& [id, f] : pages) {
      total += f;
      if (f > 0) {
        waiting.insert(id);
        least = std::min(least, f);
      }
    }
    const double slowdown = std::max(1.0, total * politeness);
    const double patience = now + 30 / least * slowdown + 100 * politeness;
    while (!waiting.empty() && policy->NextTime() < patience) {
      now = policy->NextTime();
      waiting.erase(*policy->Take(now));
    }
    EXPECT_TRUE(waiting.empty()) << waiting.size() << " starved, seed " << seed;
  }
}

TEST_P(EveryPolicy, VisitsEachPageAsOftenAsPlanned) {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> unit(0, 1);
  for (const double load : {0.3, 0.97}) {
    std::vector<double> f(700);
    double total = 0;
    for (double& x : f) total += x = std::exp(2 * unit(random));
    auto policy = MakeRevisitPolicy(GetParam(), {.politeness = load / total, .seed = 2});
    for (PageId id = 0; id < f.size(); ++id) {
      ASSERT_TRUE(policy->Add(id, {.frequency = f[id]}, 0, -unit(random) / f[id]).ok());
    }
    std::vector<int> visits(f.size());
    constexpr double kTime = 300;
    while (policy->NextTime() < kTime) ++visits[*policy->Take(policy->NextTime())];
    const double all = std::accumulate(visits.begin(), visits.end(), 0.0);
    EXPECT_NEAR(all / (kTime * total), 1, 0.005);
    for (size_t i = 0; i < f.size(); ++i) {
      const double expected = f[i] * kTime;
      // RANDOM's visits scatter; the others are even, up to the width of a bucket.
      const double tolerance =
          GetParam() == PolicyKind::kRandom ? 5 * std::sqrt(expected) : 0.06 * expected + 2;
      EXPECT_NEAR(visits[i], expected, tolerance);
    }
  }
}

TEST(HybridPolicy, TakesPagesNeverVisitedInOrderOfWeightOverRate) {
  // Slots so close together that no page visited meanwhile is worth another visit.
  auto policy = MakeRevisitPolicy(PolicyKind::kHybrid, {.politeness = 1e-4, .seed = 1});
  const double rates[] = {0.5, 0.1, 0.3, 0.2, 0.4};
  for (PageId id = 0; id < 5; ++id) {
    ASSERT_TRUE(policy->Add(id, {.frequency = 100, .change_rate = rates[id]}, 0).ok());
  }
  for (const PageId id : {1, 3, 2, 4, 0}) EXPECT_EQ(policy->Take(policy->NextTime()), id);
}

TEST(HybridPolicy, ComparesAFirstVisitWithTheIndexOfAnother) {
  // One slot every 20; page 0 (w/L = 10) is visited first. At age 20 its index is 10 g(2) = 5.94,
  // more than a first visit to page 1 brings (w/L = 5), less than one to page 2 (w/L = 8).
  auto policy = MakeRevisitPolicy(PolicyKind::kHybrid, {.politeness = 1, .seed = 1});
  ASSERT_TRUE(policy->Add(0, {.frequency = 0.025, .change_rate = 0.1}, 0).ok());
  ASSERT_TRUE(policy->Add(1, {.frequency = 0.025, .change_rate = 0.2}, 0).ok());
  EXPECT_EQ(policy->Take(policy->NextTime()), 0u);
  EXPECT_EQ(policy->Take(policy->NextTime()), 0u);
  const double now = policy->NextTime() - 20;
  ASSERT_TRUE(policy->Remove(1, now).ok());
  ASSERT_TRUE(policy->Add(2, {.frequency = 0.025, .change_rate = 0.125}, now).ok());
  EXPECT_EQ(policy->Take(policy->NextTime()), 2u);
}

TEST(HybridPolicy, SaturatedServesTheGreatestRelativeLateness) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit(0, 1);
  constexpr int kPages = 40;
  std::vector<double> f(kPages), last(kPages);
  double total = 0;
  for (double& x : f) total += x = std::exp(3 * unit(random));
  const double politeness = 1 / total;
  auto policy = MakeRevisitPolicy(PolicyKind::kHybrid, {.politeness = politeness, .seed = 3});
  for (PageId id = 0; id < kPages; ++id) {
    last[id] = -unit(random) / f[id];
    ASSERT_TRUE(policy->Add(id, {.frequency = f[id]}, 0, last[id]).ok());
  }
  for (int i = 0; i < 5000; ++i) {
    const double now = policy->NextTime();
    double greatest = 0;
    for (int p = 0; p < kPages; ++p) {
      greatest = std::max(greatest, (now - last[p] + politeness / 2) * f[p]);
    }
    const PageId taken = *policy->Take(now);
    // With few pages the buckets are a thousandth wide.
    EXPECT_GT((now - last[taken] + politeness / 2) * f[taken], greatest * 0.997);
    last[taken] = now;
  }
}

TEST(HybridPolicy, BelowSaturationEveryPageKeepsItsOwnTimes) {
  auto policy = MakeRevisitPolicy(PolicyKind::kHybrid, {.politeness = 1e-6, .seed = 3});
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<double> f(60), last(60);
  for (PageId id = 0; id < f.size(); ++id) {
    f[id] = 0.5 + unit(random);
    last[id] = -unit(random) / f[id];
    ASSERT_TRUE(policy->Add(id, {.frequency = f[id]}, 0, last[id]).ok());
  }
  for (int i = 0; i < 5000; ++i) {
    const double now = policy->NextTime();
    const PageId taken = *policy->Take(now);
    EXPECT_NEAR((now - last[taken]) * f[taken], 1, 0.002);
    last[taken] = now;
  }
}

TEST(HybridPolicy, AStreamOfNewPagesDoesNotStarveTheScheduledOnes) {
  auto policy = MakeRevisitPolicy(PolicyKind::kHybrid, {.politeness = 0, .seed = 3});
  ASSERT_TRUE(policy->Add(0, {.frequency = 1, .change_rate = 100}, 0, 0).ok());
  int visits = 0;
  double now = 0;
  for (PageId id = 1; id < 20'000; ++id) {
    ASSERT_TRUE(policy->Add(id, {.frequency = 1e-6, .change_rate = 1e-9}, now).ok());
    now = policy->NextTime();
    visits += *policy->Take(now) == 0;
  }
  EXPECT_GT(visits, 20'000 / 64 - 10);
}

TEST(HybridPolicy, ManyPagesSurviveTheChangeOfModes) {
  auto policy = MakeRevisitPolicy(PolicyKind::kHybrid, {.politeness = 1, .seed = 3});
  std::map<PageId, int> visits;
  constexpr PageId kPages = 2000;
  for (PageId id = 0; id < kPages; ++id) {
    ASSERT_TRUE(policy->Add(id, {.frequency = 0.9 / kPages, .change_rate = 0.1 / kPages}, 0).ok());
  }
  double now = 0;
  for (const double politeness : {1.0, 1.2, 0.1, 1.2, 1.0}) {  // timed, saturated, timed, ...
    ASSERT_TRUE(policy->SetPoliteness(politeness).ok());
    visits.clear();
    for (const double end = now + 3.0 * kPages; (now = policy->NextTime()) < end;) {
      ++visits[*policy->Take(now)];
    }
    EXPECT_EQ(visits.size(), kPages);
  }
}

TEST(RandomPolicy, DrawsInProportionWhileFrequenciesChange) {
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> unit(0, 1);
  constexpr int kPages = 50, kDraws = 400'000;
  auto policy = MakeRevisitPolicy(PolicyKind::kRandom, {.politeness = 0, .seed = 3});
  std::vector<double> f(kPages), expected(kPages), visits(kPages);
  for (PageId id = 0; id < kPages; ++id) {
    f[id] = std::exp(4 * unit(random));
    ASSERT_TRUE(policy->Add(id, {.frequency = f[id]}, 0).ok());
  }
  for (int i = 0; i < kDraws; ++i) {
    const double now = policy->NextTime();
    if (i % 20 == 0) {  // rarely enough that some draws come from a table with changes beside it
      const auto id = static_cast<PageId>(random() % kPages);
      f[id] = i % 100 == 0 ? 0 : std::exp(4 * unit(random));
      ASSERT_TRUE(policy->Update(id, {.frequency = f[id]}, now).ok());
    }
    const double total = std::accumulate(f.begin(), f.end(), 0.0);
    for (int p = 0; p < kPages; ++p) expected[p] += f[p] / total;
    ++visits[*policy->Take(policy->NextTime())];
  }
  double chi_square = 0;
  for (int p = 0; p < kPages; ++p) {
    chi_square += (visits[p] - expected[p]) * (visits[p] - expected[p]) / expected[p];
  }
  EXPECT_LT(chi_square, 95);  // 49 degrees of freedom: exceeded once in 10^4
}

TEST(AliasTable, EveryEntryHasItsProbability) {
  const std::vector<double> weights = {0, 1, 2, 3, 0, 1e-9, 4, 100};
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  AliasTable table;
  table.Build(weights, total);
  std::vector<double> counts(weights.size());
  constexpr uint64_t kSteps = 1 << 22;  // evenly over all 64-bit numbers
  for (uint64_t i = 0; i < kSteps; ++i) ++counts[table.Draw(i << 42 | i)];
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_NEAR(counts[i] / kSteps, weights[i] / total, 1e-5) << i;
  }
  EXPECT_EQ(counts[0], 0);
  EXPECT_EQ(counts[4], 0);
}

TEST(IndexedHeap, AgreesWithASortedSet) {
  std::mt19937_64 random(10);
  IndexedHeap heap;
  std::map<uint32_t, double> keys;
  std::set<std::pair<double, uint32_t>> sorted;
  for (int i = 0; i < 50'000; ++i) {
    const auto id = static_cast<uint32_t>(random() % 300);
    if (keys.contains(id)) sorted.erase({keys[id], id});
    if (random() % 3 == 0) {
      heap.Remove(id);
      keys.erase(id);
    } else {
      const auto key = static_cast<double>(random() % 100);
      heap.Set(id, key);
      keys[id] = key;
      sorted.insert({key, id});
    }
    ASSERT_EQ(heap.size(), sorted.size());
    if (!sorted.empty()) {
      ASSERT_EQ(heap.Top().id, sorted.begin()->second);
    }
  }
}

TEST(BlockMinima, AgreesWithAPlainArray) {
  for (const size_t size : {1, 15, 16, 17, 255, 256, 257, 600}) {
    BlockMinima minima;
    std::vector<double> plain(size, BlockMinima::kNone);
    RandomSource random(size);
    for (int step = 0; step < 4000; ++step) {
      const size_t i = random.Next() % size;
      if (random.Next() % 4 == 0) {
        minima.Remove(i);
        plain[i] = BlockMinima::kNone;
      } else {
        plain[i] = std::floor(random.Unit() * 50) - 25;  // with equals
        minima.Set(i, plain[i]);
        ASSERT_EQ(minima[i], plain[i]);
      }
      const auto least = std::min_element(plain.begin(), plain.end());
      ASSERT_EQ(minima.Least(), *least);
      if (*least == BlockMinima::kNone) continue;
      ASSERT_EQ(minima.IndexOfLeast(), static_cast<size_t>(least - plain.begin()));
    }
  }
}

TEST(RunQueue, AgreesWithASortedSet) {
  std::mt19937_64 random(11);
  RunQueue queue;
  std::set<std::pair<double, uint32_t>> sorted;
  uint32_t next = 0;
  for (int i = 0; i < 60'000; ++i) {
    const int phase = i / 10'000;
    if (sorted.empty() || random() % (phase % 2 == 0 ? 3 : 2) != 0) {
      const bool in_order = random() % 10 != 0;
      const double key = in_order ? i : i - static_cast<double>(random() % 5000);
      queue.Push({key, next, 0});
      sorted.insert({key, next++});
    } else {
      const uint32_t id = sorted.begin()->second;
      ASSERT_EQ(queue.Front().id, id);
      sorted.erase(sorted.begin());
      if (random() % 3 == 0) {
        const double key = i - static_cast<double>(random() % 2 * (random() % 5000));
        queue.Renew(key);
        sorted.insert({key, id});
      } else {
        queue.Pop();
      }
    }
    if (i % 7000 == 6999) {
      queue.Filter([](const RunQueue::Entry& entry) { return entry.id % 3 != 0; });
      std::erase_if(sorted, [](const auto& entry) { return entry.second % 3 == 0; });
    }
    ASSERT_EQ(queue.size(), sorted.size());
    ASSERT_EQ(queue.empty(), sorted.empty());
  }
}

// Runs of visits long enough for buckets to stop noting them, between changes and questions.
TEST(BucketedPages, KnowsTheLastVisitOfEachPageHoweverSeldomAsked) {
  constexpr PageId kPages = 50;
  std::vector<double> frequency(kPages);
  std::vector<double> last(kPages);
  RandomSource random(17);
  BucketedPages pages(0.1, BucketedPages::Order::kByDue);
  double now = 0;
  for (PageId id = 0; id < kPages; ++id) {
    frequency[id] = 1 + id % 3;
    pages.Insert(id, frequency[id], last[id] = now);
  }
  for (int step = 0; step < 3000; ++step) {
    for (uint64_t visits = random.Next() % 300; visits > 0 && pages.size() > 0; --visits) {
      const BucketedPages::Front front =
          pages.order() == BucketedPages::Order::kByDue ? pages.Earliest() : pages.Latest(now + 1);
      ASSERT_EQ(front.last, last[front.page]);
      pages.Visit(front.bucket, last[front.page] = ++now);
    }
    const auto id = static_cast<PageId>(random.Next() % kPages);
    if (step % 100 == 99) {
      pages.Reset(
          0.1, step % 200 == 99 ? BucketedPages::Order::kByLateness : BucketedPages::Order::kByDue);
      for (PageId i = 0; i < kPages; ++i) {
        ASSERT_EQ(pages.LastVisit(i), last[i]);
        pages.Insert(i, frequency[i], last[i]);
      }
    } else if (!pages.Contains(id)) {
      pages.Insert(id, frequency[id], last[id] = now - random.Unit());
    } else if (random.Next() % 2 == 0) {
      pages.Erase(id, frequency[id]);
    }
    ASSERT_EQ(pages.LastVisit(id), last[id]);
  }
}

TEST(ServerHeap, GivesServersInOrderOfTime) {
  ServerHeap heap;
  EXPECT_EQ(heap.Earliest(), std::nullopt);
  heap.Set(3, 10);
  heap.Set(1, 5);
  heap.Set(2, 5);
  EXPECT_EQ(heap.Earliest(), std::pair(1u, 5.0));
  heap.Set(1, 20);
  EXPECT_EQ(heap.Earliest(), std::pair(2u, 5.0));
  heap.Set(2, kInfinity);
  EXPECT_EQ(heap.Earliest(), std::pair(3u, 10.0));
  heap.Remove(3);
  heap.Remove(7);
  EXPECT_EQ(heap.Earliest(), std::pair(1u, 20.0));
  heap.Set(1, std::nan(""));
  EXPECT_EQ(heap.size(), 0u);
}

}  // namespace
}  // namespace escalona::revisit

// What a choice of the next page costs, by policy and number of pages.
//
// Every benchmark prints `per_floor`: its time over that of one uncached load from a table as large
// as the pages' records, measured in the same run; and the goal beside it where there is one.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "escalona/allocation.h"
#include "escalona/revisit_policy.h"
#include "revisit/random_source.h"

namespace escalona::revisit {
namespace {

// One server whose pages change as WEBBASE's do, planned at `load` of its politeness limit.
struct Server {
  std::vector<double> rates;
  std::vector<double> frequencies;
  double politeness = 1;
};

Server MakeServer(size_t pages, double load) {
  Server server;
  RandomSource random(7);
  for (size_t i = 0; i < pages; ++i) server.rates.push_back(std::exp(2 * random.Normal()));
  Problem problem;
  problem.change_rate = server.rates;
  problem.capacity = static_cast<double>(pages);  // one visit per median change interval
  const Allocation plan = *Allocate(problem);
  server.frequencies.assign(plan.frequency.begin(), plan.frequency.end());
  server.politeness =
      load / std::accumulate(server.frequencies.begin(), server.frequencies.end(), 0.0);
  return server;
}

std::unique_ptr<RevisitPolicy> Fill(PolicyKind kind, const Server& server) {
  auto policy = MakeRevisitPolicy(kind, {server.politeness, 1});
  RandomSource random(3);
  for (PageId i = 0; i < server.rates.size(); ++i) {
    const double f = server.frequencies[i];
    const double last = f > 0 ? -random.Unit() / f : -1;
    policy->Add(i, {f, server.rates[i], 1}, 0, last).IgnoreError();
  }
  return policy;
}

// The floor: a chain of dependent loads over 16 bytes per page, in a random order.
double NanosecondsPerLoad(size_t pages) {
  std::vector<std::pair<uint64_t, uint64_t>> table(pages);
  std::vector<uint32_t> order(pages);
  std::iota(order.begin(), order.end(), 0);
  RandomSource random(5);
  for (size_t i = pages - 1; i > 0; --i) std::swap(order[i], order[random.Next() % (i + 1)]);
  for (size_t i = 0; i < pages; ++i) table[order[i]].first = order[(i + 1) % pages];
  constexpr int kLoads = 1 << 20;
  uint64_t at = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kLoads; ++i) at = table[at].first;
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  benchmark::DoNotOptimize(at);
  return time.count() / kLoads;
}

void Choose(benchmark::State& state, PolicyKind kind, double load, double goal) {
  const auto pages = static_cast<size_t>(state.range(0));
  const Server server = MakeServer(pages, load);
  const std::unique_ptr<RevisitPolicy> policy = Fill(kind, server);
  for (size_t i = 0; i < 2 * pages; ++i) policy->Take(policy->NextTime());  // into the steady state
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state) benchmark::DoNotOptimize(policy->Take(policy->NextTime()));
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  const double each = time.count() / static_cast<double>(state.iterations());
  state.counters["per_floor"] = each / NanosecondsPerLoad(pages);
  if (goal > 0) state.counters["goal_ns"] = goal;
}

#define ESCALONA_CHOICE(name, kind, load, goal) \
  BENCHMARK_CAPTURE(Choose, name, kind, load, goal)->RangeMultiplier(50)->Range(1000, 2'500'000)

ESCALONA_CHOICE(random, PolicyKind::kRandom, 0.5, 20);
ESCALONA_CHOICE(merge, PolicyKind::kMerge, 0.5, 0);
ESCALONA_CHOICE(bucketed_merge, PolicyKind::kBucketedMerge, 0.5, 60);
ESCALONA_CHOICE(delayed, PolicyKind::kDelayed, 0.5, 0);
ESCALONA_CHOICE(hybrid_page_timed, PolicyKind::kHybrid, 0.5, 60);
ESCALONA_CHOICE(hybrid_saturated, PolicyKind::kHybrid, 1.0, 60);

// First visits: every slot compares an unvisited page with a scheduled one.
void ChooseCold(benchmark::State& state) {
  const Server server = MakeServer(static_cast<size_t>(state.range(0)), 0.5);
  std::unique_ptr<RevisitPolicy> policy;
  for (auto _ : state) {
    state.PauseTiming();
    policy = MakeRevisitPolicy(PolicyKind::kHybrid, {server.politeness, 1});
    for (PageId i = 0; i < server.rates.size(); ++i) {
      policy->Add(i, {server.frequencies[i], server.rates[i], 1}, 0).IgnoreError();
    }
    state.ResumeTiming();
    for (int64_t i = 0; i < state.range(0); ++i) {
      benchmark::DoNotOptimize(policy->Take(policy->NextTime()));
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ChooseCold)->Arg(100'000)->Arg(2'500'000)->Iterations(1)->Unit(benchmark::kMillisecond);

// A re-plan: a new frequency for a page, then a choice.
void UpdateAndChoose(benchmark::State& state, PolicyKind kind) {
  const Server server = MakeServer(static_cast<size_t>(state.range(0)), 0.5);
  const std::unique_ptr<RevisitPolicy> policy = Fill(kind, server);
  RandomSource random(9);
  for (auto _ : state) {
    const auto id = static_cast<PageId>(random.Next() % server.rates.size());
    const double now = policy->NextTime();
    const double f = server.frequencies[id] * (0.5 + random.Unit());
    policy->Update(id, {f, server.rates[id], 1}, now).IgnoreError();
    benchmark::DoNotOptimize(policy->Take(policy->NextTime()));
  }
}
BENCHMARK_CAPTURE(UpdateAndChoose, random, PolicyKind::kRandom)->Arg(100'000);
BENCHMARK_CAPTURE(UpdateAndChoose, merge, PolicyKind::kMerge)->Arg(100'000);
BENCHMARK_CAPTURE(UpdateAndChoose, bucketed_merge, PolicyKind::kBucketedMerge)->Arg(100'000);
BENCHMARK_CAPTURE(UpdateAndChoose, hybrid, PolicyKind::kHybrid)->Arg(100'000);

}  // namespace
}  // namespace escalona::revisit

BENCHMARK_MAIN();

// The simulation: one server after the other, in parallel, with freshness in closed form.
#include "revisit/simulation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>

#include "revisit/parallel.h"
#include "revisit/random_source.h"

namespace escalona::revisit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The time a copy is fresh, weighted, by bin.
class Curve {
 public:
  Curve(double duration, size_t bins)
      : amounts_(bins),
        width_(duration / static_cast<double>(bins)),
        per_day_(static_cast<double>(bins) / duration) {}

  // A copy of change rate L > 0 fetched at `last` lives until `until`; only [0, duration] counts.
  void Add(double rate, double weight, double last, double until) {
    double from = std::max(last, 0.0);
    double fresh = from > last ? std::exp(-rate * (from - last)) : 1;
    const double scale = weight / rate;
    for (auto bin = static_cast<size_t>(from * per_day_); bin < amounts_.size(); ++bin) {
      const double end = width_ * static_cast<double>(bin + 1);
      // Lost in this bin; its integral is 1/L of that.
      const double lost = -fresh * std::expm1(-rate * (std::min(end, until) - from));
      amounts_[bin] += scale * lost;
      fresh -= lost;
      if (until <= end || fresh < 1e-18) return;
      from = end;
    }
  }
  // A page that never changes.
  void AddForever(double weight) {
    for (double& amount : amounts_) amount += weight * width_;
  }
  void Add(const Curve& other) {
    for (size_t i = 0; i < amounts_.size(); ++i) amounts_[i] += other.amounts_[i];
  }
  // Mean freshness by bin, of pages that weigh `weight` together.
  [[nodiscard]] std::vector<double> Means(double weight) const {
    std::vector<double> means(amounts_);
    for (double& mean : means) mean = weight > 0 ? mean / (weight * width_) : 1;
    return means;
  }

 private:
  std::vector<double> amounts_;
  double width_;
  double per_day_;
};

// What one group of servers comes to.
struct Tally {
  Tally(double duration, size_t bins) : curve(duration, bins) {}
  Curve curve;
  double weight = 0;
  uint64_t requests = 0;
  double shortest_gap = kInfinity;
};

// Consecutive servers, simulated one after the other by one thread.
struct Group {
  size_t begin;
  size_t end;
  size_t pages;
};

// At most about a thousand groups, so that their curves need little memory; the cuts depend on the
// population alone.
std::vector<Group> MakeGroups(const Population& population) {
  const size_t enough = (population.servers() + 1023) / 1024;
  std::vector<Group> groups;
  for (size_t s = 0; s < population.servers(); s += enough) {
    const size_t end = std::min(s + enough, population.servers());
    groups.push_back({s, end, population.first[end] - population.first[s]});
  }
  return groups;
}

// Shows progress by the requests made, as far as they can be foreseen.
class Progress {
 public:
  Progress(double expected, const std::function<void(double)>& report)
      : expected_(expected), report_(report) {}
  void Add(uint64_t requests) {
    if (!report_) return;
    const uint64_t done = done_ += requests;
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) report_(std::min(static_cast<double>(done) / expected_, 1.0));
  }

 private:
  double expected_;
  const std::function<void(double)>& report_;
  std::atomic<uint64_t> done_{0};
  std::mutex mutex_;
};

class ServerRun {
 public:
  ServerRun(const Population& population, std::span<const double> frequency,
            const SimulationOptions& options, size_t server, Tally& tally,
            std::vector<uint32_t>& channel, Progress& progress)
      : population_(population),
        options_(options),
        server_(server),
        begin_(population.first[server]),
        frequency_(frequency.subspan(begin_, population.first[server + 1] - begin_)),
        tally_(tally),
        channel_(channel),
        progress_(progress) {}

  void Run() {
    // Not the stream that the population was drawn from with the same seed.
    RandomSource random(~options_.seed, server_);
    const double politeness = population_.min_interval[server_];
    policy_ = MakeRevisitPolicy(options_.policy, {politeness, random.Next()});
    pages_.resize(frequency_.size());
    for (PageId id = 0; id < pages_.size(); ++id) AddPage(id, random);
    Visits(politeness);
    for (const Page& page : pages_) {
      Count(page, options_.duration);
    }
  }

 private:
  struct Page {
    double last = kNever;
    double rate = 0;
    double weight = 0;
  };

  void AddPage(PageId id, RandomSource& random) {
    Page& page = pages_[id];
    page.rate = population_.change_rate[begin_ + id];
    page.weight = population_.WeightOf(begin_ + id);
    tally_.weight += page.weight;
    const double f = frequency_[id];
    if (page.rate == 0) {
      tally_.curve.AddForever(page.weight);
      if (f == 0) return;  // else it is visited for its lower bound alone
    }
    if (!options_.cold) {
      if (f == 0) return;
      page.last = -random.Unit() / f;
    }
    // Cannot fail: the allocation checked the numbers.
    policy_->Add(id, {f, page.rate, page.weight}, 0, page.last).IgnoreError();
  }

  // The copy fetched last, until it is replaced.
  void Count(const Page& page, double until) {
    if (page.last > kNever && page.rate > 0) {
      tally_.curve.Add(page.rate, page.weight, page.last, until);
    }
  }

  void Visits(double politeness) {
    constexpr uint64_t kReportEvery = 1 << 20;
    const double per_day = 1 / options_.channel_interval;
    double previous = kNever;
    double gap = kInfinity;
    uint64_t requests = 0;
    for (double now = policy_->NextTime(); now < options_.duration; now = policy_->NextTime()) {
      Page& page = pages_[*policy_->Take(now)];
      Count(page, now);
      page.last = now;
      gap = std::min(gap, now - previous);
      previous = now;
      ++channel_[static_cast<size_t>(now * per_day)];
      if (++requests % kReportEvery == 0) progress_.Add(kReportEvery);
    }
    progress_.Add(requests % kReportEvery);
    tally_.requests += requests;
    if (politeness > 0) tally_.shortest_gap = std::min(tally_.shortest_gap, gap / politeness);
  }

  const Population& population_;
  const SimulationOptions& options_;
  size_t server_;
  size_t begin_;
  std::span<const double> frequency_;
  Tally& tally_;
  std::vector<uint32_t>& channel_;
  Progress& progress_;
  std::unique_ptr<RevisitPolicy> policy_;
  std::vector<Page> pages_;
};

double MeanOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

SimulationResult Simulate(const Population& population, std::span<const double> frequency,
                          const SimulationOptions& options) {
  const std::vector<Group> groups = MakeGroups(population);
  // Large groups first: none must be left over for one thread at the end.
  std::vector<size_t> order(groups.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return groups[a].pages > groups[b].pages; });
  const auto intervals =
      static_cast<size_t>(options.duration / options.channel_interval) + 1;  // the last in part
  std::vector<uint64_t> channel(intervals);
  std::mutex channel_mutex;
  std::vector<Tally> tallies(groups.size(), Tally(options.duration, options.bins));
  const double planned = std::accumulate(frequency.begin(), frequency.end(), 0.0);
  Progress progress(std::max(planned * options.duration, 1.0), options.progress);

  ParallelFor(ThreadCount(options.threads), groups.size(), [&](size_t turn) {
    const size_t g = order[turn];
    std::vector<uint32_t> counts(intervals);
    for (size_t s = groups[g].begin; s < groups[g].end; ++s) {
      ServerRun(population, frequency, options, s, tallies[g], counts, progress).Run();
    }
    const std::lock_guard<std::mutex> lock(channel_mutex);
    for (size_t i = 0; i < intervals; ++i) channel[i] += counts[i];
  });

  Tally total(options.duration, options.bins);
  for (const Tally& tally : tallies) {
    total.curve.Add(tally.curve);
    total.weight += tally.weight;
    total.requests += tally.requests;
    total.shortest_gap = std::min(total.shortest_gap, tally.shortest_gap);
  }
  SimulationResult result;
  result.curve = total.curve.Means(total.weight);
  result.freshness = MeanOf(result.curve);
  result.last_fifth = MeanOf(std::span(result.curve).last(options.bins / 5));
  result.requests = total.requests;
  result.peak = *std::max_element(channel.begin(), channel.end());
  result.shortest_gap = total.shortest_gap;
  return result;
}

}  // namespace escalona::revisit

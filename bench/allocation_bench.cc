// The allocation solver alone, beside one memcpy pass over its inputs, from 10^5 to 10^8 pages.
//
//   allocation_bench [GREATEST_PAGES] [REPETITIONS]      default 14500000 and 5
//
// Goals: 14.5 M pages on 5,462 servers in 0.25 s on 2 cores; time linear in pages; at most 24 bytes
// per page of working memory beside the inputs. Times are the least of the repetitions: `fresh`
// with memory that the kernel has to find and clear, which a virtual machine may have to ask of its
// host; `warm` with memory the process has already. Processor time over cores, of the warm ones, is
// what it would be on a machine with nothing else to do.
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "escalona/allocation.h"
#include "revisit/fast_kernels.h"

namespace escalona::revisit {
namespace {

double Wall() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Processor() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// A number from /proc/self/status, in bytes.
double StatusBytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return 1024 * std::strtod(line.c_str() + name.size() + 1, nullptr);
  }
  return 0;
}

struct Population {
  std::vector<double> rate, weight, interval;
  std::vector<uint32_t> server;
};

// WEBBASE's shape: servers of Zipf size 1.125, rates lognormal between and within servers.
Population Make(size_t pages, bool sorted) {
  const size_t servers = std::max<size_t>(1, pages * 5462 / 14'500'000);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> cumulated(servers);
  std::vector<double> offset(servers);
  double total = 0;
  for (size_t s = 0; s < servers; ++s) {
    total += std::pow(s + 1, -1.125);
    cumulated[s] = total;
    offset[s] = 1.35 * normal(random);
  }
  Population p;
  p.server.resize(pages);
  for (uint32_t& s : p.server) {
    s = static_cast<uint32_t>(
        std::lower_bound(cumulated.begin(), cumulated.end() - 1, total * uniform(random)) -
        cumulated.begin());
  }
  if (sorted) std::sort(p.server.begin(), p.server.end());
  p.rate.resize(pages);
  p.weight.resize(pages);
  for (size_t i = 0; i < pages; ++i) {
    p.rate[i] = std::exp(-std::log(76) + offset[p.server[i]] + 2 * normal(random));
    p.weight[i] = std::exp(normal(random));
  }
  p.interval.assign(servers, 30. / 86400);
  return p;
}

// One pass of memcpy over all inputs, on as many threads as the solver has; the target is warm.
double MemcpySeconds(const Population& p, int threads) {
  const std::vector<std::pair<const void*, size_t>> sources = {
      {p.rate.data(), p.rate.size() * 8},
      {p.weight.data(), p.weight.size() * 8},
      {p.server.data(), p.server.size() * 4}};
  std::vector<char> target(p.rate.size() * 8, 1);
  double best = INFINITY;
  for (int round = 0; round < 5; ++round) {
    const double start = Wall();
    for (const auto& [data, size] : sources) {
      std::vector<std::thread> copies;
      for (int t = 0; t < threads; ++t) {
        const size_t begin = size * static_cast<size_t>(t) / static_cast<size_t>(threads);
        const size_t end = size * static_cast<size_t>(t + 1) / static_cast<size_t>(threads);
        copies.emplace_back([&, source = static_cast<const char*>(data), begin, end] {
          std::memcpy(target.data() + begin, source + begin, end - begin);
        });
      }
      for (std::thread& copy : copies) copy.join();
    }
    best = std::min(best, Wall() - start);
  }
  return best;
}

void Measure(size_t pages, bool sorted, bool weighted, double share, int repetitions) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const Population p = Make(pages, sorted);
  Problem problem;
  problem.change_rate = p.rate;
  if (weighted) problem.weight = p.weight;
  problem.server = p.server;
  problem.min_interval = p.interval;
  problem.capacity = share * static_cast<double>(p.interval.size()) / p.interval[0];
  AllocationOptions options;
  options.precision = Precision::kFast;
  double fresh = INFINITY;
  double wall = INFINITY;
  double processor = INFINITY;
  double memory = 0;
  for (int k = 0; k < 2 * repetitions; ++k) {
    const bool warm = k >= repetitions;
    // Large arrays have mappings of their own, which go back at once, unless there may be none.
    mallopt(M_MMAP_MAX, warm ? 0 : 1 << 16);
    mallopt(M_TRIM_THRESHOLD, warm ? -1 : 128 << 10);
    if (!warm) malloc_trim(0);
    const double resident = StatusBytes("VmRSS:");
    std::ofstream("/proc/self/clear_refs") << 5;  // the high-water mark starts anew
    const double start = Wall();
    const double used = Processor();
    absl::StatusOr<Allocation> plan = Allocate(problem, options);
    double& least = warm ? wall : fresh;
    least = std::min(least, Wall() - start);
    if (warm) processor = std::min(processor, Processor() - used);
    if (!plan.ok() || !plan->fast) std::exit(2);
    if (!warm) memory = std::max(memory, StatusBytes("VmHWM:") - resident);
  }
  const double copy = MemcpySeconds(p, cores);
  std::printf("%10zu %8zu %-8s %-10s %4.0f %% %9.4f %9.4f %9.4f %8.1f %10.1f %8.1f\n", pages,
              p.interval.size(), sorted ? "sorted" : "shuffled",
              weighted ? "weighted" : "unweighted", 100 * share, fresh, wall, processor / cores,
              1e9 * processor / static_cast<double>(pages), wall / copy,
              memory / static_cast<double>(pages));
  std::fflush(stdout);
}

// What each kind of allocation reaches of POLITE, its visits made as it intends them.
void CompareKinds(size_t pages) {
  const Population p = Make(pages, true);
  std::printf("\nratio to POLITE, %zu pages on %zu servers\n%-24s %8s %8s %8s\n", pages,
              p.interval.size(), "allocation", "C = 1 %", "10 %", "90 %");
  const std::pair<const char*, AllocationKind> kinds[] = {
      {"unpolite bound", AllocationKind::kUnpolite},
      {"polite-binary-lambda", AllocationKind::kPoliteBinaryLambda},
      {"uniform", AllocationKind::kUniform},
      {"change-proportional", AllocationKind::kChangeProportional}};
  for (const auto& [name, kind] : kinds) {
    std::printf("%-24s", name);
    for (const double share : {0.01, 0.1, 0.9}) {
      Problem problem;
      problem.change_rate = p.rate;
      problem.server = p.server;
      problem.min_interval = p.interval;
      problem.capacity = share * static_cast<double>(p.interval.size()) / p.interval[0];
      AllocationOptions options;
      absl::StatusOr<Allocation> polite = Allocate(problem, options);
      options.kind = kind;
      absl::StatusOr<Allocation> other = Allocate(problem, options);
      if (!polite.ok() || !other.ok()) std::exit(2);
      std::printf(" %8.4f", other->objective / polite->objective);
    }
    std::printf("\n");
  }
}

}  // namespace
}  // namespace escalona::revisit

int main(int argc, char** argv) {
  using namespace escalona::revisit;
  const double greatest = argc > 1 ? std::atof(argv[1]) : 14.5e6;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
  std::printf("kernels: %s\n%10s %8s %-8s %-10s %6s %9s %9s %9s %8s %10s %8s\n",
              ChooseKernels().name, "pages", "servers", "order", "weights", "C", "fresh s",
              "warm s", "cpu/cores", "ns/page", "x memcpy", "B/page");
  for (const double pages : {1e5, 1e6, 14.5e6, 1e8}) {
    if (pages > greatest) break;
    Measure(static_cast<size_t>(pages), true, false, 0.1, repetitions);
  }
  CompareKinds(290'000);
  if (greatest < 14.5e6) return 0;
  for (const bool sorted : {true, false}) {
    for (const double share : {0.01, 0.1, 0.9})
      Measure(14'500'000, sorted, true, share, repetitions);
  }
  return 0;
}

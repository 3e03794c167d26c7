// `escalona simulate`: years of visits under each policy and capacity, and how fresh the copies
// were.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/number_option.h"
#include "cli/output_file.h"
#include "cli/simulate_population.h"
#include "cli/simulate_report.h"
#include "cli/units.h"
#include "escalona/allocation.h"
#include "escalona/revisit_policy.h"
#include "revisit/simulation.h"

namespace escalona::cli {
namespace {

using revisit::Population;
using SteadyClock = std::chrono::steady_clock;

constexpr double kDaysPerYear = 365.25;

struct SimulateOptions {
  std::string population = "webbase";
  std::optional<int64_t> pages;
  std::optional<int64_t> servers;
  std::vector<std::string> capacity = {"1%", "10%", "90%"};
  std::string politeness;
  double years = 6;
  std::vector<std::string> policy = {"random", "merge", "delayed", "hybrid"};
  uint64_t seed = 1;
  int threads = 0;
  bool cold = false;
  bool warm = false;
  bool allocations = false;
  std::string report;
  std::string output;
};

std::string Text(double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6g%s", value, unit);
  return text;
}

// One line on a terminal: which run, how much of it, and how long all runs will still take, which
// is known from the work of each: a run at 90 % of the capacity takes far longer than one at 1 %.
class RunProgress {
 public:
  explicit RunProgress(double all_work) : all_work_(all_work) {}
  ~RunProgress() { Clear(); }
  RunProgress(const RunProgress&) = delete;
  RunProgress& operator=(const RunProgress&) = delete;

  void Start(std::string name, double work) {
    name_ = std::move(name);
    work_ = work;
  }
  void Finish() { finished_ += work_; }

  void Update(double part) {
    const SteadyClock::time_point now = SteadyClock::now();
    if (!on_terminal_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(200);
    const double done = (finished_ + part * work_) / all_work_;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    std::fprintf(stderr, "\r%s: %.0f %%, all runs %.0f %%", name_.c_str(), 100 * part, 100 * done);
    if (done > 0.01) std::fprintf(stderr, ", %.0f s left", seconds * (1 - done) / done);
    std::fputs("\033[K", stderr);
    std::fflush(stderr);
  }
  void Clear() const {
    if (on_terminal_) std::fputs("\r\033[K", stderr);
  }

 private:
  const bool on_terminal_ = isatty(STDERR_FILENO) == 1;
  const double all_work_;
  double finished_ = 0;
  double work_ = 0;
  std::string name_;
  SteadyClock::time_point start_ = SteadyClock::now();
  SteadyClock::time_point next_ = start_ + std::chrono::milliseconds(500);
};

// About how long a run takes, in requests: those it makes, and what its pages cost.
double WorkOf(const Population& population, double rate, double days) {
  constexpr double kRequestsPerPage = 4;
  return std::min(rate, population.MaximumRate()) * days +
         kRequestsPerPage * static_cast<double>(population.pages());
}

// A share of the greatest rate, or a rate; per day.
absl::StatusOr<double> CapacityPerDay(const std::string& text, double maximum) {
  const absl::StatusOr<Capacity> capacity = ParseCapacity(text);
  if (!capacity.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--capacity ", std::string(capacity.status().message())));
  }
  if (!(capacity->amount > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("--capacity '", text, "' must be above 0"));
  }
  return capacity->amount * (capacity->share ? maximum : kSecondsPerDay);
}

absl::StatusOr<std::vector<revisit::PolicyKind>> ParsePolicies(
    const std::vector<std::string>& names) {
  std::vector<revisit::PolicyKind> policies;
  for (const std::string& name : names) {
    const std::optional<revisit::PolicyKind> policy = revisit::PolicyFromName(name);
    if (!policy) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--policy '", name, "' is none; there are random, merge, bucketed, delayed and hybrid"));
    }
    policies.push_back(*policy);
  }
  return policies;
}

absl::Status CheckCount(const char* flag, std::optional<int64_t> count) {
  constexpr int64_t kMost = 2'000'000'000;
  if (!count || (*count >= 1 && *count <= kMost)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " ", *count, " must be at least 1 and at most ", kMost));
}

absl::StatusOr<Population> Load(const SimulateOptions& options) {
  PopulationRequest request;
  request.name = options.population;
  if (options.pages) request.pages = static_cast<size_t>(*options.pages);
  if (options.servers) request.servers = static_cast<size_t>(*options.servers);
  request.seed = options.seed;
  request.threads = options.threads;
  if (!options.politeness.empty()) {
    absl::StatusOr<double> seconds = ParseDuration(options.politeness);
    if (!seconds.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--politeness '", options.politeness, "': ", std::string(seconds.status().message())));
    }
    request.politeness = *seconds / kSecondsPerDay;
  }
  return LoadPopulation(request);
}

// The channel is counted hour by hour. The bound of one run: exceeded by none of its hours, but for
// one run in a thousand.
double ChannelBound(const Population& population, const revisit::SimulationOptions& options,
                    double rate) {
  const double intervals = options.duration / options.channel_interval;
  return rate * options.channel_interval +
         revisit::ChannelExcess(static_cast<double>(population.servers()),
                                std::min(1.0, 1e-3 / intervals));
}

void PrintHead(const SimulatedReport& report) {
  for (const auto& [name, value] : report.facts) {
    std::printf("%-11s %s\n", name.c_str(), value.c_str());
  }
  std::printf("\n%-9s %9s %10s %9s %9s %9s %13s %9s %9s %8s %8s\n", "policy", "capacity",
              "freshness", "POLITE", "ratio", "last 5th", "requests", "peak/h", "bound/h", "gap/P",
              "time");
}

void PrintRun(const SimulatedCapacity& capacity, const SimulatedRun& run) {
  const revisit::SimulationResult& r = run.result;
  std::printf("%-9s %9s %10.6f %9.6f %9.5f %9.5f %13llu %9llu %9.0f %8.4f %6.1f s\n",
              std::string(PolicyName(run.policy)).c_str(), capacity.name.c_str(), r.freshness,
              capacity.polite, r.freshness / capacity.polite, r.last_fifth / capacity.polite,
              static_cast<unsigned long long>(r.requests), static_cast<unsigned long long>(r.peak),
              capacity.bound, r.shortest_gap, run.seconds);
  std::fflush(stdout);
}

// Some thousand pages, evenly over all.
std::vector<size_t> SamplePages(size_t pages) {
  constexpr size_t kSample = 3000;
  std::vector<size_t> sample;
  const size_t step = std::max<size_t>(1, pages / kSample);
  for (size_t i = 0; i < pages; i += step) sample.push_back(i);
  return sample;
}

absl::Status SimulateCapacity(const Population& population,
                              const std::vector<revisit::PolicyKind>& policies,
                              revisit::SimulationOptions options, RunProgress& progress,
                              const SimulatedReport& report, SimulatedCapacity& capacity) {
  revisit::AllocationOptions how;
  how.threads = options.threads;
  absl::StatusOr<revisit::Allocation> plan = Allocate(population.AsProblem(capacity.rate), how);
  if (!plan.ok()) return plan.status();
  capacity.polite = plan->freshness();
  const double requests = population.cost.empty() ? plan->total_rate
                                                  : std::accumulate(plan->frequency.begin(),
                                                                    plan->frequency.end(), 0.0);
  capacity.bound = ChannelBound(population, options, requests);
  for (const size_t page : report.sample) capacity.frequency.push_back(plan->frequency[page]);
  options.progress = [&](double part) { progress.Update(part); };
  for (const revisit::PolicyKind policy : policies) {
    progress.Start(absl::StrCat(std::string(PolicyName(policy)), " at ", capacity.name),
                   WorkOf(population, capacity.rate, options.duration));
    options.policy = policy;
    const SteadyClock::time_point start = SteadyClock::now();
    SimulatedRun run{policy, Simulate(population, plan->frequency, options), 0};
    run.seconds = std::chrono::duration<double>(SteadyClock::now() - start).count();
    progress.Finish();
    progress.Clear();
    PrintRun(capacity, run);
    capacity.runs.push_back(std::move(run));
  }
  return absl::OkStatus();
}

// What other allocations of the same capacity reach in the steady state, as ratios to POLITE:
// visits evenly spaced, or a Poisson process for PoliteBinaryLambdaCrawl, which plans for one.
absl::Status PrintAllocations(const Population& population, const SimulatedReport& report,
                              int threads) {
  using revisit::AllocationKind;
  constexpr std::pair<AllocationKind, const char*> kOthers[] = {
      {AllocationKind::kUniform, "uniform"},
      {AllocationKind::kChangeProportional, "change-proportional"},
      {AllocationKind::kPoliteBinaryLambda, "polite-binary-lambda"},
      {AllocationKind::kUnpolite, "UNPOLITE bound"},
  };
  std::printf("\n%-22s %9s %9s\n", "allocation", "capacity", "ratio");
  for (const SimulatedCapacity& capacity : report.capacities) {
    for (const auto& [kind, name] : kOthers) {
      revisit::AllocationOptions how;
      how.kind = kind;
      how.threads = threads;
      absl::StatusOr<revisit::Allocation> plan = Allocate(population.AsProblem(capacity.rate), how);
      if (!plan.ok()) return plan.status();
      std::printf("%-22s %9s %9.5f\n", name, capacity.name.c_str(),
                  plan->freshness() / capacity.polite);
    }
  }
  return absl::OkStatus();
}

// "30 s", or "30 to 7200 s" where servers differ.
std::string PolitenessOf(const Population& population) {
  const auto [least, most] =
      std::minmax_element(population.min_interval.begin(), population.min_interval.end());
  if (*least == *most) return Text(*least * kSecondsPerDay, " s");
  return Text(*least * kSecondsPerDay, " to ") + Text(*most * kSecondsPerDay, " s");
}

SimulatedReport Describe(const SimulateOptions& options, const Population& population) {
  SimulatedReport report;
  report.years = options.years;
  report.sample = SamplePages(population.pages());
  report.facts = {
      {"population", options.population},
      {"pages", std::to_string(population.pages())},
      {"servers", std::to_string(population.servers())},
      {"politeness", PolitenessOf(population)},
      {"most", Text(population.MaximumRate() / kSecondsPerDay, " requests/s")},
      {"years", Text(options.years, "")},
      {"start", options.warm ? "warm: in the steady state" : "cold: every copy stale"},
      {"seed", std::to_string(options.seed)},
  };
  return report;
}

absl::Status RunSimulate(const SimulateOptions& options) {
  if (!(options.years > 0 && options.years <= 1000)) {
    return absl::InvalidArgumentError("--years must be above 0 and at most 1000");
  }
  if (absl::Status s = CheckCount("--pages", options.pages); !s.ok()) return s;
  if (absl::Status s = CheckCount("--servers", options.servers); !s.ok()) return s;
  absl::StatusOr<std::vector<revisit::PolicyKind>> policies = ParsePolicies(options.policy);
  if (!policies.ok()) return policies.status();
  // Before the population and the years, which may take a while.
  for (const std::string& text : options.capacity) {
    if (absl::StatusOr<double> rate = CapacityPerDay(text, 1); !rate.ok()) return rate.status();
  }
  if (!options.report.empty()) {
    if (absl::Status s = CheckPlotter(); !s.ok()) return s;
    if (absl::Status s = MakeReportFolder(options.report); !s.ok()) return s;
  }
  std::optional<OutputFile> table;
  if (!options.output.empty()) {
    absl::StatusOr<OutputFile> file = OutputFile::Create(options.output);
    if (!file.ok()) return file.status();
    table.emplace(*std::move(file));
  }
  absl::StatusOr<Population> population = Load(options);
  if (!population.ok()) return population.status();

  revisit::SimulationOptions how;
  how.duration = options.years * kDaysPerYear;
  how.cold = !options.warm;
  how.seed = options.seed;
  how.threads = options.threads;
  SimulatedReport report = Describe(options, *population);
  PrintHead(report);
  double work = 0;
  for (const std::string& text : options.capacity) {
    work += static_cast<double>(policies->size()) *
            WorkOf(*population, *CapacityPerDay(text, population->MaximumRate()), how.duration);
  }
  RunProgress progress(work);
  for (const std::string& text : options.capacity) {
    SimulatedCapacity& capacity = report.capacities.emplace_back();
    capacity.name = text;
    capacity.rate = *CapacityPerDay(text, population->MaximumRate());
    if (absl::Status s = SimulateCapacity(*population, *policies, how, progress, report, capacity);
        !s.ok()) {
      return s;
    }
  }
  if (options.allocations) {
    if (absl::Status s = PrintAllocations(*population, report, options.threads); !s.ok()) return s;
  }
  if (table) {
    table->Append(ResultsAsCsv(report));
    if (absl::Status s = table->Commit(); !s.ok()) return s;
  }
  if (options.report.empty()) return absl::OkStatus();
  if (absl::Status s = WriteReport(options.report, *population, report, options.threads); !s.ok()) {
    return s;
  }
  std::printf("\nreport: %s/index.html\n", options.report.c_str());
  return absl::OkStatus();
}

}  // namespace

void AddSimulate(CLI::App& app, int& status) {
  CLI::App* command =
      app.add_subcommand("simulate", "Simulate years of revisits and measure freshness");
  auto options = std::make_shared<SimulateOptions>();
  command
      ->add_option("--population", options->population,
                   "webbase, broad, or a file of pages as `escalona plan` reads it")
      ->capture_default_str();
  command->add_option("--pages", options->pages,
                      "Pages of the population (webbase 1450000, broad about 490000)");
  command->add_option("--servers", options->servers,
                      "Servers of the population (webbase 546, broad 20000)");
  command
      ->add_option("--capacity", options->capacity,
                   "Request rates, such as 10% of the greatest possible or 100/s")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--politeness", options->politeness,
                      "Least time between two requests to a server (default 300s, a file 30s)");
  command->add_option("--years", options->years, "Simulated time")->capture_default_str();
  command->add_option("--policy", options->policy, "random, merge, bucketed, delayed, hybrid")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Of the population, phases and draws")
      ->capture_default_str();
  command
      ->add_option("--threads", options->threads,
                   "0: one per core. The result is the same for every number")
      ->check(Between(0, 1024))
      ->capture_default_str();
  CLI::Option* cold =
      command->add_flag("--cold", options->cold, "Start with every copy stale (the default)");
  command->add_flag("--warm", options->warm, "Start in the steady state")->excludes(cold);
  command->add_flag("--allocations", options->allocations,
                    "Also print what other allocations would reach");
  command->add_option("-o,--output", options->output, "Also write the table to this CSV file");
  command->add_option("--report", options->report,
                      "Write a page with plots (index.html, SVG, CSV) into this folder");
  command->callback([options, &status] {
    const absl::Status result = RunSimulate(*options);
    if (result.ok()) return;
    std::fprintf(stderr, "escalona simulate: %s\n", std::string(result.message()).c_str());
    status = kCouldNotBeDone;
  });
}

}  // namespace escalona::cli

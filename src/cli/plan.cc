// `escalona plan`: how often to visit each page of a file.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/chunk_reader.h"
#include "cli/command.h"
#include "cli/csv.h"
#include "cli/number_option.h"
#include "cli/output_file.h"
#include "cli/plan_input.h"
#include "cli/plan_output.h"
#include "cli/plan_summary.h"
#include "cli/progress.h"
#include "cli/units.h"
#include "escalona/allocation.h"
#include "revisit/parallel.h"

namespace escalona::cli {
namespace {

using revisit::AllocationKind;

struct PlanOptions {
  std::string file;
  std::string capacity;
  std::string politeness;
  std::string allocation = "opt-polite";
  std::string precision = "auto";
  std::string output;
  std::string summary;
  bool skip_bad = false;
  int threads = 0;
};

// The flags that are numbers, in days.
struct Limits {
  double capacity = 0;          // per day
  bool capacity_share = false;  // `capacity` is a fraction of what politeness allows
  double politeness = 0;
};

int RefusePlan(const std::string& message) {
  std::fprintf(stderr, "escalona plan: %s\n", message.c_str());
  return kCouldNotBeDone;
}

int RefuseFile(const std::string& file, const absl::Status& status) {
  std::fprintf(stderr, "%s\n", InFile(file, status).c_str());
  return kCouldNotBeDone;
}

absl::StatusOr<Limits> ParseLimits(const PlanOptions& options) {
  Limits limits;
  const absl::StatusOr<Capacity> capacity = ParseCapacity(options.capacity);
  if (!capacity.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--capacity ", std::string(capacity.status().message())));
  }
  limits.capacity_share = capacity->share;
  limits.capacity = capacity->share ? capacity->amount : capacity->amount * kSecondsPerDay;
  if (options.politeness.empty()) return limits;
  absl::StatusOr<double> politeness = ParseDuration(options.politeness);
  if (!politeness.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--politeness ", std::string(politeness.status().message())));
  }
  limits.politeness = *politeness / kSecondsPerDay;
  return limits;
}

// The least frequencies alone may be too many for a server; the library knows it only by its
// number.
absl::Status CheckLeast(const PlanInput& input, const revisit::Problem& problem) {
  if (problem.lo.empty()) return absl::OkStatus();
  std::vector<double> least(input.server_name.size(), 0);
  for (size_t i = 0; i < input.pages(); ++i) {
    least[input.server[i]] += problem.lo[i] * (problem.cost.empty() ? 1 : problem.cost[i]);
  }
  for (size_t s = 0; s < least.size(); ++s) {
    if (least[s] <= (1 + 1e-12) / problem.min_interval[s]) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the pages of server '", input.server_name[s], "' ask for at least ", least[s],
        " visits per day (lo), but its minimum interval allows ", 1 / problem.min_interval[s]));
  }
  return absl::OkStatus();
}

absl::StatusOr<revisit::Problem> MakeProblem(const PlanInput& input, const Limits& limits,
                                             std::vector<double>& min_interval) {
  min_interval = input.server_interval;
  for (double& interval : min_interval) interval = std::max(interval, limits.politeness);
  revisit::Problem problem;
  problem.change_rate = input.number[kChangeRate].view();
  problem.alpha = input.number[kAlpha].view();
  problem.beta = input.number[kBeta].view();
  problem.weight = input.number[kWeight].view();
  problem.cost = input.number[kCost].view();
  problem.lo = input.number[kLo].view();
  problem.hi = input.number[kHi].view();
  problem.server = input.server.view();
  problem.min_interval = min_interval;
  problem.capacity = limits.capacity;
  if (limits.capacity_share) {
    double most = 0;
    for (const double interval : min_interval) most += 1 / interval;
    if (std::isinf(most)) {
      return absl::InvalidArgumentError(
          "--capacity is a share of what politeness allows, and a server has no minimum interval; "
          "give "
          "--politeness, or a capacity such as 100/s");
    }
    problem.capacity = most * limits.capacity;
  }
  if (absl::Status status = CheckLeast(input, problem); !status.ok()) return status;
  return problem;
}

// Where the plan and the summary go: see AddPlan.
struct Destinations {
  bool plan = true;
  std::FILE* summary = nullptr;  // null: none
};

Destinations Choose(const PlanOptions& options) {
  const bool to_stdout = options.output == "-" || options.output.empty();
  if (options.summary == "none") return {true, nullptr};
  if (options.summary.empty()) return {true, to_stdout ? nullptr : stdout};
  if (options.output.empty()) return {false, stdout};
  return {true, to_stdout ? stderr : stdout};
}

int Plan(const PlanOptions& options) {
  absl::StatusOr<Limits> limits = ParseLimits(options);
  if (!limits.ok()) return RefusePlan(std::string(limits.status().message()));
  const std::optional<AllocationKind> kind = KindNamed(options.allocation);
  absl::StatusOr<ChunkReader> reader = ChunkReader::Open(options.file, ChunkReader::Passes::kMany);
  if (!reader.ok()) return RefuseFile(options.file, absl::UnknownError(reader.status().message()));
  if (!options.output.empty() && options.output != "-" && reader->IsSameAs(options.output)) {
    return RefusePlan("the plan would replace the pages; choose another place with -o");
  }
  const Destinations to = Choose(options);
  const int threads = revisit::ThreadCount(options.threads);
  // Before the pages, which may take a while to read.
  const std::string target = options.output.empty() ? "-" : options.output;
  std::optional<OutputFile> output;
  if (to.plan) {
    absl::StatusOr<OutputFile> created = OutputFile::Create(target);
    if (!created.ok()) return RefusePlan(std::string(created.status().message()));
    output.emplace(*std::move(created));
  }

  Progress reading("escalona plan: read", reader->size());
  PlanInputOptions input_options;
  input_options.skip_bad = options.skip_bad;
  input_options.threads = threads;
  constexpr uint64_t kShownWarnings = 20;
  uint64_t warnings = 0;
  input_options.servers_matter = limits->politeness > 0;
  absl::StatusOr<PlanInput> input = ReadPlanInput(
      *reader, input_options,
      [&](uint64_t pages) { reading.Update(reader->position(), absl::StrCat(pages, " pages")); },
      [&](const std::string& message) {
        if (++warnings > kShownWarnings) return;
        reading.Clear();
        std::fprintf(stderr, "%s:%s; skipped\n", options.file.c_str(), message.c_str());
      });
  reading.Clear();
  if (!input.ok()) return RefuseFile(options.file, input.status());
  if (warnings > kShownWarnings) {
    std::fprintf(stderr, "%s: %llu more bad rows are not shown\n", options.file.c_str(),
                 static_cast<unsigned long long>(warnings - kShownWarnings));
  }

  std::vector<double> min_interval;
  absl::StatusOr<revisit::Problem> problem = MakeProblem(*input, *limits, min_interval);
  if (!problem.ok()) return RefusePlan(std::string(problem.status().message()));
  revisit::AllocationOptions solve;
  solve.kind = *kind;
  solve.threads = threads;
  if (options.precision != "auto") {
    solve.precision =
        options.precision == "exact" ? revisit::Precision::kExact : revisit::Precision::kFast;
  }
  absl::StatusOr<revisit::Allocation> plan = revisit::Allocate(*problem, solve);
  if (!plan.ok()) return RefusePlan(std::string(plan.status().message()));

  if (output) {
    PlanOutputOptions output_options;
    output_options.threads = threads;
    output_options.gzip = target.ends_with(".gz");
    Progress writing("escalona plan: write", reader->size());
    const absl::Status written = WritePlan(
        *reader, *input, *plan, *kind, output_options,
        [&] { writing.Update(reader->position(), HumanBytes(output->size())); }, *output);
    writing.Clear();
    if (!written.ok()) return RefusePlan(std::string(written.message()));
    if (absl::Status committed = output->Commit(); !committed.ok()) {
      return RefusePlan(std::string(committed.message()));
    }
  }
  if (to.summary != nullptr) {
    absl::StatusOr<PlanSummary> summary = Summarise(*input, *problem, *plan, solve);
    if (!summary.ok()) return RefusePlan(std::string(summary.status().message()));
    const std::string text =
        options.summary == "json" ? SummaryJson(*summary) : SummaryText(*summary);
    std::fputs(text.c_str(), to.summary);
  }
  return kDone;
}

}  // namespace

void AddPlan(CLI::App& app, int& status) {
  CLI::App* plan =
      app.add_subcommand("plan", "Plan how often to visit each page, politely and within a budget");
  auto options = std::make_shared<PlanOptions>();
  plan->add_option("PAGES", options->file,
                   "CSV file of pages, may be compressed by gzip; - reads standard input")
      ->required();
  plan->add_option("-c,--capacity", options->capacity,
                   "Requests in all, such as 100/s or 1e6/day, or 10% of what politeness allows")
      ->required();
  plan->add_option(
      "-p,--politeness", options->politeness,
      "Least time between two requests to a server, such as 30s; a page's min_interval may ask "
      "for more (default: none)");
  plan->add_option("-a,--allocation", options->allocation, "How the requests are shared out")
      ->check(CLI::IsMember(KindNames()))
      ->capture_default_str();
  plan->add_option("-o,--output", options->output,
                   "Where the plan goes; compressed when the name ends in .gz; - is standard "
                   "output, the default "
                   "unless --summary is given alone");
  plan->add_option("--summary", options->summary,
                   "Print a summary: text (the default with -o FILE), json or none")
      ->check(CLI::IsMember({"text", "json", "none"}));
  plan->add_flag("--skip-bad", options->skip_bad,
                 "Skip bad rows and count them, instead of failing");
  plan->add_option("--precision", options->precision, "auto (fast for many pages), exact or fast")
      ->check(CLI::IsMember({"auto", "exact", "fast"}))
      ->capture_default_str();
  plan->add_option("--threads", options->threads,
                   "Threads; 0 is one per core. The plan is the same for any number")
      ->check(Between(0, 1024))
      ->capture_default_str();
  plan->footer(
      "Columns, by name in the first line, in any order:\n"
      "  url or page        the page; a url names its server\n"
      "  server             default: the url's host\n"
      "  change_rate        changes per day; or a belief Gamma(alpha, beta), as `escalona "
      "estimate` prints it\n"
      "  weight             importance, default 1\n"
      "  min_interval       of its server, default 0\n"
      "  cost               of a fetch in ordinary requests, default 1\n"
      "  lo, hi             least and greatest frequency, default none\n"
      "Other columns are copied. Bare numbers are days and per day; units: ms s min h d, /s /min "
      "/h /day.\n"
      "Added columns: frequency (per day), interval (days, inf: never), freshness (expected, 0 to "
      "1).");
  plan->callback([options, &status] { status = Plan(*options); });
}

}  // namespace escalona::cli

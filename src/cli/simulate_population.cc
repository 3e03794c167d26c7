// Populations by name, and from a file of pages.
#include "cli/simulate_population.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/chunk_reader.h"
#include "cli/csv.h"
#include "cli/plan_input.h"
#include "cli/units.h"
#include "revisit/parallel.h"

namespace escalona::cli {
namespace {

using revisit::Population;

// A tenth of WEBBASE: with a tenth of the servers, each asked a tenth as often, all ratios stay.
constexpr size_t kWebbasePages = 1'450'000;
constexpr size_t kWebbaseServers = 546;
constexpr size_t kBroadServers = 20'000;
constexpr double kModelPoliteness = 300 / kSecondsPerDay;
constexpr double kFilePoliteness = 30 / kSecondsPerDay;

absl::StatusOr<Population> Model(const PopulationRequest& request) {
  const bool webbase = request.name == "webbase";
  const size_t servers = request.servers.value_or(webbase ? kWebbaseServers : kBroadServers);
  const size_t pages = request.pages.value_or(webbase ? kWebbasePages : 0);
  const double politeness = request.politeness.value_or(kModelPoliteness);
  if ((webbase || request.pages) && pages < servers) {
    return absl::InvalidArgumentError(absl::StrCat("--pages ", pages, " is less than --servers ",
                                                   servers, "; a server has at least one page"));
  }
  if (!(politeness > 0)) {
    return absl::InvalidArgumentError("--politeness must be above 0, such as 30s");
  }
  return webbase ? revisit::MakeWebbase(pages, servers, politeness, request.seed)
                 : revisit::MakeBroad(pages, servers, politeness, request.seed);
}

// The order that puts the pages of each server together, servers and pages as they came.
std::vector<size_t> FirstOfServers(const PlanInput& input) {
  std::vector<size_t> first(input.server_name.size() + 1, 0);
  for (size_t i = 0; i < input.pages(); ++i) ++first[input.server[i] + 1];
  for (size_t s = 1; s < first.size(); ++s) first[s] += first[s - 1];
  return first;
}

absl::StatusOr<Population> Arrange(const PopulationRequest& request, const PlanInput& input) {
  if (input.pages() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(request.name, ": no pages to simulate"));
  }
  if (!input.header.Has(kChangeRate)) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.name, ":1: no column change_rate; a simulation needs true rates"));
  }
  Population population;
  population.first = FirstOfServers(input);
  population.server.resize(input.pages());
  std::vector<size_t> place(input.pages());
  std::vector<size_t> next(population.first.begin(), population.first.end() - 1);
  for (size_t i = 0; i < input.pages(); ++i) {
    place[i] = next[input.server[i]]++;
    population.server[place[i]] = input.server[i];
  }
  const auto arrange = [&](PlanColumn column, std::vector<double>& values) {
    if (!input.header.Has(column)) return;
    values.resize(input.pages());
    for (size_t i = 0; i < input.pages(); ++i) values[place[i]] = input.number[column][i];
  };
  arrange(kChangeRate, population.change_rate);
  arrange(kWeight, population.weight);
  arrange(kCost, population.cost);
  arrange(kLo, population.lo);
  arrange(kHi, population.hi);
  const double politeness = request.politeness.value_or(kFilePoliteness);
  for (size_t s = 0; s < input.server_name.size(); ++s) {
    population.min_interval.push_back(std::max(input.server_interval[s], politeness));
    if (!(population.min_interval[s] > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--politeness 0 leaves server ", input.server_name[s],
                       " without a minimum interval; a simulation needs one"));
    }
  }
  return population;
}

absl::StatusOr<Population> ReadFile(const PopulationRequest& request) {
  if (request.pages || request.servers) {
    return absl::InvalidArgumentError(
        "--pages and --servers shape the populations webbase and broad; a file has its own");
  }
  absl::StatusOr<ChunkReader> reader = ChunkReader::Open(request.name, ChunkReader::Passes::kMany);
  if (!reader.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--population '", request.name,
        "' is not webbase, not broad, and no file: ", std::string(reader.status().message())));
  }
  PlanInputOptions options;
  options.threads = revisit::ThreadCount(request.threads);
  absl::StatusOr<PlanInput> input = ReadPlanInput(
      *reader, options, [](uint64_t) {}, [](const std::string&) {});
  if (!input.ok()) {
    return absl::InvalidArgumentError(InFile(request.name, input.status()));
  }
  return Arrange(request, *input);
}

}  // namespace

absl::StatusOr<Population> LoadPopulation(const PopulationRequest& request) {
  if (request.name == "webbase" || request.name == "broad") return Model(request);
  return ReadFile(request);
}

}  // namespace escalona::cli

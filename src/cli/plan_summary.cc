// Bounds, prices and the freshness each policy reaches with a plan.
#include "cli/plan_summary.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstdio>
#include <utility>

#include "cli/plan_output.h"
#include "escalona/policy_freshness.h"
#include "revisit/page_order.h"
#include "revisit/parallel.h"

namespace escalona::cli {
namespace {

using revisit::AllocationKind;

constexpr std::pair<std::string_view, AllocationKind> kKinds[] = {
    {"opt-polite", AllocationKind::kOptPolite},
    {"unpolite", AllocationKind::kUnpolite},
    {"uniform", AllocationKind::kUniform},
    {"change-proportional", AllocationKind::kChangeProportional},
    {"polite-binary-lambda", AllocationKind::kPoliteBinaryLambda},
};

struct PolicySums {
  double random = 0, merge = 0, merge_bound = 0, even = 0;

  void Add(const PolicySums& other) {
    random += other.random;
    merge += other.merge;
    merge_bound += other.merge_bound;
    even += other.even;
  }
};

// The policies' formulas take a rate; a belief stands with its mean, like an estimate would.
PolicySums OfServer(const revisit::Problem& problem, const revisit::Allocation& plan,
                    const revisit::PageOrder& order, size_t s) {
  std::vector<double> rate(order.size(s));
  std::vector<double> frequency(order.size(s));
  double server_rate = 0;
  for (size_t k = 0; k < rate.size(); ++k) {
    const size_t page = order.PageAt(order.begin(s) + k);
    rate[k] = problem.change_rate.empty() ? problem.alpha[page] / problem.beta[page]
                                          : problem.change_rate[page];
    frequency[k] = plan.frequency[page];
    server_rate += frequency[k];
  }
  const std::vector<double> merge = revisit::MergeFreshnessOfServer(rate, frequency);
  PolicySums sums;
  for (size_t k = 0; k < rate.size(); ++k) {
    const size_t page = order.PageAt(order.begin(s) + k);
    const double weight = problem.weight.empty() ? 1 : problem.weight[page];
    sums.random += weight * revisit::RandomFreshness(rate[k], frequency[k], server_rate);
    sums.merge += weight * merge[k];
    sums.merge_bound += weight * revisit::MergeLowerBound(rate[k], frequency[k], server_rate);
    sums.even += weight * (problem.change_rate.empty()
                               ? revisit::BeliefFreshness(problem.alpha[page], problem.beta[page],
                                                          frequency[k])
                               : revisit::Freshness(rate[k], frequency[k]));
  }
  return sums;
}

PolicySums OfPolicies(const revisit::Problem& problem, const revisit::Allocation& plan,
                      int threads) {
  revisit::PageOrder order(problem.server, problem.pages(), problem.servers(), threads);
  order.Permute();
  std::vector<PolicySums> part(order.servers());
  revisit::ParallelFor(threads, order.servers(),
                       [&](size_t s) { part[s] = OfServer(problem, plan, order, s); });
  PolicySums sums;
  for (const PolicySums& p : part) sums.Add(p);
  return sums;
}

absl::StatusOr<double> Bound(const revisit::Problem& problem, const revisit::Allocation& plan,
                             AllocationKind kind, revisit::AllocationOptions options) {
  if (options.kind == kind) return plan.freshness();
  options.kind = kind;
  absl::StatusOr<revisit::Allocation> bound = revisit::Allocate(problem, options);
  if (!bound.ok()) return bound.status();
  return bound->freshness();
}

// JSON has no infinity.
boost::json::value Number(double value) {
  if (std::isfinite(value)) return value;
  return nullptr;
}

std::string Line(const char* name, double value, const char* unit = "") {
  char text[160];
  std::snprintf(text, sizeof text, "%-34s %.10g%s\n", name, value, unit);
  return text;
}

std::string CountLine(const char* name, size_t value) {
  char text[160];
  std::snprintf(text, sizeof text, "%-34s %zu\n", name, value);
  return text;
}

std::string PolitenessLine(const PlanSummary& s) {
  if (s.unlimited_servers == 0) return Line("politeness allows", s.politeness_limit, " per day");
  std::string text = "politeness                         none";
  if (s.unlimited_servers < s.servers) {
    text += " on " + std::to_string(s.unlimited_servers) + " of " + std::to_string(s.servers) +
            " servers";
  }
  return text + "; --politeness 30s would set one\n";
}

}  // namespace

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kKinds) names.emplace_back(name);
  return names;
}

std::optional<AllocationKind> KindNamed(std::string_view wanted) {
  for (const auto& [name, kind] : kKinds) {
    if (name == wanted) return kind;
  }
  return std::nullopt;
}

absl::StatusOr<PlanSummary> Summarise(const PlanInput& input, const revisit::Problem& problem,
                                      const revisit::Allocation& plan,
                                      const revisit::AllocationOptions& options) {
  PlanSummary summary;
  for (const auto& [name, kind] : kKinds) {
    if (kind == options.kind) summary.allocation = std::string(name);
  }
  summary.pages = input.pages();
  summary.servers = input.server_name.size();
  summary.bad_rows = input.bad_lines.size();
  summary.total_weight = plan.total_weight;
  summary.capacity = problem.capacity;
  for (const double interval : problem.min_interval) {
    summary.politeness_limit += 1 / interval;
    summary.unlimited_servers += interval > 0 ? 0 : 1;
  }
  summary.costs = !problem.cost.empty();
  summary.total_cost = plan.total_rate;
  for (size_t i = 0; i < input.pages(); ++i) {
    summary.total_frequency += plan.frequency[i];
    const bool changes = problem.change_rate.empty() || problem.change_rate[i] > 0;
    summary.never_visited += changes && plan.frequency[i] == 0 ? 1 : 0;
  }
  summary.price = plan.price;
  summary.saturated_servers = plan.saturated_servers;
  std::vector<double> prices;
  for (size_t s = 0; s < plan.saturated.size(); ++s) {
    if (plan.saturated[s] == 0) continue;
    prices.push_back(plan.server_price[s]);
    if (plan.server_price[s] > summary.server_price_max) {
      summary.server_price_max = plan.server_price[s];
      summary.dearest_server = input.server_name[s];
    }
  }
  if (!prices.empty()) {
    const auto middle = prices.begin() + static_cast<ptrdiff_t>(prices.size() / 2);
    std::nth_element(prices.begin(), middle, prices.end());
    summary.server_price_median = *middle;
  }
  summary.freshness = plan.freshness();
  summary.fast = plan.fast;
  absl::StatusOr<double> polite = Bound(problem, plan, AllocationKind::kOptPolite, options);
  if (!polite.ok()) return polite.status();
  summary.polite = *polite;
  absl::StatusOr<double> unpolite = Bound(problem, plan, AllocationKind::kUnpolite, options);
  if (!unpolite.ok()) return unpolite.status();
  summary.unpolite = *unpolite;
  const PolicySums sums = OfPolicies(problem, plan, revisit::ThreadCount(options.threads));
  // As Allocation::freshness() has it when nothing counts.
  const auto mean = [&](double sum) { return plan.total_weight > 0 ? sum / plan.total_weight : 1; };
  summary.random = mean(sums.random);
  summary.merge = mean(sums.merge);
  summary.merge_bound = mean(sums.merge_bound);
  summary.even = mean(sums.even);
  return summary;
}

std::string SummaryJson(const PlanSummary& s) {
  boost::json::object json;
  json["allocation"] = s.allocation;
  json["precision"] = s.fast ? "fast" : "exact";
  json["pages"] = s.pages;
  json["servers"] = s.servers;
  json["bad_rows"] = s.bad_rows;
  json["total_weight"] = s.total_weight;
  json["capacity_per_day"] = Number(s.capacity);
  json["politeness_limit_per_day"] = Number(s.politeness_limit);
  json["servers_without_politeness"] = s.unlimited_servers;
  json["total_frequency_per_day"] = Number(s.total_frequency);
  json["total_cost_per_day"] = Number(s.total_cost);
  json["pages_never_visited"] = s.never_visited;
  json["price"] = Number(s.price);
  json["saturated_servers"] = s.saturated_servers;
  json["server_price_median"] = Number(s.server_price_median);
  json["server_price_max"] = Number(s.server_price_max);
  json["dearest_server"] = s.dearest_server;
  json["freshness"] = s.freshness;
  json["polite_bound"] = s.polite;
  json["unpolite_bound"] = s.unpolite;
  json["expected_freshness"] = boost::json::object{{"random", s.random},
                                                   {"merge", s.merge},
                                                   {"merge_lower_bound", s.merge_bound},
                                                   {"delayed", s.merge},
                                                   {"hybrid", s.even}};
  return boost::json::serialize(json) + "\n";
}

std::string SummaryText(const PlanSummary& s) {
  std::string text =
      "allocation                         " + s.allocation + (s.fast ? " (fast)\n" : " (exact)\n");
  text += CountLine("pages", s.pages);
  text += CountLine("servers", s.servers);
  if (s.bad_rows > 0) text += CountLine("bad rows skipped", s.bad_rows);
  text += CountLine("pages that change, never visited", s.never_visited);
  text += Line("capacity", s.capacity, " per day");
  text += PolitenessLine(s);
  text += Line("planned", s.total_frequency, " per day");
  if (s.costs) text += Line("  times their cost", s.total_cost, " per day");
  text += Line("price of capacity", s.price);
  text += CountLine("saturated servers", s.saturated_servers);
  if (s.saturated_servers > 0) {
    text += Line("  median price", s.server_price_median);
    text += Line("  greatest price", s.server_price_max,
                 (" (" + s.dearest_server.substr(0, 60) + ")").c_str());
  }
  text += Line("freshness of this plan", s.freshness);
  text += Line("POLITE bound", s.polite);
  text += Line("UNPOLITE bound", s.unpolite);
  text += "expected freshness by policy\n";
  text += Line("  random", s.random);
  text += Line("  merge, delayed", s.merge);
  text += Line("  merge, at least", s.merge_bound);
  text += Line("  hybrid, up to", s.even);
  return text;
}

}  // namespace escalona::cli

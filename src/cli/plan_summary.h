// What `escalona plan` says about a plan as a whole.
#ifndef ESCALONA_CLI_PLAN_SUMMARY_H_
#define ESCALONA_CLI_PLAN_SUMMARY_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/plan_input.h"
#include "escalona/allocation.h"

namespace escalona::cli {

// The names of allocations: "opt-polite" and so on.
std::vector<std::string> KindNames();
std::optional<revisit::AllocationKind> KindNamed(std::string_view name);

// All rates per day. Freshness values are weighted means over the pages.
struct PlanSummary {
  std::string allocation;
  size_t pages = 0;
  size_t servers = 0;
  size_t bad_rows = 0;
  double total_weight = 0;
  double capacity = 0;
  double politeness_limit = 0;   // sum of 1/P over servers; infinite when one has none
  size_t unlimited_servers = 0;  // those that have none
  double total_frequency = 0;    // requests planned
  double total_cost = 0;         // the same, each times its cost; what the capacity limits
  bool costs = false;            // the pages have costs of their own
  size_t never_visited = 0;      // pages that change and are never visited
  double price = 0;
  size_t saturated_servers = 0;
  double server_price_median = 0;  // of saturated servers
  double server_price_max = 0;
  std::string dearest_server;  // the one with that price
  double freshness = 0;        // of the plan, evenly spaced visits (lambda: Poisson)
  double polite = 0;
  double unpolite = 0;
  // Expected under each policy with these frequencies.
  double random = 0;
  double merge = 0;
  double merge_bound = 0;  // (5-4)
  double even = 0;         // page-timed: what HYBRID comes near to
  bool fast = false;
};

absl::StatusOr<PlanSummary> Summarise(const PlanInput& input, const revisit::Problem& problem,
                                      const revisit::Allocation& plan,
                                      const revisit::AllocationOptions& options);

std::string SummaryJson(const PlanSummary& summary);
std::string SummaryText(const PlanSummary& summary);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_PLAN_SUMMARY_H_

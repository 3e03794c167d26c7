// The report of `escalona simulate`: plots, their data, and a page that holds all of them.
#ifndef ESCALONA_CLI_SIMULATE_REPORT_H_
#define ESCALONA_CLI_SIMULATE_REPORT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "escalona/allocation.h"
#include "revisit/population.h"
#include "revisit/simulation.h"

namespace escalona::cli {

// One policy at one capacity.
struct SimulatedRun {
  revisit::PolicyKind policy;
  revisit::SimulationResult result;
  double seconds = 0;
};

// One capacity.
struct SimulatedCapacity {
  std::string name;   // as the user wrote it
  double rate = 0;    // requests per day
  double polite = 0;  // the POLITE bound
  double bound = 0;   // requests per channel interval that are exceeded once in 1000 runs
  std::vector<double> frequency;  // of sampled pages; see SimulatedReport::sample
  std::vector<SimulatedRun> runs;
};

struct SimulatedReport {
  std::vector<std::pair<std::string, std::string>>
      facts;  // what was simulated, for the page's head
  double years = 0;
  std::vector<size_t> sample;  // pages whose frequency is drawn
  std::vector<SimulatedCapacity> capacities;
};

// Fails unless gnuplot can be started, so that nobody waits for a report that cannot be drawn.
absl::Status CheckPlotter();

// Makes `folder` where it is missing. Fails unless files can be written in it.
absl::Status MakeReportFolder(const std::string& folder);

// Writes index.html, the plots as SVG and their data as CSV into `folder`, which is made if needed.
// Allocates the population at further capacities, for the frontier.
absl::Status WriteReport(const std::string& folder, const revisit::Population& population,
                         const SimulatedReport& report, int threads);

// The table as CSV.
std::string ResultsAsCsv(const SimulatedReport& report);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_SIMULATE_REPORT_H_

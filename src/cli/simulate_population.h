// The pages and servers that `escalona simulate` visits.
#ifndef ESCALONA_CLI_SIMULATE_POPULATION_H_
#define ESCALONA_CLI_SIMULATE_POPULATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "revisit/population.h"

namespace escalona::cli {

struct PopulationRequest {
  std::string name = "webbase";      // webbase, broad, or a file of pages as `plan` reads it
  std::optional<size_t> pages;       // of a model
  std::optional<size_t> servers;     // of a model
  std::optional<double> politeness;  // days
  uint64_t seed = 1;                 // of a model
  int threads = 1;                   // that read a file; 0: one per core
};

// Fails with InvalidArgument and the reason, which names flag, file, line and column.
absl::StatusOr<revisit::Population> LoadPopulation(const PopulationRequest& request);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_SIMULATE_POPULATION_H_

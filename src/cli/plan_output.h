// The result of `escalona plan`: the rows of its input with three columns more.
#ifndef ESCALONA_CLI_PLAN_OUTPUT_H_
#define ESCALONA_CLI_PLAN_OUTPUT_H_

#include <functional>

#include "absl/status/status.h"
#include "cli/chunk_reader.h"
#include "cli/output_file.h"
#include "cli/plan_input.h"
#include "escalona/allocation.h"

namespace escalona::cli {

struct PlanOutputOptions {
  bool gzip = false;  // compressed, one gzip member per chunk
  int threads = 1;
};

// Freshness of a page of the plan under the visits its kind of allocation makes.
double PlannedFreshness(const PlanInput& input, revisit::AllocationKind kind, size_t page,
                        double frequency);

// Reads the file behind `input` once more and appends its rows with frequency (per day), interval
// (days; inf when never visited) and freshness to `output`. Fails when the file is no longer the
// one that was read.
absl::Status WritePlan(ChunkReader& reader, const PlanInput& input, const revisit::Allocation& plan,
                       revisit::AllocationKind kind, const PlanOutputOptions& options,
                       const std::function<void()>& progress, OutputFile& output);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_PLAN_OUTPUT_H_

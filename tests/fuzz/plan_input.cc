// Any bytes as the input of `escalona plan`: rows are counted or refused, and what was read can be
// solved.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "cli/plan_input.h"
#include "cli/units.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckUnits(std::string_view text) {
  using namespace escalona::cli;
  for (const auto& parse : {ParseDuration, ParseDays, ParsePerDay, ParseNumber}) {
    const absl::StatusOr<double> value = parse(text);
    Require(!value.ok() || (std::isfinite(*value) && *value >= 0));
  }
  const absl::StatusOr<Capacity> capacity = ParseCapacity(text);
  Require(!capacity.ok() || (std::isfinite(capacity->amount) && capacity->amount >= 0));
  (void)ParseSize(text).ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (size < 64) CheckUnits(text);
  const int fd = memfd_create("fuzz", 0);
  Require(fd >= 0 && write(fd, data, size) == static_cast<ssize_t>(size));
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  auto reader = escalona::cli::ChunkReader::Open(path);
  Require(reader.ok());
  escalona::cli::PlanInputOptions options;
  options.skip_bad = size % 2 == 0;
  options.servers_matter = size % 3 == 0;
  uint64_t warnings = 0;
  const auto input = escalona::cli::ReadPlanInput(
      *reader, options, [](uint64_t) {}, [&](const std::string&) { ++warnings; });
  if (input.ok()) {
    Require(input->bad_lines.size() == warnings);
    for (size_t c = 0; c < escalona::cli::kPlanColumns; ++c) {
      const auto& column = input->number[c];
      Require(column.empty() || column.size() == input->pages());
      for (const double value : column.view()) Require(value >= 0);
    }
    for (const uint32_t server : input->server.view()) Require(server < input->server_name.size());
  }
  close(fd);
  return 0;
}

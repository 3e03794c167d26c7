// Durations, rates, sizes and shares as people write them: 30s, 1.5d, 100/s, 1GiB, 10%.
//
// One notation for every command. A number is written in any usual way (30, 1.5, .5, 2e-3), not
// negative, finite. Each function fails with InvalidArgument and says what would be right.
#ifndef ESCALONA_CLI_UNITS_H_
#define ESCALONA_CLI_UNITS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace escalona::cli {

inline constexpr double kSecondsPerDay = 86400;

// "30s", "5min", "1.5h", "2e-3d", "250ms"; in seconds. A unit is required, except for 0.
absl::StatusOr<double> ParseDuration(std::string_view text);

// The same where the API counts in whole seconds of 32 bits.
absl::StatusOr<uint32_t> ParseWholeSeconds(std::string_view text);

// "100/s", "5/min", "20/h", "1e6/day"; or "10%", a share of the greatest there is. A unit is
// required, except for 0.
struct Capacity {
  double amount = 0;   // per second, or a fraction
  bool share = false;  // of the greatest
};
absl::StatusOr<Capacity> ParseCapacity(std::string_view text);

// Durations and rates in files, where the day is the unit of a bare number: in days, and per day.
absl::StatusOr<double> ParseDays(std::string_view text);
absl::StatusOr<double> ParsePerDay(std::string_view text);

// A number without a unit.
absl::StatusOr<double> ParseNumber(std::string_view text);

// "4096", "64KiB", "1GiB", "500MB"; in bytes.
absl::StatusOr<uint64_t> ParseSize(std::string_view text);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_UNITS_H_

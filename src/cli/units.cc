// Reads a number and its unit.
#include "cli/units.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace escalona::cli {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kDurationInDays[] = {{"ms", 1e-3 / kSecondsPerDay},
                                    {"s", 1 / kSecondsPerDay},
                                    {"min", 60 / kSecondsPerDay},
                                    {"h", 1. / 24},
                                    {"d", 1},
                                    {"day", 1},
                                    {"days", 1},
                                    {"w", 7}};
constexpr Unit kDurationInSeconds[] = {{"ms", 1e-3},
                                       {"s", 1},
                                       {"min", 60},
                                       {"h", 3600},
                                       {"d", kSecondsPerDay},
                                       {"day", kSecondsPerDay},
                                       {"days", kSecondsPerDay},
                                       {"w", 7 * kSecondsPerDay}};
constexpr Unit kRatePerSecond[] = {{"/s", 1},
                                   {"/min", 1. / 60},
                                   {"/h", 1. / 3600},
                                   {"/d", 1 / kSecondsPerDay},
                                   {"/day", 1 / kSecondsPerDay}};
constexpr Unit kRatePerDay[] = {
    {"/s", kSecondsPerDay}, {"/min", 1440}, {"/h", 24}, {"/d", 1}, {"/day", 1}};
constexpr Unit kBytes[] = {{"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                           {"TiB", 0x1p40}, {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},
                           {"GB", 1e9},     {"TB", 1e12}};
constexpr Unit kPercent[] = {{"%", 0.01}};

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Long fields are cut: a message must stay readable.
std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 40;
  std::string shown = "'";
  for (const char c : text.substr(0, kShown)) shown += static_cast<unsigned char>(c) < 32 ? '?' : c;
  return shown + (text.size() > kShown ? "...'" : "'");
}

absl::Status Wrong(std::string_view text, std::string_view right) {
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " is not ", std::string(right)));
}

// The number at the start of `text`, which it is cut from; NaN when there is none.
double TakeNumber(std::string_view& text) {
  std::string_view digits = text;
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument) return NAN;
  if (error == std::errc::result_out_of_range) {
    // from_chars does not say which way; a negative exponent is the way down to 0.
    const std::string_view number(digits.data(), static_cast<size_t>(end - digits.data()));
    value =
        number.find("e-") != std::string_view::npos || number.find("E-") != std::string_view::npos
            ? 0
            : INFINITY;
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

absl::StatusOr<double> Parse(std::string_view text, std::span<const Unit> units, bool bare,
                             std::string_view right) {
  std::string_view rest = Trim(text);
  const double value = TakeNumber(rest);
  if (std::isnan(value)) return Wrong(text, right);
  if (std::isinf(value)) return absl::InvalidArgumentError(Quoted(text) + " is not finite");
  if (value < 0 || std::signbit(value)) {
    return absl::InvalidArgumentError(Quoted(text) + " is negative; it must be 0 or more");
  }
  rest = Trim(rest);
  if (rest.empty()) return bare || value == 0 ? absl::StatusOr<double>(value) : Wrong(text, right);
  for (const Unit& unit : units) {
    if (unit.name != rest) continue;
    const double scaled = value * unit.factor;
    if (std::isinf(scaled)) return absl::InvalidArgumentError(Quoted(text) + " is not finite");
    return scaled;
  }
  return Wrong(text, right);
}

}  // namespace

absl::StatusOr<double> ParseDuration(std::string_view text) {
  return Parse(text, kDurationInSeconds, false,
               "a duration; write one such as 30s, 5min, 2h or 1.5d");
}

absl::StatusOr<uint32_t> ParseWholeSeconds(std::string_view text) {
  constexpr double kMost = std::numeric_limits<uint32_t>::max();
  const absl::StatusOr<double> seconds = ParseDuration(text);
  if (!seconds.ok()) return seconds.status();
  const double whole = std::round(*seconds);
  if (whole > kMost) {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " is too long; the API takes ",
                                                   static_cast<uint32_t>(kMost), "s at most"));
  }
  // 4.1min are not 246 s to the last bit.
  if (std::abs(*seconds - whole) > 1e-6) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(text), " is not whole seconds, as the API has them; write ",
        static_cast<uint64_t>(*seconds), "s or ", static_cast<uint64_t>(*seconds) + 1, "s"));
  }
  return static_cast<uint32_t>(whole);
}

absl::StatusOr<Capacity> ParseCapacity(std::string_view text) {
  const bool share = Trim(text).ends_with('%');
  const absl::StatusOr<double> amount =
      Parse(text, share ? std::span<const Unit>(kPercent) : kRatePerSecond, false,
            "a rate or a share; write one such as 3/s, 20/h, 1e6/day or 10%");
  if (!amount.ok()) return amount.status();
  return Capacity{*amount, share};
}

absl::StatusOr<double> ParseDays(std::string_view text) {
  return Parse(
      text, kDurationInDays, true,
      "a duration; write a number of days, or one with a unit such as 30s, 5min, 2h or 1.5d");
}

absl::StatusOr<double> ParsePerDay(std::string_view text) {
  return Parse(
      text, kRatePerDay, true,
      "a rate; write a number per day, or one with a unit such as 3/s, 5/min, 2/h or 1/day");
}

absl::StatusOr<double> ParseNumber(std::string_view text) {
  return Parse(text, {}, true, "a number; write one such as 3, 0.25 or 1e-3");
}

absl::StatusOr<uint64_t> ParseSize(std::string_view text) {
  absl::StatusOr<double> bytes =
      Parse(text, kBytes, true,
            "a size; write a number of bytes, or one with a unit such as 64KiB or 1GiB");
  if (!bytes.ok()) return bytes.status();
  if (*bytes >= 0x1p64)
    return absl::InvalidArgumentError(Quoted(text) + " is too large for a size");
  return static_cast<uint64_t>(*bytes);
}

}  // namespace escalona::cli

#include "cli/number_option.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "url/quote.h"

namespace escalona::cli {
namespace {

// Without an exponent where it is whole: an option that takes whole numbers takes none either.
std::string Written(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e15) {
    return absl::StrCat(static_cast<int64_t>(number));
  }
  return absl::StrCat(number);
}

// True for a whole number that a `Value` cannot hold: CLI11 would take the nearest that it can.
template <class Value>
bool Overflows(std::string_view text) {
  if constexpr (std::is_integral_v<Value>) {
    if (text.starts_with('+')) text.remove_prefix(1);
    Value number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc::result_out_of_range && end == text.data() + text.size();
  }
  return false;
}

std::string OutOfRange(const std::string& text, std::string_view range) {
  return absl::StrCat(url_internal::Quoted(text), " is out of range; it must be ",
                      std::string(range));
}

template <class Value>
std::string RangeOf() {
  return absl::StrCat(std::numeric_limits<Value>::min(), " to ", std::numeric_limits<Value>::max());
}

template <class Value>
CLI::Validator NumberOfType(const char* what, const CLI::Option& option) {
  const std::string usual = option.get_default_str();
  const std::string right =
      absl::StrCat(" is not ", what, "; write one such as ", usual.empty() ? "1" : usual);
  return {[right](std::string& text) {
            Value number{};
            // CLI11 would take -1 for the greatest number there is.
            const bool wraps = std::is_unsigned_v<Value> && text.find('-') != std::string::npos;
            if (Overflows<Value>(text)) return OutOfRange(text, RangeOf<Value>());
            return !wraps && CLI::detail::lexical_cast(text, number)
                       ? std::string()
                       : url_internal::Quoted(text) + right;
          },
          ""};
}

void CheckItIsANumber(CLI::Option& option) {
  const std::string described = option.get_type_name();  // the type, then what checks say of it
  const std::string type = described.substr(0, described.find(':'));
  // The one way of CLI11 to check before the checks that are there.
  if (type == "UINT") {
    option.transform(NumberOfType<uint64_t>("a whole number of 0 or more", option));
  } else if (type == "INT") {
    option.transform(NumberOfType<int64_t>("a whole number", option));
  } else if (type == "FLOAT") {
    option.transform(NumberOfType<double>("a number", option));
  }
}

}  // namespace

CLI::Validator Between(double least, double most) {
  const bool bounded = std::isfinite(most);
  const std::string range = bounded ? absl::StrCat(Written(least), " to ", Written(most))
                                    : absl::StrCat(Written(least), " or more");
  return {[=](std::string& text) {
            double number = 0;
            const bool inside =
                CLI::detail::lexical_cast(text, number) && number >= least && number <= most;
            return inside ? std::string() : OutOfRange(text, range);
          },
          range};
}

void RefuseWhatIsNoNumber(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) CheckItIsANumber(*option);
  for (CLI::App* command : app.get_subcommands(nullptr)) RefuseWhatIsNoNumber(*command);
}

}  // namespace escalona::cli

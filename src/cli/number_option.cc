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

std::string OutOfRange(const std::string& text, std::string_view range) {
  return absl::StrCat(url_internal::Quoted(text), " is out of range; it must be ",
                      std::string(range));
}

template <class Value>
std::string RangeOf() {
  return absl::StrCat(std::numeric_limits<Value>::min(), " to ", std::numeric_limits<Value>::max());
}

// What is wrong with the text; empty if it is a number. CLI11 by itself takes 010 for 8, 0x10 for
// 16, -1 for the greatest number there is, and the nearest for one that is too large: it gets to
// see decimal digits without zeros in front.
template <class Value>
std::string MakeNumber(std::string& text, const std::string& wrong) {
  if constexpr (std::is_integral_v<Value>) {
    const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const char* const end = text.data() + text.size();
    Value number{};
    const auto [at, error] = std::from_chars(begin, end, number);
    if (at != end || error == std::errc::invalid_argument) {
      return url_internal::Quoted(text) + wrong;
    }
    if (error != std::errc()) return OutOfRange(text, RangeOf<Value>());
    text = absl::StrCat(number);
    return "";
  } else {
    Value number{};
    return CLI::detail::lexical_cast(text, number) ? "" : url_internal::Quoted(text) + wrong;
  }
}

template <class Value>
CLI::Validator NumberOfType(const char* what, const CLI::Option& option) {
  const std::string usual = option.get_default_str();
  const std::string wrong =
      absl::StrCat(" is not ", what, "; write one such as ", usual.empty() ? "1" : usual);
  return {[wrong](std::string& text) { return MakeNumber<Value>(text, wrong); }, ""};
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

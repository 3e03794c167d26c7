// Numbers on the command line: a refusal names what was written and what would be right.
#ifndef ESCALONA_CLI_NUMBER_OPTION_H_
#define ESCALONA_CLI_NUMBER_OPTION_H_

#include <CLI/CLI.hpp>
#include <limits>

namespace escalona::cli {

// A check of an option: the number lies between these, both included.
CLI::Validator Between(double least, double most = std::numeric_limits<double>::infinity());

// The same for the numbers that `number`, where the option puts it, can hold. CLI11 itself would
// only say that it could not convert.
template <class Number>
CLI::Validator Fits(const Number& /*number*/) {
  using Limits = std::numeric_limits<Number>;
  return Between(static_cast<double>(Limits::min()), static_cast<double>(Limits::max()))
      .description("");
}

// Makes every option of `app` and its subcommands that takes a number refuse what is none, before
// its other checks see it.
void RefuseWhatIsNoNumber(CLI::App& app);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_NUMBER_OPTION_H_

// Numbers on the command line: a refusal names what was written and what would be right.
#ifndef ESCALONA_CLI_NUMBER_OPTION_H_
#define ESCALONA_CLI_NUMBER_OPTION_H_

#include <CLI/CLI.hpp>
#include <limits>

namespace escalona::cli {

// A check of an option: the number lies between these, both included.
CLI::Validator Between(double least, double most = std::numeric_limits<double>::infinity());

// Makes every option of `app` and its subcommands that takes a number refuse what is none, before
// its other checks see it.
void RefuseWhatIsNoNumber(CLI::App& app);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_NUMBER_OPTION_H_

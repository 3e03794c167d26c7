// The subcommands of `escalona`. Each lives in a file of its own and adds itself to the program.
#ifndef ESCALONA_CLI_COMMAND_H_
#define ESCALONA_CLI_COMMAND_H_

#include <CLI/CLI.hpp>

namespace escalona::cli {

// Exit status of every subcommand.
enum ExitStatus : int {
  kDone = 0,           // done; warnings may have been printed
  kFindings = 1,       // done, and something was found that the user asked to be told of
  kCouldNotBeDone = 2  // usage, input or output is wrong; the reason is on standard error
};

// Declares one subcommand on `app`. When the user chose it, its callback runs it and stores the
// exit status in `status`. Both references outlive the call.
using AddCommand = void (*)(CLI::App& app, int& status);

void AddRun(CLI::App& app, int& status);
void AddGen(CLI::App& app, int& status);
void AddPlan(CLI::App& app, int& status);
void AddEstimate(CLI::App& app, int& status);
void AddUrl(CLI::App& app, int& status);
void AddSimulate(CLI::App& app, int& status);
void AddStore(CLI::App& app, int& status);
void AddServe(CLI::App& app, int& status);
void AddAssoc(CLI::App& app, int& status);
void AddBench(CLI::App& app, int& status);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_COMMAND_H_

// `escalona run`: answers a command file.
#include "cli/command.h"

namespace escalona::cli {
void AddRun(CLI::App& app, int& status) {
  CLI::App* run = app.add_subcommand("run", "Answer a file of scheduler commands");
  run->callback([&status] { status = kDone; });
}
}  // namespace escalona::cli

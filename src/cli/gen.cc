// `escalona gen`: answers a command file.
#include "cli/command.h"

namespace escalona::cli {
void AddGen(CLI::App& app, int& status) {
  CLI::App* gen = app.add_subcommand("gen", "Answer a file of scheduler commands");
  gen->callback([&status] { status = kDone; });
}
}  // namespace escalona::cli

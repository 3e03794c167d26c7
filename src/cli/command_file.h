// The language of `escalona run`: commands in, answers out.
#ifndef ESCALONA_CLI_COMMAND_FILE_H_
#define ESCALONA_CLI_COMMAND_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "cli/line_reader.h"
#include "escalona/scheduler.h"

namespace escalona::cli {

// Where the answer goes. Failures are the sink's to remember.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void Write(std::string_view bytes) = 0;
};

struct RunReport {
  uint64_t lines = 0;          // read
  uint64_t ignored_lines = 0;  // commands that were not carried out
  uint64_t urls_added = 0;     // accepted
  uint64_t urls_taken = 0;     // handed out
};

// `message` reads "what is wrong; what would be right".
using WarningVisitor = absl::FunctionRef<void(uint64_t line, const std::string& message)>;

// Carries out the commands of `source` on `scheduler` and writes the answers to `sink`. A line that
// is no proper command is ignored with a warning. Fails when the source cannot be read or the
// scheduler is full; the status then names the line.
[[nodiscard]] absl::Status RunCommandFile(ByteSource& source, Scheduler& scheduler, ByteSink& sink,
                                          WarningVisitor warn, RunReport& report);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_COMMAND_FILE_H_

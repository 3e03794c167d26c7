// `escalona run`: answers a command file.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/command_file.h"
#include "cli/input_file.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "escalona/scheduler.h"

namespace escalona::cli {
namespace {

struct Options {
  std::string file;
  std::optional<std::string> output;
  bool breadth_first = false;
  bool best_first = false;
  bool strict = false;
};

// "x/coleta1.txt" -> "x/coleta1-out.txt"; "-" -> "-".
std::string DefaultOutput(const std::string& file) {
  if (file == "-") return file;
  const std::filesystem::path path(file);
  std::filesystem::path name = path.stem();
  name += "-out";
  name += path.extension();
  return path.parent_path().empty() ? name.string() : (path.parent_path() / name).string();
}

// Passes the bytes on and shows how far they are.
class WatchedSource : public ByteSource {
 public:
  WatchedSource(InputFile& file, Progress& progress) : file_(file), progress_(progress) {}
  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    progress_.Update(file_.position());
    return file_.Read(buffer);
  }
  const char* mapping() const override { return file_.mapping(); }

 private:
  InputFile& file_;
  Progress& progress_;
};

class WatchedSink : public ByteSink {
 public:
  WatchedSink(OutputFile& file, const InputFile& input, Progress& progress)
      : file_(file), input_(input), progress_(progress) {}
  void Write(std::string_view bytes) override {
    file_.Append(bytes);
    progress_.Update(input_.position(), HumanBytes(file_.size()) + " of answer");
  }

 private:
  OutputFile& file_;
  const InputFile& input_;
  Progress& progress_;
};

// Warnings on standard error; a file that is no command file at all does not flood it.
class Warnings {
 public:
  Warnings(std::string file, Progress& progress) : file_(std::move(file)), progress_(progress) {}
  ~Warnings() {
    if (count_ > kShown) {
      Print(last_line_, std::to_string(count_ - kShown) +
                            " more warnings are not shown; is this a command file?");
    }
  }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  void Add(uint64_t line, const std::string& message) {
    last_line_ = line;
    if (++count_ <= kShown) Print(line, message);
  }

 private:
  static constexpr uint64_t kShown = 1000;

  void Print(uint64_t line, const std::string& message) {
    progress_.Clear();
    std::fprintf(stderr, "%s:%llu: %s\n", file_.c_str(), static_cast<unsigned long long>(line),
                 message.c_str());
  }

  const std::string file_;
  Progress& progress_;
  uint64_t count_ = 0;
  uint64_t last_line_ = 0;
};

int Refuse(const std::string& file, const std::string& message) {
  std::fprintf(stderr, "%s:%s\n", file.c_str(), message.c_str());
  return kCouldNotBeDone;
}

Strategy ChosenStrategy(const Options& options) {
  if (options.best_first) return Strategy::kBestFirst;
  return options.breadth_first ? Strategy::kBreadthFirst : Strategy::kDepthFirst;
}

int Run(const Options& options) {
  const std::string& file = options.file;
  absl::StatusOr<InputFile> input = InputFile::Open(file, InputMode::kMapped);
  if (!input.ok()) return Refuse(file, "0: " + std::string(input.status().message()));
  const std::string target = options.output ? *options.output : DefaultOutput(file);
  if (input->IsSameAs(target)) {
    return Refuse(file, "0: the answer would replace the commands; choose another place with -o");
  }
  absl::StatusOr<OutputFile> output = OutputFile::Create(target);
  if (!output.ok()) return Refuse(file, "0: " + std::string(output.status().message()));

  ExplainVanishedInput(file.c_str());
  RunReport report;
  {
    Progress progress("escalona run: read", input->size());
    Warnings warnings(file, progress);
    WatchedSource source(*input, progress);
    WatchedSink sink(*output, *input, progress);
    Scheduler scheduler(ChosenStrategy(options));
    const absl::Status done = RunCommandFile(
        source, scheduler, sink,
        [&](uint64_t line, const std::string& message) { warnings.Add(line, message); }, report);
    if (!done.ok()) return Refuse(file, std::string(done.message()));
  }
  if (absl::Status written = output->Commit(); !written.ok()) {
    return Refuse(file, "0: " + std::string(written.message()));
  }
  return options.strict && report.ignored_lines > 0 ? kFindings : kDone;
}

int RunWithinMemory(const Options& options) {
  try {
    return Run(options);
  } catch (const std::bad_alloc&) {
    return Refuse(options.file, "0: memory is used up; hand out URLs earlier or split the file");
  }
}

}  // namespace

void AddRun(CLI::App& app, int& status) {
  CLI::App* run = app.add_subcommand("run", "Answer a file of scheduler commands");
  auto options = std::make_shared<Options>();
  run->add_option("FILE", options->file, "Command file; - reads standard input")->required();
  CLI::Option* breadth = run->add_flag("-b,--breadth-first", options->breadth_first,
                                       "One URL of each host in turn (default: depth-first)");
  run->add_flag("--best-first", options->best_first, "Always from the host that has the most URLs")
      ->excludes(breadth);
  run->add_option("-o,--output", options->output,
                  "Where the answer goes; - is standard output (default: beside FILE, with -out "
                  "before its extension)");
  run->add_flag("--strict", options->strict, "Exit with 1 when a line was ignored");
  run->footer(
      "Commands: ADD_URLS n, ESCALONA_TUDO, ESCALONA n, ESCALONA_HOST host n, VER_HOST host,\n"
      "LISTA_HOSTS, LIMPA_HOST host, LIMPA_TUDO.\n"
      "Exit status: 0 done, 1 a line was ignored (--strict), 2 FILE cannot be read, the answer\n"
      "cannot be written or the usage is wrong; the answer is then absent, an earlier one intact.");
  run->callback([options, &status] { status = RunWithinMemory(*options); });
}

}  // namespace escalona::cli

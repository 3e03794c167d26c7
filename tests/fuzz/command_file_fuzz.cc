// A whole command file of any bytes, under every strategy: no crash, no more output than the
// commands can ask for, and the same URLs and hosts whatever the strategy.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_file.h"
#include "escalona/scheduler.h"

namespace {

using escalona::ScheduledUrl;
using escalona::Scheduler;
using escalona::Strategy;

// Hands the bytes over in small uneven pieces, so that lines are cut by the reader's buffer; or
// shows them where they lie, also piece by piece.
class Pieces : public escalona::cli::ByteSource {
 public:
  Pieces(std::string_view bytes, bool mapped)
      : mapping_(mapped ? bytes.data() : nullptr), bytes_(bytes) {}
  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    const size_t room = mapping_ == nullptr ? buffer.size() : bytes_.size();
    const size_t size = std::min({bytes_.size(), room, size_t{1} + calls_++ % 37});
    if (mapping_ == nullptr) bytes_.copy(buffer.data(), size);
    bytes_.remove_prefix(size);
    return size;
  }
  const char* mapping() const override { return mapping_; }

 private:
  const char* mapping_;
  std::string_view bytes_;
  size_t calls_ = 0;
};

class Text : public escalona::cli::ByteSink {
 public:
  void Write(std::string_view bytes) override { text_ += bytes; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

struct Outcome {
  escalona::cli::RunReport report;
  uint64_t warnings = 0;
  std::vector<std::string> hosts;
  std::vector<std::string> sorted_lines;
};

Outcome Run(std::string_view commands, Strategy strategy, bool mapped) {
  Pieces source(commands, mapped);
  Text sink;
  Scheduler scheduler(strategy);
  Outcome outcome;
  const absl::Status done = escalona::cli::RunCommandFile(
      source, scheduler, sink,
      [&](uint64_t line, const std::string& message) {
        ++outcome.warnings;
        Require(line == outcome.report.lines, "a warning names the line it is about");
        Require(message.find("; ") != std::string::npos, "a warning says what would be right");
        Require(message.find('\n') == std::string::npos, "a warning is one line");
      },
      outcome.report);
  Require(done.ok(), "the run succeeds");
  Require(scheduler.size() == outcome.report.urls_added - outcome.report.urls_taken ||
              commands.find("LIMPA_") != std::string_view::npos,
          "what was added was handed out or is there");
  // A command prints at most every URL and every host once, and none of them outgrows the input.
  const size_t lines = outcome.report.lines;
  Require(sink.text().size() <= lines * (commands.size() + 8 * lines), "the output is bounded");
  scheduler.VisitHosts([&](std::string_view host) { outcome.hosts.emplace_back(host); });
  const uint64_t left = scheduler.size();
  std::string rest;
  const uint64_t taken = scheduler.Take(UINT64_MAX, [&](const ScheduledUrl& url) {
    url.AppendTo(rest);
    rest += '\n';
  });
  Require(taken == left && scheduler.size() == 0, "everything can be handed out");
  const std::string all = sink.text() + rest;
  for (size_t start = 0; start < all.size();) {
    const size_t end = all.find('\n', start);
    Require(end != std::string::npos, "every line of the answer has an end");
    outcome.sorted_lines.push_back(all.substr(start, end - start));
    start = end + 1;
  }
  std::sort(outcome.sorted_lines.begin(), outcome.sorted_lines.end());
  return outcome;
}

// Which URLs a file hands out does not depend on the strategy while no command looks at, or drops,
// what a strategy has left over, and no URL comes back.
bool DependsOnStrategy(std::string_view commands) {
  const size_t partial = commands.find("ESCALONA");
  if (partial == std::string_view::npos) return false;
  for (std::string_view word : {"ADD_URLS", "LIMPA_", "VER_HOST", "ESCALONA_HOST"}) {
    if (commands.find(word, partial) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view commands(reinterpret_cast<const char*>(data), size);
  const Outcome depth = Run(commands, Strategy::kDepthFirst, false);
  for (Strategy strategy : {Strategy::kBreadthFirst, Strategy::kBestFirst}) {
    const Outcome other = Run(commands, strategy, true);
    Require(other.warnings == depth.warnings, "warnings do not depend on the strategy");
    Require(other.report.lines == depth.report.lines, "nor do the lines read");
    Require(other.report.ignored_lines == depth.report.ignored_lines, "nor those ignored");
    Require(other.hosts == depth.hosts, "nor the known hosts");
    if (DependsOnStrategy(commands)) continue;
    Require(other.sorted_lines == depth.sorted_lines, "nor which URLs are handed out");
  }
  return 0;
}

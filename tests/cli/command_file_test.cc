// Failures of a command file that the program cannot be brought to in a test: full, unreadable.
#include "cli/command_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace escalona::cli {
namespace {

class TextSource : public ByteSource {
 public:
  TextSource(std::string_view text, bool fails) : text_(text), fails_(fails) {}
  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    if (text_.empty() && fails_) return absl::DataLossError("cannot be read: broken; mend it");
    const size_t size = std::min(text_.size(), buffer.size());
    text_.copy(buffer.data(), size);
    text_.remove_prefix(size);
    return size;
  }

 private:
  std::string_view text_;
  const bool fails_;
};

class NoSink : public ByteSink {
 public:
  void Write(std::string_view) override {}
};

absl::Status RunText(std::string_view text, Scheduler& scheduler, bool fails = false) {
  TextSource source(text, fails);
  NoSink sink;
  RunReport report;
  return RunCommandFile(
      source, scheduler, sink, [](uint64_t, const std::string&) {}, report);
}

TEST(CommandFile, AFullSchedulerIsToldWithTheLineOfTheUrlThatDidNotFit) {
  std::string text = "\nADD_URLS 5000\n";
  for (int i = 0; i < 5000; ++i) {
    text += "http://a.com/" + std::to_string(i) + std::string(1000, 'x') + "\nftp://discarded\n";
  }
  Scheduler scheduler(Strategy::kDepthFirst, 2 << 20);
  const absl::Status done = RunText(text, scheduler);
  ASSERT_EQ(done.code(), absl::StatusCode::kResourceExhausted);
  const uint64_t line = 2 + 2 * scheduler.size() + 1;
  EXPECT_EQ(std::string(done.message()),
            std::to_string(line) +
                ": the scheduler is full: its queues have reached the limit of bytes or hosts; "
                "hand out or drop URLs before more are added");
}

TEST(CommandFile, AFailureToReadIsToldWithTheLastLineThatWasRead) {
  Scheduler scheduler(Strategy::kDepthFirst);
  EXPECT_TRUE(RunText("LISTA_HOSTS\nLISTA_HOSTS\n", scheduler).ok());
  const absl::Status done = RunText("LISTA_HOSTS\nLISTA_HOSTS\nLISTA", scheduler, true);
  EXPECT_EQ(done.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(std::string(done.message()), "2: cannot be read: broken; mend it");
}

}  // namespace
}  // namespace escalona::cli

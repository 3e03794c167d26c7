#include "cli/command_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cli/suggest.h"
#include "url/command_url.h"

namespace escalona::cli {
namespace {

// A word of the input, short and printable enough for a message.
std::string Quoted(std::string_view word) {
  constexpr size_t kMost = 40;
  std::string text = "'";
  for (char c : word.substr(0, kMost)) text += c >= 0x20 && c < 0x7f ? c : '?';
  text += word.size() > kMost ? "...'" : "'";
  return text;
}

// The first words of a line; `more` tells whether others follow.
struct Words {
  std::array<std::string_view, 3> word;
  size_t count = 0;
  bool more = false;
};

Words Split(std::string_view line) {
  Words words;
  for (line = TrimBlanks(line); !line.empty(); line = TrimBlanks(line)) {
    if (words.count == words.word.size()) {
      words.more = true;
      break;
    }
    const size_t size = std::min(line.find_first_of(" \t"), line.size());
    words.word[words.count++] = line.substr(0, size);
    line.remove_prefix(size);
  }
  return words;
}

struct ParsedNumber {
  std::errc error = {};
  int64_t value = 0;
};

ParsedNumber ParseNumber(std::string_view word) {
  const bool plus = word.starts_with('+') && !word.starts_with("+-");
  const std::string_view digits = word.substr(plus ? 1 : 0);
  ParsedNumber number;
  const auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number.value);
  number.error = error;
  if (error == std::errc() && stop != digits.data() + digits.size()) {
    number.error = std::errc::invalid_argument;
  }
  return number;
}

class Interpreter {
 public:
  Interpreter(ByteSource& source, Scheduler& scheduler, ByteSink& sink, WarningVisitor warn,
              RunReport& report)
      : lines_(source), scheduler_(scheduler), sink_(sink), warn_(warn), report_(report) {}

  absl::Status Run() {
    std::string_view line;
    while (NextLine(line)) {
      if (absl::Status done = CarryOut(line); !done.ok()) return AtLine(done);
    }
    Flush(0);
    return lines_.status().ok() ? absl::OkStatus() : AtLine(lines_.status());
  }

 private:
  struct Command {
    std::string_view name;
    bool has_host;
    bool has_number;
    absl::Status (Interpreter::*carry_out)(std::string_view host, uint64_t number);
  };
  static const Command kCommands[8];
  static constexpr size_t kBlock = 512;         // lines looked at together
  static constexpr size_t kFlushAt = 64 << 10;  // bytes of answer

  // Lines are taken from the reader in blocks, and from the block one by one or many at once.
  std::span<const std::string_view> PeekLines(uint64_t limit) {
    if (next_ == count_) {
      count_ = lines_.Next(block_);
      next_ = 0;
    }
    return {block_.data() + next_, std::min<uint64_t>(count_ - next_, limit)};
  }
  void Consume(size_t lines) {
    next_ += lines;
    report_.lines += lines;
  }
  bool NextLine(std::string_view& line) {
    const auto lines = PeekLines(1);
    if (lines.empty()) return false;
    line = lines[0];
    Consume(1);
    return true;
  }

  absl::Status AtLine(const absl::Status& status) const {
    return {status.code(), std::to_string(report_.lines) + ": " + std::string(status.message())};
  }
  absl::Status Ignore(const std::string& message) {
    ++report_.ignored_lines;
    warn_(report_.lines, message);
    return absl::OkStatus();
  }

  absl::Status CarryOut(std::string_view line);
  absl::Status CarryOut(const Command& command, const Words& words);
  absl::Status IgnoreUnknown(std::string_view word);

  void Answer(const ScheduledUrl& url) {
    url.AppendTo(answer_);
    answer_ += '\n';
    Flush(kFlushAt);
  }
  void Flush(size_t at_least) {
    if (answer_.size() <= at_least) return;
    sink_.Write(answer_);
    answer_.clear();
  }

  absl::Status AddUrls(std::string_view host, uint64_t number);
  absl::Status TakeAll(std::string_view host, uint64_t number);
  absl::Status Take(std::string_view host, uint64_t number);
  absl::Status TakeFromHost(std::string_view host, uint64_t number);
  absl::Status ShowHost(std::string_view host, uint64_t number);
  absl::Status ListHosts(std::string_view host, uint64_t number);
  absl::Status DropHost(std::string_view host, uint64_t number);
  absl::Status DropAll(std::string_view host, uint64_t number);

  LineReader lines_;
  Scheduler& scheduler_;
  ByteSink& sink_;
  WarningVisitor warn_;
  RunReport& report_;
  std::string answer_;
  std::array<std::string_view, kBlock> block_;
  size_t next_ = 0;
  size_t count_ = 0;
};

const Interpreter::Command Interpreter::kCommands[8] = {
    {"ADD_URLS", false, true, &Interpreter::AddUrls},
    {"ESCALONA_TUDO", false, false, &Interpreter::TakeAll},
    {"ESCALONA", false, true, &Interpreter::Take},
    {"ESCALONA_HOST", true, true, &Interpreter::TakeFromHost},
    {"VER_HOST", true, false, &Interpreter::ShowHost},
    {"LISTA_HOSTS", false, false, &Interpreter::ListHosts},
    {"LIMPA_HOST", true, false, &Interpreter::DropHost},
    {"LIMPA_TUDO", false, false, &Interpreter::DropAll},
};

std::string UsageOf(std::string_view name, bool has_host, bool has_number) {
  return std::string(name) + (has_host ? " <host>" : "") + (has_number ? " <n>" : "");
}

absl::Status Interpreter::CarryOut(std::string_view line) {
  const Words words = Split(line);
  if (words.count == 0) return absl::OkStatus();
  for (const Command& command : kCommands) {
    if (command.name == words.word[0]) return CarryOut(command, words);
  }
  return IgnoreUnknown(words.word[0]);
}

absl::Status Interpreter::IgnoreUnknown(std::string_view word) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  std::string upper(word.substr(0, 64));
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 0x20) : c; });
  const std::string nearest = Nearest(upper, names);
  std::string message = "unknown command " + Quoted(word) + "; ";
  if (nearest == upper) {
    message += "command words are written in capitals: " + nearest;
  } else if (!nearest.empty()) {
    message += "did you mean " + nearest + "?";
  } else {
    message += "commands are";
    for (const std::string& name : names) message += (name == names[0] ? " " : ", ") + name;
  }
  return Ignore(message);
}

absl::Status Interpreter::CarryOut(const Command& command, const Words& words) {
  const std::string usage = UsageOf(command.name, command.has_host, command.has_number);
  const size_t arguments = 1 + command.has_host + command.has_number;
  if (words.count < arguments) {
    return Ignore(std::string(command.name) + " lacks an argument; write " + usage);
  }
  const std::string_view host = command.has_host ? words.word[1] : std::string_view();
  uint64_t number = 0;
  if (command.has_number) {
    const std::string_view word = words.word[arguments - 1];
    const ParsedNumber parsed = ParseNumber(word);
    if (parsed.error == std::errc::result_out_of_range) {
      const bool negative = word.front() == '-';
      return Ignore("number " + Quoted(word) + (negative ? " is too small" : " is too large") +
                    "; write " + usage +
                    (negative ? " with n from 0" : " with n up to 9223372036854775807"));
    }
    if (parsed.error != std::errc()) {
      return Ignore(Quoted(word) + " is not a whole number; write " + usage);
    }
    number = static_cast<uint64_t>(std::max<int64_t>(parsed.value, 0));
  }
  if (words.more || words.count > arguments) {
    warn_(report_.lines, "words after the arguments are ignored; write " + usage);
  }
  return (this->*command.carry_out)(host, number);
}

absl::Status Interpreter::AddUrls(std::string_view, uint64_t number) {
  while (number > 0) {
    const std::span<const std::string_view> lines = PeekLines(number);
    if (lines.empty()) break;
    const absl::StatusOr<size_t> added = scheduler_.AddAll(
        lines, lines_.lines_stay() ? Scheduler::Texts::kStay : Scheduler::Texts::kCopied);
    if (!added.ok()) {
      // Those before the one that did not fit are in: adding them again changes nothing.
      for (size_t i = 0; i < lines.size() && scheduler_.Add(lines[i]).ok(); ++i) Consume(1);
      Consume(1);
      return added.status();
    }
    report_.urls_added += *added;
    Consume(lines.size());
    number -= lines.size();
  }
  return absl::OkStatus();
}

absl::Status Interpreter::TakeAll(std::string_view, uint64_t) { return Take({}, UINT64_MAX); }

absl::Status Interpreter::Take(std::string_view, uint64_t number) {
  report_.urls_taken += scheduler_.Take(number, [this](const ScheduledUrl& url) { Answer(url); });
  return absl::OkStatus();
}

absl::Status Interpreter::TakeFromHost(std::string_view host, uint64_t number) {
  report_.urls_taken +=
      scheduler_.TakeFromHost(host, number, [this](const ScheduledUrl& url) { Answer(url); });
  return absl::OkStatus();
}

absl::Status Interpreter::ShowHost(std::string_view host, uint64_t) {
  scheduler_.VisitHost(host, [this](const ScheduledUrl& url) { Answer(url); });
  return absl::OkStatus();
}

absl::Status Interpreter::ListHosts(std::string_view, uint64_t) {
  scheduler_.VisitHosts([this](std::string_view host) {
    answer_.append(host).append("\n");
    Flush(kFlushAt);
  });
  return absl::OkStatus();
}

absl::Status Interpreter::DropHost(std::string_view host, uint64_t) {
  scheduler_.DropHost(host);
  return absl::OkStatus();
}

absl::Status Interpreter::DropAll(std::string_view, uint64_t) {
  scheduler_.DropAll();
  return absl::OkStatus();
}

}  // namespace

absl::Status RunCommandFile(ByteSource& source, Scheduler& scheduler, ByteSink& sink,
                            WarningVisitor warn, RunReport& report) {
  return Interpreter(source, scheduler, sink, warn, report).Run();
}

}  // namespace escalona::cli

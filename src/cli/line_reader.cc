#include "cli/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace escalona::cli {
namespace {

std::string_view WithoutCarriageReturn(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

size_t LineReader::CutLines(std::span<std::string_view> lines) {
  size_t count = 0;
  while (count < lines.size() && scanned_ < end_) {
    const char* from = text_ + scanned_;
    const void* newline = std::memchr(from, '\n', end_ - scanned_);
    if (newline == nullptr) {
      scanned_ = end_;
      break;
    }
    const size_t stop = static_cast<size_t>(static_cast<const char*>(newline) - text_);
    lines[count++] = WithoutCarriageReturn({text_ + begin_, stop - begin_});
    begin_ = scanned_ = stop + 1;
  }
  return count;
}

// Moves what was not handed out to the front of the buffer, which is then not full.
void LineReader::MakeRoom() {
  const size_t left = end_ - begin_;
  if (left == capacity_) {
    capacity_ = std::max(2 * capacity_, size_t{256} << 10);
    auto larger = std::make_unique_for_overwrite<char[]>(capacity_);
    if (left > 0) std::memcpy(larger.get(), text_ + begin_, left);
    buffer_ = std::move(larger);
    text_ = buffer_.get();
  } else {
    std::memmove(buffer_.get(), text_ + begin_, left);
  }
  scanned_ -= begin_;
  begin_ = 0;
  end_ = left;
}

void LineReader::Refill() {
  if (!lines_stay()) MakeRoom();
  const absl::StatusOr<size_t> read =
      lines_stay() ? source_.Read({}) : source_.Read({buffer_.get() + end_, capacity_ - end_});
  if (read.ok()) {
    end_ += *read;
    at_end_ = *read == 0;
  } else {
    status_ = read.status();
    at_end_ = true;
    begin_ = scanned_ = end_;
  }
}

size_t LineReader::Next(std::span<std::string_view> lines) {
  while (true) {
    if (const size_t count = CutLines(lines); count > 0) return count;
    if (at_end_) break;
    Refill();
  }
  if (begin_ == end_) return 0;
  lines[0] = WithoutCarriageReturn({text_ + begin_, end_ - begin_});
  begin_ = scanned_ = end_;
  return 1;
}

}  // namespace escalona::cli

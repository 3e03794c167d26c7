// The lines of an input, several at a time.
#ifndef ESCALONA_CLI_LINE_READER_H_
#define ESCALONA_CLI_LINE_READER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace escalona::cli {

// Where bytes come from.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Reads some bytes into `buffer`, which is not empty; 0 at the end of the input.
  virtual absl::StatusOr<size_t> Read(std::span<char> buffer) = 0;
  // Where the bytes lie, if they lie in memory for as long as the source lives. Read() then copies
  // nothing, and only tells how many more of them may be looked at. Otherwise null.
  virtual const char* mapping() const { return nullptr; }
};

// Cuts an input into lines that end in LF or CRLF; the last may have no end. Memory: 256 KiB, or
// twice the longest line; none if the input is mapped. O(length) for lines of any length.
class LineReader {
 public:
  explicit LineReader(ByteSource& source) : source_(source), text_(source.mapping()) {}

  // Puts the next lines, without their ends, into `lines` and returns how many: at least one,
  // unless the input has ended or could not be read (see status()). They are valid until the next
  // call, or as long as the source if lines_stay().
  size_t Next(std::span<std::string_view> lines);

  bool lines_stay() const { return source_.mapping() != nullptr; }
  const absl::Status& status() const { return status_; }

 private:
  size_t CutLines(std::span<std::string_view> lines);
  void MakeRoom();
  void Refill();

  ByteSource& source_;
  absl::Status status_;
  const char* text_;  // the mapping, or buffer_
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  size_t begin_ = 0;    // of what was not handed out
  size_t scanned_ = 0;  // no line ends between begin_ and here
  size_t end_ = 0;
  bool at_end_ = false;
};

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_LINE_READER_H_

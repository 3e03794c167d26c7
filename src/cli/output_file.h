// A result file that is complete or absent.
#ifndef ESCALONA_CLI_OUTPUT_FILE_H_
#define ESCALONA_CLI_OUTPUT_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace escalona::cli {

// Collects a result and puts it in its place at once: what is appended goes to a nameless temporary
// file in the folder of the result, and Commit() gives it the name. Without Commit(), or when
// anything failed, an earlier file of that name is untouched and nothing is left behind (after
// kill -9 neither, where the file system knows nameless files).
//
// "-" is standard output; a target that exists and is not a regular file (a pipe, a device) is
// written directly, since renaming over it would destroy it.
//
// Writes are buffered. The first failure is kept: later appends do nothing and Commit() returns it.
// Not thread safe.
class OutputFile {
 public:
  static absl::StatusOr<OutputFile> Create(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  void Append(std::string_view bytes) {
    if (bytes.size() > kBufferSize - used_) {
      AppendSlowly(bytes);
      return;
    }
    bytes.copy(buffer_.get() + used_, bytes.size());
    used_ += bytes.size();
  }

  // Writes what is buffered, so that a reader of a pipe sees it; the first failure so far.
  absl::Status Flush();

  // Finishes the file and gives it its name. To be called once, last.
  [[nodiscard]] absl::Status Commit();

  // Bytes appended so far.
  uint64_t size() const { return written_ + used_; }

 private:
  static constexpr size_t kBufferSize = 64 << 10;

  explicit OutputFile(std::string path) : path_(std::move(path)) {}
  absl::Status OpenTemporary();
  absl::Status GiveName();
  absl::Status Failure(std::string_view what) const;
  void AppendSlowly(std::string_view bytes);
  void WriteAll(std::string_view bytes);

  std::string path_;       // as the user wrote it, for messages
  std::string target_;     // what is replaced; empty when written directly
  std::string temporary_;  // the temporary's name; empty while it is nameless
  int fd_ = -1;
  std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(kBufferSize);
  size_t used_ = 0;
  uint64_t written_ = 0;
  absl::Status status_;
};

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_OUTPUT_FILE_H_

// A result file that is complete or absent.
#ifndef ESCALONA_CLI_OUTPUT_FILE_H_
#define ESCALONA_CLI_OUTPUT_FILE_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/huge_memory.h"

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
// What exceeds 64 MB goes past the page cache, where the disk is fast enough: there it would take
// as much memory as it is long, drive out what others keep there, and cost more than its making.
// Not thread safe.
class OutputFile {
 public:
  static absl::StatusOr<OutputFile> Create(const std::string& path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  void Append(std::string_view bytes) {
    if (bytes.size() > capacity_ - used_) {
      AppendSlowly(bytes);
      return;
    }
    bytes.copy(buffer_.get() + used_, bytes.size());
    used_ += bytes.size();
  }

  // The first failure so far. What is written directly is out then, for the reader of a pipe; a
  // temporary file has no reader.
  absl::Status Flush();

  // Finishes the file and gives it its name. To be called once, last.
  [[nodiscard]] absl::Status Commit();

  // Whether everything went well so far.
  bool ok() const { return status_.ok(); }

  // Bytes appended so far.
  uint64_t size() const { return written_ + (writing_.valid() ? capacity_ : 0) + used_; }

 private:
  explicit OutputFile(std::string path) : path_(std::move(path)) {}
  absl::Status OpenTemporary();
  absl::Status GiveName();
  absl::Status Failure(std::string_view what) const;
  void AppendSlowly(std::string_view bytes);
  void WriteFullBuffer();
  void FinishWriteBehind();
  void WriteAll(std::string_view bytes);
  void SetUncached(bool uncached);

  std::string path_;       // as the user wrote it, for messages
  std::string target_;     // what is replaced; empty when written directly
  std::string temporary_;  // the temporary's name; empty while it is nameless
  int fd_ = -1;
  HugeArray<char> buffer_;
  size_t capacity_ = 0;  // of each buffer
  size_t used_ = 0;
  uint64_t written_ = 0;
  bool uncached_ = false;         // writes go past the page cache, ...
  HugeArray<char> behind_;        // ... from this buffer ...
  std::future<ssize_t> writing_;  // ... while the other one is filled
  std::chrono::steady_clock::duration waited_{};
  absl::Status status_;
};

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_OUTPUT_FILE_H_

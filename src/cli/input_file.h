// A file that is read from start to end.
#ifndef ESCALONA_CLI_INPUT_FILE_H_
#define ESCALONA_CLI_INPUT_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "cli/line_reader.h"

namespace escalona::cli {

// The bytes of a file, or of standard input for "-". Not thread safe.
class InputFile : public ByteSource {
 public:
  static absl::StatusOr<InputFile> Open(const std::string& path);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile() override;

  absl::StatusOr<size_t> Read(std::span<char> buffer) override;

  uint64_t size() const { return size_; }          // 0 when it cannot be known beforehand
  uint64_t position() const { return position_; }  // bytes read
  // Whether `path` names this very file.
  bool IsSameAs(const std::string& path) const;

 private:
  explicit InputFile(std::string path) : path_(std::move(path)) {}

  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
  uint64_t position_ = 0;
};

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_INPUT_FILE_H_

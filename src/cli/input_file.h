// A file that is read from start to end.
#ifndef ESCALONA_CLI_INPUT_FILE_H_
#define ESCALONA_CLI_INPUT_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "cli/line_reader.h"

namespace escalona::cli {

// How the bytes come: kMapped puts a file that has a size into memory as a whole, without reading
// it (see ByteSource::mapping); what is no such file is read all the same. While a file is mapped
// nobody must cut it short: looking at what is gone ends the process, with a message (see
// ExplainVanishedInput).
enum class InputMode { kRead, kMapped };

// The bytes of a file, or of standard input for "-". Not thread safe.
class InputFile : public ByteSource {
 public:
  static absl::StatusOr<InputFile> Open(const std::string& path, InputMode mode = InputMode::kRead);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile() override;

  absl::StatusOr<size_t> Read(std::span<char> buffer) override;
  const char* mapping() const override { return mapping_; }

  uint64_t size() const { return size_; }          // 0 when it cannot be known beforehand
  uint64_t position() const { return position_; }  // bytes read
  // Whether `path` names this very file.
  bool IsSameAs(const std::string& path) const;

 private:
  explicit InputFile(std::string path) : path_(std::move(path)) {}
  void Map();
  size_t ExtendMapping();

  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
  uint64_t position_ = 0;
  const char* mapping_ = nullptr;  // of size_ bytes
};

// From now on, if a mapped file was cut short, the process says so, naming `path`, and ends with
// status 2. `path` must stay.
void ExplainVanishedInput(const char* path);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_INPUT_FILE_H_

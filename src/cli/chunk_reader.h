// A text file, plain or compressed, in large pieces that end at line ends, twice if need be.
#ifndef ESCALONA_CLI_CHUNK_READER_H_
#define ESCALONA_CLI_CHUNK_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct z_stream_s;

namespace escalona::cli {

// Reads a file, or standard input for "-", in chunks of whole lines. A file that starts like gzip
// is decompressed, whatever its name. After Rewind() the same chunks come again; standard input is
// kept in a nameless temporary file for that. Memory: one chunk. Not thread safe.
class ChunkReader {
 public:
  enum class Passes : uint8_t { kOne, kMany };

  static absl::StatusOr<ChunkReader> Open(const std::string& path, Passes passes = Passes::kOne);
  ChunkReader(ChunkReader&& other) noexcept;
  ChunkReader& operator=(ChunkReader&&) = delete;
  ~ChunkReader();

  // What a chunk waits for, where a pipe gives little at a time: to be full, or for one line.
  enum class Fill : uint8_t { kWhole, kWhatCame };

  // Replaces `chunk` by the next lines, with their ends, about `size` bytes of them; a line that is
  // longer comes whole. The last line may have no end. Empty at the end of the file.
  absl::Status Next(std::string& chunk, size_t size = size_t{1} << 20, Fill fill = Fill::kWhole);

  // Whether a pipe has nothing to read at this moment.
  [[nodiscard]] bool WouldWait() const;

  // Some bytes, wherever lines end; 0 at the end of the file. A file is read by this or by Next().
  absl::StatusOr<size_t> Read(char* buffer, size_t size);

  // To the beginning, of a file opened for many passes.
  absl::Status Rewind();

  [[nodiscard]] uint64_t size() const { return size_; }  // of the file on disk; 0 when not known
  [[nodiscard]] uint64_t position() const { return position_; }  // bytes of it read
  // Whether `path` names this very file.
  [[nodiscard]] bool IsSameAs(const std::string& path) const;

 private:
  ChunkReader() = default;
  absl::StatusOr<size_t> Inflate(char* buffer, size_t size);
  absl::StatusOr<size_t> ReadFile(char* buffer, size_t size);
  absl::Status ReadHead();
  absl::Status StartInflate();
  absl::Status Spool();

  int fd_ = -1;
  uint64_t size_ = 0;
  uint64_t position_ = 0;
  std::string head_;  // read, to see what it is, and not given yet
  std::string rest_;  // the beginning of a line that the last chunk did not include
  std::unique_ptr<z_stream_s> inflate_;
  std::unique_ptr<char[]> compressed_;
  bool member_ended_ = false;
};

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_CHUNK_READER_H_

// Reading, decompressing and cutting at line ends.
#include "cli/chunk_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace escalona::cli {
namespace {

constexpr size_t kCompressedBuffer = size_t{256} << 10;
constexpr int kGzipOnly = 16 + MAX_WBITS;
constexpr std::string_view kGzipMagic = "\x1f\x8b";

absl::Status SystemError(const char* what, const char* advice = "") {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno), advice));
}

}  // namespace

absl::StatusOr<ChunkReader> ChunkReader::Open(const std::string& path, Passes passes) {
  ChunkReader reader;
  reader.fd_ = path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (reader.fd_ < 0) {
    return SystemError("cannot be opened",
                       "; give the name of a file you may read, or - for standard input");
  }
  struct stat info {};
  if (fstat(reader.fd_, &info) != 0) return SystemError("cannot be read");
  if (S_ISDIR(info.st_mode))
    return absl::InvalidArgumentError("is a folder; give the name of a file in it");
  if (S_ISREG(info.st_mode) && lseek(reader.fd_, 0, SEEK_CUR) == 0) {
    reader.size_ = static_cast<uint64_t>(info.st_size);
  } else if (passes == Passes::kMany) {
    if (absl::Status status = reader.Spool(); !status.ok()) return status;
  }
  if (absl::Status status = reader.ReadHead(); !status.ok()) return status;
  if (reader.head_ == kGzipMagic) {
    if (absl::Status status = reader.StartInflate(); !status.ok()) return status;
  }
  (void)posix_fadvise(reader.fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
  return reader;
}

ChunkReader::ChunkReader(ChunkReader&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      position_(other.position_),
      head_(std::move(other.head_)),
      rest_(std::move(other.rest_)),
      inflate_(std::move(other.inflate_)),
      compressed_(std::move(other.compressed_)),
      member_ended_(other.member_ended_) {}

ChunkReader::~ChunkReader() {
  if (inflate_ != nullptr) inflateEnd(inflate_.get());
  if (fd_ >= 0) close(fd_);
}

absl::Status ChunkReader::Spool() {
  const char* folder = std::getenv("TMPDIR");
  std::string name = absl::StrCat(folder == nullptr ? "/tmp" : folder, "/escalona-XXXXXX");
  const int copy = mkstemp(name.data());
  if (copy < 0) return SystemError("no temporary file for standard input");
  unlink(name.c_str());
  std::string buffer(size_t{1} << 20, '\0');
  const int source = std::exchange(fd_, copy);
  absl::Status status;
  while (status.ok()) {
    const ssize_t got = read(source, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) status = SystemError("cannot be read");
    if (got <= 0) break;
    for (ssize_t done = 0; done < got && status.ok();) {
      const ssize_t wrote = write(copy, buffer.data() + done, static_cast<size_t>(got - done));
      if (wrote < 0 && errno != EINTR) status = SystemError("standard input cannot be kept");
      done += wrote > 0 ? wrote : 0;
    }
    size_ += static_cast<uint64_t>(got);
  }
  close(source);
  if (status.ok() && lseek(copy, 0, SEEK_SET) != 0) status = SystemError("cannot be read again");
  return status;
}

absl::Status ChunkReader::StartInflate() {
  inflate_ = std::make_unique<z_stream>();
  compressed_ = std::make_unique_for_overwrite<char[]>(kCompressedBuffer);
  if (inflateInit2(inflate_.get(), kGzipOnly) != Z_OK) {
    return absl::ResourceExhaustedError("no memory to decompress");
  }
  return absl::OkStatus();
}

absl::Status ChunkReader::Rewind() {
  if (lseek(fd_, 0, SEEK_SET) != 0) return SystemError("cannot be read again");
  position_ = 0;
  head_.clear();
  rest_.clear();
  member_ended_ = false;
  if (inflate_ == nullptr) return absl::OkStatus();
  inflate_->avail_in = 0;
  inflateReset(inflate_.get());
  return absl::OkStatus();
}

// A pipe cannot be asked for its beginning twice.
absl::Status ChunkReader::ReadHead() {
  std::string head;
  while (head.size() < kGzipMagic.size()) {
    char byte = 0;
    const absl::StatusOr<size_t> got = ReadFile(&byte, 1);
    if (!got.ok()) return got.status();
    if (*got == 0) break;
    head += byte;
  }
  head_ = std::move(head);
  position_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<size_t> ChunkReader::ReadFile(char* buffer, size_t size) {
  if (!head_.empty()) {
    const size_t got = head_.copy(buffer, size);
    head_.erase(0, got);
    position_ += got;
    return got;
  }
  while (true) {
    const ssize_t got = read(fd_, buffer, size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("cannot be read");
    position_ += static_cast<uint64_t>(got);
    return static_cast<size_t>(got);
  }
}

absl::StatusOr<size_t> ChunkReader::Inflate(char* buffer, size_t size) {
  z_stream& stream = *inflate_;
  stream.next_out = reinterpret_cast<Bytef*>(buffer);
  stream.avail_out = static_cast<uInt>(size);
  while (stream.avail_out == size) {
    if (stream.avail_in == 0) {
      absl::StatusOr<size_t> got = ReadFile(compressed_.get(), kCompressedBuffer);
      if (!got.ok()) return got;
      if (*got == 0 && member_ended_) return 0;
      if (*got == 0) return absl::DataLossError("the compressed file ends too early");
      stream.next_in = reinterpret_cast<Bytef*>(compressed_.get());
      stream.avail_in = static_cast<uInt>(*got);
    }
    if (member_ended_) {  // gzip files may be joined end to end
      inflateReset(&stream);
      member_ended_ = false;
    }
    const int code = inflate(&stream, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      member_ended_ = true;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return absl::DataLossError("the compressed file is damaged");
    }
  }
  return size - stream.avail_out;
}

absl::StatusOr<size_t> ChunkReader::Read(char* buffer, size_t size) {
  return inflate_ == nullptr ? ReadFile(buffer, size) : Inflate(buffer, size);
}

bool ChunkReader::WouldWait() const {
  if (inflate_ != nullptr && inflate_->avail_in > 0) return false;
  pollfd source = {fd_, POLLIN, 0};
  return poll(&source, 1, 0) == 0;
}

absl::Status ChunkReader::Next(std::string& chunk, size_t size, Fill fill) {
  size_t used = rest_.size();
  size_t lines = 0;  // bytes of whole ones
  chunk.resize(std::max(size, 2 * used));
  rest_.copy(chunk.data(), used);
  rest_.clear();
  while (true) {
    absl::StatusOr<size_t> got = Read(chunk.data() + used, chunk.size() - used);
    if (!got.ok()) return got.status();
    if (*got == 0) {
      chunk.resize(used);
      return absl::OkStatus();
    }
    const size_t line_end = std::string_view(chunk).substr(used, *got).rfind('\n');
    if (line_end != std::string_view::npos) lines = used + line_end + 1;
    used += *got;
    if (used < chunk.size() && (fill == Fill::kWhole || lines == 0)) continue;
    if (lines == 0) {
      chunk.resize(2 * chunk.size());
      continue;
    }
    rest_.assign(chunk, lines, used - lines);
    chunk.resize(lines);
    return absl::OkStatus();
  }
}

bool ChunkReader::IsSameAs(const std::string& path) const {
  struct stat mine {};
  struct stat other {};
  return fstat(fd_, &mine) == 0 && stat(path.c_str(), &other) == 0 && mine.st_dev == other.st_dev &&
         mine.st_ino == other.st_ino;
}

}  // namespace escalona::cli

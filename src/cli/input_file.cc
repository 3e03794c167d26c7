#include "cli/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace escalona::cli {
namespace {

absl::Status Failure(int error, const std::string& advice) {
  return {absl::ErrnoToStatusCode(error),
          "cannot be read: " + std::generic_category().message(error) + "; " + advice};
}

}  // namespace

absl::StatusOr<InputFile> InputFile::Open(const std::string& path) {
  InputFile file(path);
  file.fd_ = path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file.fd_ < 0)
    return Failure(errno, "give the name of a file you may read, or - for standard input");
  struct stat about {};
  if (fstat(file.fd_, &about) != 0) return Failure(errno, "give the name of a file");
  if (S_ISDIR(about.st_mode)) return Failure(EISDIR, "give the name of a file in it");
  if (S_ISREG(about.st_mode)) {
    file.size_ = static_cast<uint64_t>(about.st_size);
    posix_fadvise(file.fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      position_(other.position_) {}

InputFile::~InputFile() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<size_t> InputFile::Read(std::span<char> buffer) {
  while (true) {
    const ssize_t n = read(fd_, buffer.data(), buffer.size());
    if (n >= 0) {
      position_ += static_cast<uint64_t>(n);
      return static_cast<size_t>(n);
    }
    if (errno != EINTR) return Failure(errno, "check the disk or the pipe it comes from");
  }
}

bool InputFile::IsSameAs(const std::string& path) const {
  struct stat mine {
  }, other{};
  return fstat(fd_, &mine) == 0 && stat(path.c_str(), &other) == 0 && S_ISREG(mine.st_mode) &&
         mine.st_dev == other.st_dev && mine.st_ino == other.st_ino;
}

}  // namespace escalona::cli

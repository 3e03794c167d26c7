#include "cli/input_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

namespace escalona::cli {
namespace {

absl::Status Failure(int error, const std::string& advice) {
  return {absl::ErrnoToStatusCode(error),
          "cannot be read: " + std::generic_category().message(error) + "; " + advice};
}

// Bytes of a mapping that are announced, and brought in, at a time.
constexpr uint64_t kWindow = uint64_t{1} << 20;

const char* vanished_path = "";

void SayAll(const char* text) {
  // Nothing is left to do where even this fails.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

void OnVanishedInput(int /*signal*/) {
  SayAll(vanished_path);
  SayAll(":0: the file was cut short while it was read; leave it alone until the run has ended\n");
  _exit(2);
}

}  // namespace

void ExplainVanishedInput(const char* path) {
  vanished_path = path;
  std::signal(SIGBUS, OnVanishedInput);
}

absl::StatusOr<InputFile> InputFile::Open(const std::string& path, InputMode mode) {
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
    if (mode == InputMode::kMapped) file.Map();
  }
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      position_(other.position_),
      mapping_(std::exchange(other.mapping_, nullptr)) {}

InputFile::~InputFile() {
  if (mapping_ != nullptr) munmap(const_cast<char*>(mapping_), size_);
  if (fd_ >= 0) close(fd_);
}

// A file that says it has no bytes may have some nevertheless (in /proc, say): it is read.
void InputFile::Map() {
  if (size_ == 0 || lseek(fd_, 0, SEEK_CUR) != 0) return;
  void* const memory = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd_, 0);
  if (memory != MAP_FAILED) mapping_ = static_cast<const char*>(memory);
}

size_t InputFile::ExtendMapping() {
  const uint64_t size = std::min(kWindow, size_ - position_);
#ifdef MADV_POPULATE_READ
  // Brings a whole window in at once; where the kernel cannot, each page comes when it is touched.
  (void)madvise(const_cast<char*>(mapping_) + position_, size, MADV_POPULATE_READ);
#endif
  position_ += size;
  return size;
}

absl::StatusOr<size_t> InputFile::Read(std::span<char> buffer) {
  if (mapping_ != nullptr) return ExtendMapping();
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

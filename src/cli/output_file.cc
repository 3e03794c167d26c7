#include "cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace escalona::cli {
namespace {

// A pipe's reader should not wait for long; a disk wants much at a time.
constexpr size_t kPipeBuffer = size_t{64} << 10;
constexpr size_t kFileBuffer = size_t{4} << 20;
// How much of a file is cached: a result of a usual size will be read soon.
constexpr uint64_t kCached = 16 * uint64_t{kFileBuffer};
// A disk for which we wait longer than this on the whole is left to the page cache.
constexpr std::chrono::nanoseconds FairWait(uint64_t bytes) {
  return std::chrono::nanoseconds(bytes * 3 / 2) + std::chrono::milliseconds(250);
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

mode_t NewFileMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

absl::Status OutputFile::Failure(std::string_view what) const {
  const int error = errno;
  std::string message = path_ == "-" ? "standard output" : path_;
  message += ": " + std::string(what) + ": " + std::generic_category().message(error);
  if (error == ENOSPC) {
    message += "; free some space or choose another place";
  } else if (error == ENOENT || error == ENOTDIR) {
    message += "; the folder must exist";
  } else {
    message += "; choose another place";
  }
  return {absl::ErrnoToStatusCode(error), message};
}

absl::StatusOr<OutputFile> OutputFile::Create(const std::string& path) {
  OutputFile file(path);
  if (path == "-") {
    file.fd_ = dup(STDOUT_FILENO);
    if (file.fd_ < 0) return file.Failure("cannot be written");
    return file;
  }
  if (path.empty()) {
    return absl::InvalidArgumentError("the name of the output is empty; give one with -o");
  }
  struct stat there {};
  const bool exists = stat(path.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode)) {
    errno = EISDIR;
    return file.Failure("cannot be written");
  }
  if (exists && !S_ISREG(there.st_mode)) {
    file.fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.fd_ < 0) return file.Failure("cannot be written");
    return file;
  }
  if (!exists && lstat(path.c_str(), &there) == 0) {
    // Replacing the link is not what was asked for.
    return absl::NotFoundError(path + ": cannot be written: it is a link that leads nowhere; " +
                               "remove the link or choose another place");
  }
  // A symbolic link stays: the file it points to is replaced.
  std::error_code ignored;
  const std::filesystem::path real = std::filesystem::canonical(path, ignored);
  file.target_ = exists && !ignored ? real.string() : path;
  if (exists && access(path.c_str(), W_OK) != 0) return file.Failure("cannot be written");
  if (absl::Status opened = file.OpenTemporary(); !opened.ok()) return opened;
  fchmod(file.fd_, exists ? there.st_mode & 07777 : NewFileMode());
  return file;
}

absl::Status OutputFile::OpenTemporary() {
  fd_ = open(FolderOf(target_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ >= 0) return absl::OkStatus();
  if (errno != EOPNOTSUPP && errno != EISDIR) return Failure("cannot be written");
  temporary_ = target_ + ".XXXXXX";
  fd_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd_ >= 0) return absl::OkStatus();
  temporary_.clear();
  return Failure("cannot be written");
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, "")),
      fd_(std::exchange(other.fd_, -1)),
      buffer_(std::move(other.buffer_)),
      capacity_(std::exchange(other.capacity_, 0)),
      used_(std::exchange(other.used_, 0)),
      written_(other.written_),
      uncached_(other.uncached_),
      behind_(std::move(other.behind_)),
      writing_(std::move(other.writing_)),
      waited_(other.waited_),
      status_(std::move(other.status_)) {}

OutputFile::~OutputFile() {
  if (writing_.valid()) writing_.wait();
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::AppendSlowly(std::string_view bytes) {
  if (buffer_ == nullptr) {
    capacity_ = target_.empty() ? kPipeBuffer : kFileBuffer;
    buffer_.reset(AllocateHuge<char>(capacity_));
  }
  while (bytes.size() > capacity_ - used_) {
    const size_t part = bytes.copy(buffer_.get() + used_, capacity_ - used_);
    used_ += part;
    bytes.remove_prefix(part);
    WriteFullBuffer();
  }
  used_ += bytes.copy(buffer_.get() + used_, bytes.size());
}

absl::Status OutputFile::Flush() {
  if (target_.empty()) WriteAll(std::string_view(buffer_.get(), std::exchange(used_, 0)));
  return status_;
}

void OutputFile::WriteFullBuffer() {
  FinishWriteBehind();
  // Reached exactly, since a file is written in whole buffers until its end.
  if (written_ == kCached && !target_.empty()) SetUncached(true);
  used_ = 0;
  if (!uncached_) return WriteAll(std::string_view(buffer_.get(), capacity_));
  if (behind_ == nullptr) behind_.reset(AllocateHuge<char>(capacity_));
  std::swap(buffer_, behind_);
  writing_ = std::async(std::launch::async, write, fd_, behind_.get(), capacity_);
}

// What such a write left, for whatever reason, goes through the cache; if the reason is still there
// it comes to light then.
void OutputFile::FinishWriteBehind() {
  if (!writing_.valid()) return;
  const auto start = std::chrono::steady_clock::now();
  const auto done = static_cast<size_t>(std::max<ssize_t>(writing_.get(), 0));
  waited_ += std::chrono::steady_clock::now() - start;
  written_ += done;
  if (done == capacity_ && waited_ < FairWait(written_ - kCached)) return;
  SetUncached(false);
  WriteAll(std::string_view(behind_.get() + done, capacity_ - done));
}

void OutputFile::WriteAll(std::string_view bytes) {
  while (!bytes.empty() && status_.ok()) {
    const ssize_t n = write(fd_, bytes.data(), bytes.size());
    if (n > 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
      written_ += static_cast<uint64_t>(n);
    } else if (errno != EINTR) {
      status_ = Failure("cannot be written");
    }
  }
}

// Where the file system cannot, writes stay cached.
void OutputFile::SetUncached(bool uncached) {
  const int flags = fcntl(fd_, F_GETFL) & ~O_DIRECT;
  uncached_ = fcntl(fd_, F_SETFL, uncached ? flags | O_DIRECT : flags) == 0 && uncached;
}

absl::Status OutputFile::GiveName() {
  if (temporary_.empty()) {
    const std::string self = "/proc/self/fd/" + std::to_string(fd_);
    const std::string stem = target_ + ".tmp" + std::to_string(getpid());
    for (int attempt = 0; temporary_.empty(); ++attempt) {
      const std::string name = stem + "." + std::to_string(attempt);
      if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
        temporary_ = name;
      } else if (errno != EEXIST) {
        return Failure("cannot be written");
      }
    }
  }
  if (rename(temporary_.c_str(), target_.c_str()) != 0) return Failure("cannot be replaced");
  temporary_.clear();
  return absl::OkStatus();
}

absl::Status OutputFile::Commit() {
  FinishWriteBehind();
  if (uncached_) SetUncached(false);  // the end is no whole block
  WriteAll(std::string_view(buffer_.get(), std::exchange(used_, 0)));
  if (!status_.ok()) return status_;
  if (!target_.empty()) {
    if (absl::Status named = GiveName(); !named.ok()) return named;
  }
  if (close(std::exchange(fd_, -1)) != 0) return Failure("cannot be written");
  return absl::OkStatus();
}

}  // namespace escalona::cli

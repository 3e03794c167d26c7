// Locks a data folder and checks its format.
#include "store/data_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

namespace escalona::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormatWords = "escalona data ";

std::string ErrorText() { return std::strerror(errno); }  // NOLINT(concurrency-mt-unsafe)

// Writes a file such that after a crash it is there as a whole or not at all.
absl::Status WriteFile(const std::string& folder, const std::string& name, std::string_view text) {
  const std::string path = folder + "/" + name;
  const std::string unfinished = path + ".new";
  const int file = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool done = file >= 0 && write(file, text.data(), text.size()) == ssize_t(text.size()) &&
              fsync(file) == 0;
  if (file >= 0) done = close(file) == 0 && done;
  done = done && rename(unfinished.c_str(), path.c_str()) == 0;
  const int directory = done ? open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (directory >= 0) {
    done = fsync(directory) == 0;
    close(directory);
  }
  if (done) return absl::OkStatus();
  return absl::InternalError("cannot write " + path + ": " + ErrorText());
}

absl::StatusOr<int> Lock(const std::string& folder) {
  const std::string path = folder + "/LOCK";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return absl::FailedPreconditionError("cannot open " + path + ": " + ErrorText());
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    const bool taken = errno == EWOULDBLOCK;
    const std::string why = ErrorText();
    char holder[32] = {};
    const ssize_t read_bytes = taken ? read(file, holder, sizeof(holder) - 1) : 0;
    close(file);
    if (!taken) return absl::FailedPreconditionError("cannot lock " + path + ": " + why);
    return absl::FailedPreconditionError(
        folder + " is in use by another process" +
        (read_bytes > 0 ? " (number " + std::string(holder) + ")" : "") +
        "; stop that one, or choose another folder with --data");
  }
  const std::string holder = std::to_string(getpid());
  if (ftruncate(file, 0) != 0 || write(file, holder.data(), holder.size()) < 0) {
    // The number only helps people: the lock holds without it.
    errno = 0;
  }
  return file;
}

// What a folder may have in it before it has a FORMAT: a start that was cut off.
bool IsNew(const std::string& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name != "LOCK" && name != "FORMAT.new" && name != "lost+found") return false;
  }
  return true;
}

}  // namespace

absl::Status DataDirectory::CheckFormat(const std::string& folder) {
  const std::string path = folder + "/FORMAT";
  std::error_code missing;
  if (!fs::exists(path, missing)) {
    return absl::FailedPreconditionError(folder +
                                         " has files but no FORMAT: it is no data folder of "
                                         "escalona, or a damaged one; nothing was changed");
  }
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  int version = 0;
  const char* const number = text.data() + std::min(kFormatWords.size(), text.size());
  const auto end = std::from_chars(number, text.data() + text.size(), version);
  if (!text.starts_with(kFormatWords) || end.ec != std::errc() || version < 1 ||
      std::string_view(end.ptr, text.data() + text.size() - end.ptr) != "\n") {
    return absl::DataLossError(path + " is damaged: it should read '" + std::string(kFormatWords) +
                               std::to_string(kFormat) + "'; nothing was changed");
  }
  if (version > kFormat) {
    return absl::FailedPreconditionError(folder + " has format " + std::to_string(version) +
                                         ", made by a newer escalona; this one " + "reads format " +
                                         std::to_string(kFormat) + "; nothing was changed");
  }
  return absl::OkStatus();
}

absl::StatusOr<DataDirectory> DataDirectory::Open(const std::string& path) try {
  std::error_code error;
  fs::create_directories(path, error);
  if (!fs::is_directory(path)) {
    return absl::FailedPreconditionError(
        "cannot make the folder " + path + ": " +
        (error ? error.message() : "there is a file of that name"));
  }
  if (!fs::exists(path + "/FORMAT") && !IsNew(path)) return CheckFormat(path);
  const auto lock = Lock(path);
  if (!lock.ok()) return lock.status();
  DataDirectory directory(path, *lock);
  const absl::Status status =
      fs::exists(path + "/FORMAT")
          ? CheckFormat(path)
          : WriteFile(path, "FORMAT", std::string(kFormatWords) + std::to_string(kFormat) + "\n");
  if (!status.ok()) return status;
  return directory;
} catch (const fs::filesystem_error& error) {
  return absl::FailedPreconditionError(error.what());
}

DataDirectory::DataDirectory(DataDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

DataDirectory& DataDirectory::operator=(DataDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

DataDirectory::~DataDirectory() {
  if (lock_ >= 0) close(lock_);
}

}  // namespace escalona::store

// Locks a data folder and checks its format.
#include "store/data_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "store/store.h"
#include "store/whole_file.h"

namespace escalona::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormatWords = "escalona data ";
constexpr char kStores[] = "STORES";
constexpr const char* kStoreNames[] = {"associations", "frontier"};

std::string ErrorText() { return std::strerror(errno); }  // NOLINT(concurrency-mt-unsafe)

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

bool IsNoted(const std::string& folder, std::string_view store) {
  std::istringstream names(ReadWholeFile(folder + "/" + kStores));
  for (std::string name; names >> name;) {
    if (name == store) return true;
  }
  return false;
}

bool HasStore(const std::string& folder, const char* name) {
  return HoldsRocksStore(folder + "/" + name);
}

absl::Status StoreIsGone(const std::string& folder, const char* name) {
  return absl::DataLossError(folder + "/" + name +
                             " is missing or empty, and it was kept here; nothing was changed; "
                             "restore it from a backup (docs/operations.md), or delete " +
                             folder + "/" + kStores + " to begin with an empty one");
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
  const std::string text = ReadWholeFile(path);
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

absl::Status DataDirectory::CheckStores(const std::string& folder) {
  for (const char* name : kStoreNames) {
    if (IsNoted(folder, name) && !HasStore(folder, name)) return StoreIsGone(folder, name);
  }
  return absl::OkStatus();
}

absl::Status DataDirectory::NoteStores() const {
  std::ostringstream names;
  for (const char* name : kStoreNames) {
    if (HasStore(path_, name)) names << name << '\n';
  }
  if (names.str() == ReadWholeFile(path_ + "/" + kStores)) return absl::OkStatus();
  return WriteWholeFile(path_, kStores, names.str());
}

absl::StatusOr<DataDirectory> DataDirectory::Open(const std::string& path) try {
  std::error_code error;
  fs::create_directories(path, error);
  if (!fs::is_directory(path)) {
    return absl::FailedPreconditionError(
        "cannot make the folder " + path + ": " +
        (error ? error.message() : "there is a file of that name"));
  }
  if (!fs::exists(path + "/FORMAT") && !IsNew(path)) {
    // It has one now if another process is just making the folder.
    if (absl::Status status = CheckFormat(path); !status.ok()) return status;
  }
  const auto lock = Lock(path);
  if (!lock.ok()) return lock.status();
  DataDirectory directory(path, *lock);
  const absl::Status status =
      fs::exists(path + "/FORMAT")
          ? CheckFormat(path)
          : WriteWholeFile(path, "FORMAT",
                           std::string(kFormatWords) + std::to_string(kFormat) + "\n");
  if (!status.ok()) return status;
  if (absl::Status stores = CheckStores(path); !stores.ok()) return stores;
  return directory;
} catch (const fs::filesystem_error& error) {
  return absl::FailedPreconditionError("cannot read " + error.path1().string() + ": " +
                                       error.code().message());
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

// Writes small files under another name first.
#include "store/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

namespace escalona::store {

absl::Status WriteWholeFile(const std::string& folder, const std::string& name,
                            std::string_view text, bool reach_disk) {
  const std::string path = folder + "/" + name;
  const std::string unfinished = path + ".new";
  const int file = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool done = file >= 0 && write(file, text.data(), text.size()) == ssize_t(text.size()) &&
              (!reach_disk || fsync(file) == 0);
  if (file >= 0) done = close(file) == 0 && done;
  done = done && rename(unfinished.c_str(), path.c_str()) == 0;
  const int directory =
      done && reach_disk ? open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (directory >= 0) {
    done = fsync(directory) == 0;
    close(directory);
  }
  if (done) return absl::OkStatus();
  return absl::InternalError("cannot write " + path + ": " +
                             std::strerror(errno));  // NOLINT(concurrency-mt-unsafe)
}

std::string ReadWholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace escalona::store

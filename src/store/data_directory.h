// The folder a server keeps its state in.
#ifndef ESCALONA_STORE_DATA_DIRECTORY_H_
#define ESCALONA_STORE_DATA_DIRECTORY_H_

#include <string>

#include "absl/status/statusor.h"

namespace escalona::store {

// In it stand
//   LOCK           held while a process uses the folder
//   FORMAT         "escalona data 1": what the rest looks like
//   STORES         the names of the stores that were made here; earlier versions had none
//   associations/  the counters' store
//   frontier/      the frontier's store
// One process at a time: the lock goes with the process, however it ends.
class DataDirectory {
 public:
  static constexpr int kFormat = 1;

  // Makes the folder if it is missing. FailedPrecondition: another process uses it, or a newer
  // program made it, or it has files and no FORMAT; DataLoss: FORMAT cannot be understood, or a
  // store is gone. Nothing is changed in a folder that is refused.
  static absl::StatusOr<DataDirectory> Open(const std::string& path);
  // Of a folder that is there: whether its FORMAT is one that Open takes. Takes no lock, changes
  // nothing.
  static absl::Status CheckFormat(const std::string& path);
  // The same of its stores: DataLoss if one that was made is missing or empty.
  static absl::Status CheckStores(const std::string& path);
  DataDirectory(DataDirectory&& other) noexcept;
  DataDirectory& operator=(DataDirectory&& other) noexcept;
  ~DataDirectory();

  // To be called when stores have been made: from now on they must be there.
  [[nodiscard]] absl::Status NoteStores() const;

  const std::string& path() const { return path_; }
  std::string associations() const { return path_ + "/associations"; }
  std::string frontier() const { return path_ + "/frontier"; }

 private:
  DataDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_ = -1;  // the file LOCK
};

}  // namespace escalona::store

#endif  // ESCALONA_STORE_DATA_DIRECTORY_H_

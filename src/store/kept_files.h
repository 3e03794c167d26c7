// The files of a RocksDB database, and a note beside them of what must be there.
#ifndef ESCALONA_STORE_KEPT_FILES_H_
#define ESCALONA_STORE_KEPT_FILES_H_

#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace escalona::store {

// The beginning of a file, as it was when it was last written to the disk.
struct KnownPart {
  uint64_t bytes = 0;
  uint64_t hash = 0;  // FNV-1a; of the list of tables only

  void Add(std::string_view text);
};

// After a crash the list of tables (MANIFEST) may end within a change, and a log within a record:
// RocksDB leaves out what is cut off, and deletes the tables that are not on the list. Damage may
// look the same. The note tells one from the other, because of this invariant: no file is deleted
// before the note says what the deletion rests on, so a crash leaves everything that is noted.
struct FileNote {
  static constexpr char kName[] = "FILES";

  std::string boot;      // the run of the operating system it was written in
  std::string manifest;  // the name of the list of tables; empty if it is not known
  KnownPart list;
  std::map<std::string, uint64_t> logs;  // those there are, and how long they are at least

  // Nothing if there is none that can be understood: folders of earlier versions have none.
  static std::optional<FileNote> Read(const std::string& folder);
  std::string Text() const;
  // DataLoss if something that is noted is missing or was changed. Reads the list of tables.
  absl::Status Check(const std::string& folder) const;
};

// The run of the operating system; empty if it does not tell. Within one, all that was written is
// there, whether it has reached the disk or not.
std::string CurrentBoot();

// What ends the text of every refusal of a store that is damaged.
std::string RestoreRemedy();

// The files of one database. It begins by deleting nothing, because a database that is being opened
// has not shown yet that it is whole; after EndKeeping it keeps the note. Thread-safe.
class KeptFiles : public rocksdb::FileSystemWrapper {
 public:
  // `damaged` is asked when the logs have been read, before anything is written: if it holds,
  // nothing is.
  KeptFiles(std::string folder, std::function<bool()> damaged);

  // The database is open and whole: what is no longer needed can go. Logs that were there before
  // are on the disk then: nobody else would see to that, and later ones mean nothing without them.
  absl::Status EndKeeping();
  // The database is closed: the note says how long its logs are.
  void Close();

  const char* Name() const override { return "escalona.KeptFiles"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override;

  // The folder is locked for as long as this is used, not by the database.
  rocksdb::IOStatus LockFile(const std::string& name, const rocksdb::IOOptions& options,
                             rocksdb::FileLock** lock, rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus UnlockFile(rocksdb::FileLock* lock, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override;

  // Of a file that NewWritableFile made: this much of it has reached the disk.
  void Synced(const std::string& name, const KnownPart& part);

 private:
  // With how long it is.
  rocksdb::IOStatus SyncLog(const std::string& path, uint64_t& bytes);
  // Without `reach_disk` it may be lost, as a whole, with the power. If it cannot be written there
  // is none from then on: an old one could miss files that were rightly deleted.
  void WriteNote(bool reach_disk, bool if_changed = false);

  const std::string folder_;
  const std::function<bool()> damaged_;
  std::atomic<bool> keeping_ = true;
  std::mutex writing_;  // of the note; locked before mutex_
  std::mutex mutex_;    // of what follows
  FileNote note_;
  std::string next_manifest_;  // becomes the list when CURRENT names it
  KnownPart next_list_;
  bool changed_ = false;  // since the note was written
};

}  // namespace escalona::store

#endif  // ESCALONA_STORE_KEPT_FILES_H_

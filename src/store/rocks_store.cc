// The store on RocksDB.
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "store/gate.h"
#include "store/kept_files.h"
#include "store/log_replay.h"
#include "store/store.h"

namespace escalona::store {
namespace {

rocksdb::Slice SliceOf(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view ViewOf(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

absl::Status StatusOf(const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = "store: " + status.ToString();
  if (status.IsCorruption()) return absl::DataLossError(message + "; " + RestoreRemedy());
  if (status.IsNoSpace()) {
    return absl::ResourceExhaustedError(message + "; make room, then start this program again");
  }
  return absl::InternalError(message);
}

// Above every key of ours, for ranges without an end: keys are shorter than this.
const std::string& LastKey() {
  static const std::string* const last = new std::string(4096, '\xFF');
  return *last;
}

class Background : public rocksdb::EventListener {
 public:
  // Where there are few cores, threads that merge files step back for those that serve and those
  // that write tables out, for which writers wait. Not by much: merging must not fall behind.
  void OnCompactionBegin(rocksdb::DB* /*db*/, const rocksdb::CompactionJobInfo& /*job*/) override {
    constexpr int kNice = 5;
    const auto self = static_cast<id_t>(gettid());
    if (getpriority(PRIO_PROCESS, self) < kNice) setpriority(PRIO_PROCESS, self, kNice);
  }

  // A full disk that has room again: RocksDB would go on by itself, and end the process on the way,
  // with an assertion about the log whose last write failed. It goes on when it is opened again
  // (RocksStore::Reopen).
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status /*error*/,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

// The changes in the order of their keys, those of one key as they were: RocksDB finds the place of
// a key near the one before much faster than anywhere. With a range among them, as they were.
std::vector<Batch::Change> InOrder(const Batch& batch) {
  std::vector<Batch::Change> changes;
  bool has_range = false;
  batch.ForEach([&](const Batch::Change& change) {
    has_range |= change.kind == Batch::Kind::kDeleteRange;
    changes.push_back(change);
    return true;
  });
  if (!has_range) {
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Batch::Change& a, const Batch::Change& b) { return a.key < b.key; });
  }
  return changes;
}

// What a folder holds, by the names of its files.
struct Contents {
  bool has_current = false;
  bool has_tables = false;
  int logs = 0;
  bool has_list = false;  // other than the one that a database begins with, before it has CURRENT

  explicit Contents(const std::string& path) {
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator(path, none)) {
      const std::string name = file.path().filename();
      has_current |= name == "CURRENT";
      has_tables |= name.ends_with(".sst");
      has_list |= name.starts_with("MANIFEST-") && name != "MANIFEST-000001";
      if (name.ends_with(".log")) ++logs;
    }
  }
  // RocksDB would begin a new database over what is left of this one.
  bool LacksCurrent() const { return !has_current && (has_tables || has_list || logs > 0); }
};

bool IsEmpty(rocksdb::DB& db) {
  const std::unique_ptr<rocksdb::Iterator> at(db.NewIterator({}));
  at->SeekToFirst();
  return !at->Valid() && at->status().ok();
}

constexpr int kBuffersPerFile = 4;
// More than there are while it works. Each opening makes one, and they are kept until what is in
// them is written to a table.
constexpr int kManyLogs = 16;

struct Unlock {
  void operator()(rocksdb::FileLock* lock) const {
    rocksdb::Env::Default()->UnlockFile(lock).PermitUncheckedError();
  }
};

// A database and what it needs, in the order in which they are made.
struct Opened {
  // Held before anything is read, since what another process is writing would look like damage,
  // and until the note is written.
  std::unique_ptr<rocksdb::FileLock, Unlock> lock;
  std::shared_ptr<LogReplay> replay;
  std::shared_ptr<KeptFiles> files;
  std::unique_ptr<rocksdb::Env> env;
  std::unique_ptr<rocksdb::DB> db;
  bool read_only = false;
};

// Of the disk: when the log was written, or tables.
bool IsFull(const rocksdb::Status& status) {
  return status.IsNoSpace() ||
         (status.IsIncomplete() && status.ToString().find("No space left") != std::string::npos);
}

// Opens the database of a folder that is locked.
absl::Status OpenLocked(const std::string& path, const RocksOptions& options, Opened& opened);

// After a full disk RocksDB takes writes again when it is opened again; the store does that by
// itself, if it is told to. Invariant: what readers see is then what it was.
class RocksStore : public Store {
 public:
  RocksStore(std::string path, RocksOptions options, Opened opened)
      : path_(std::move(path)), options_(std::move(options)), opened_(std::move(opened)) {
    options_.create = false;  // if it is gone when it is opened again, it stays so
  }
  ~RocksStore() override { Close(); }

  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) override {
    const std::shared_lock<Gate> lock(gate_);
    if (opened_.db == nullptr) return closed_;
    std::string value;
    const rocksdb::Status status = opened_.db->Get({}, SliceOf(key), &value);
    if (status.IsNotFound()) return std::optional<std::string>();
    if (!status.ok()) return StatusOf(status);
    return std::optional<std::string>(std::move(value));
  }

  absl::Status Write(const Batch& batch, Reach reach) override {
    if (is_full_) Reopen();
    const std::shared_lock<Gate> lock(gate_);
    if (opened_.db == nullptr) return closed_;
    rocksdb::WriteBatch changes(batch.bytes() + 64);
    rocksdb::Status status;
    for (const Batch::Change& change : InOrder(batch)) {
      switch (change.kind) {
        case Batch::Kind::kPut:
          status = changes.Put(SliceOf(change.key), SliceOf(change.value));
          break;
        case Batch::Kind::kDelete:
          status = changes.Delete(SliceOf(change.key));
          break;
        case Batch::Kind::kDeleteRange:
          // RocksDB takes it for an error that stops all later writes.
          if (IsEmptyRange(change.key, change.value)) break;
          status = changes.DeleteRange(
              opened_.db->DefaultColumnFamily(), SliceOf(change.key),
              change.value.empty() ? rocksdb::Slice(LastKey()) : SliceOf(change.value));
          break;
      }
      if (!status.ok()) return StatusOf(status);
    }
    // Counting comparisons, which RocksDB does per thread unless told otherwise, is a tenth of a
    // put.
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
    rocksdb::WriteOptions options;
    options.sync = reach == Reach::kDisk;
    const rocksdb::Status written = opened_.db->Write(options, &changes);
    if (written.ok()) return absl::OkStatus();
    // Incomplete: tables could not be merged, and it would have had to wait for that.
    if (!written.IsIncomplete()) has_failed_ = true;
    if (!IsFull(written) || !options_.go_on_after_full) return StatusOf(written);
    is_full_ = true;
    return absl::ResourceExhaustedError("store: " + written.ToString() +
                                        "; make room, and it goes on");
  }

  absl::Status Scan(std::string_view begin, std::string_view end,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    const std::shared_lock<Gate> lock(gate_);
    if (opened_.db == nullptr) return closed_;
    const rocksdb::Slice upper = SliceOf(end);
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    options.readahead_size = 2 << 20;
    if (!end.empty()) options.iterate_upper_bound = &upper;
    const std::unique_ptr<rocksdb::Iterator> at(opened_.db->NewIterator(options));
    for (at->Seek(SliceOf(begin)); at->Valid(); at->Next()) {
      if (!visit(ViewOf(at->key()), ViewOf(at->value()))) break;
    }
    return StatusOf(at->status());
  }

  absl::Status ScanFirst(
      std::string_view begin, std::string_view end, uint64_t limit,
      absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    const std::shared_lock<Gate> lock(gate_);
    if (opened_.db == nullptr) return closed_;
    const rocksdb::Slice upper = SliceOf(end);
    rocksdb::ReadOptions options;
    if (!end.empty()) options.iterate_upper_bound = &upper;
    const std::unique_ptr<rocksdb::Iterator> at(opened_.db->NewIterator(options));
    for (at->Seek(SliceOf(begin)); limit > 0 && at->Valid(); at->Next(), --limit) {
      if (!visit(ViewOf(at->key()), ViewOf(at->value()))) break;
    }
    return StatusOf(at->status());
  }

  absl::Status MultiGet(
      std::span<const std::string_view> keys,
      absl::FunctionRef<void(size_t, std::optional<std::string_view>)> visit) override {
    const std::shared_lock<Gate> lock(gate_);
    if (opened_.db == nullptr) return closed_;
    const size_t count = keys.size();
    std::vector<rocksdb::Slice> slices(count);
    for (size_t i = 0; i < count; ++i) slices[i] = SliceOf(keys[i]);
    std::vector<rocksdb::PinnableSlice> values(count);
    std::vector<rocksdb::Status> statuses(count);
    opened_.db->MultiGet({}, opened_.db->DefaultColumnFamily(), count, slices.data(), values.data(),
                         statuses.data());
    for (size_t i = 0; i < count; ++i) {
      if (!statuses[i].ok() && !statuses[i].IsNotFound()) return StatusOf(statuses[i]);
      visit(i,
            statuses[i].ok() ? std::optional<std::string_view>(ViewOf(values[i])) : std::nullopt);
    }
    return absl::OkStatus();
  }

  absl::Status Sync() override {
    const std::shared_lock<Gate> lock(gate_);
    if (opened_.db == nullptr) return closed_;
    // Debian's RocksDB has its assertions on, and ends the process if a log is synced whose last
    // write failed.
    if (has_failed_) {
      return absl::UnavailableError("store: a write failed; there is nothing to sync");
    }
    return StatusOf(opened_.db->SyncWAL());
  }

  uint64_t Bytes() override {
    const std::shared_lock<Gate> lock(gate_);
    if (opened_.db == nullptr) return 0;
    uint64_t tables = 0;
    uint64_t buffered = 0;
    opened_.db->GetIntProperty(rocksdb::DB::Properties::kTotalSstFilesSize, &tables);
    opened_.db->GetIntProperty(rocksdb::DB::Properties::kSizeAllMemTables, &buffered);
    return tables + buffered;
  }

  absl::Status Compact() override {
    const std::shared_lock<Gate> lock(gate_);
    if (opened_.db == nullptr) return closed_;
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
    return StatusOf(opened_.db->CompactRange(options, nullptr, nullptr));
  }

 private:
  void Close() {
    if (opened_.db == nullptr) return;
    // Then the note says of all of the log that it must be there; without, less of it.
    if (!opened_.read_only && !has_failed_) opened_.db->SyncWAL().PermitUncheckedError();
    opened_.db.reset();
    if (!opened_.read_only) opened_.files->Close();
  }

  // If there is room, and nobody reads: a reader may be one who waits for this write.
  void Reopen() {
    constexpr auto kPause = std::chrono::seconds(5);
    std::error_code error;
    const auto space = std::filesystem::space(path_, error);
    if (error || space.available < options_.write_buffer_bytes) return;
    const std::unique_lock<Gate> lock(gate_, std::try_to_lock);
    const auto now = std::chrono::steady_clock::now();
    if (!lock.owns_lock() || !is_full_ || now < next_try_) return;
    next_try_ = now + kPause;
    if (opened_.db != nullptr) last_number_ = opened_.db->GetLatestSequenceNumber();
    Close();
    Opened opened;
    opened.lock = std::move(opened_.lock);
    const absl::Status status = OpenLocked(path_, options_, opened);
    const bool is_same = status.ok() && opened.db->GetLatestSequenceNumber() == last_number_;
    if (!is_same) opened.db.reset();
    opened_ = std::move(opened);
    // Whatever it is, no key is to blame for it.
    if (!status.ok()) closed_ = absl::UnavailableError(status.message());
    if (!status.ok()) return;
    is_full_ = false;
    if (!is_same) {
      // A write that was said to have failed is in the log: its caller does not know.
      closed_ = absl::UnavailableError("store: " + path_ +
                                       " is not as it was before the disk was full; start this "
                                       "program again");
      return;
    }
    has_failed_ = false;
    if (options_.warn) options_.warn("store: there is room again, and " + path_ + " goes on");
  }

  const std::string path_;
  RocksOptions options_;
  Gate gate_;                 // of opened_: exclusively while it is opened again
  Opened opened_;             // without a database: see closed_
  absl::Status closed_;       // guarded by gate_
  uint64_t last_number_ = 0;  // guarded by gate_: of the last change
  std::chrono::steady_clock::time_point next_try_ = {};  // guarded by gate_
  // A write, and so all later ones; one that succeeded before may return after it.
  std::atomic<bool> has_failed_ = false;
  std::atomic<bool> is_full_ = false;  // that is why, and it goes on by itself
};

rocksdb::Options RocksDbOptions(const RocksOptions& options, const Opened& opened) {
  rocksdb::Options rocks;
  rocks.create_if_missing = options.create && !options.read_only;
  // Some small buffers, written to a file together: more of the search for a key's place stays
  // within the processor's cache, and files do not get smaller.
  rocks.write_buffer_size = options.write_buffer_bytes / kBuffersPerFile;
  rocks.min_write_buffer_number_to_merge = kBuffersPerFile;
  rocks.max_write_buffer_number = 2 * kBuffersPerFile + 2;
  // A merge rewrites the whole first level, whether 4 files (as usual) are merged into it or 12.
  rocks.level0_file_num_compaction_trigger = 12;
  // A burst of 20 million URLs leaves more files to be merged than the usual 20, from which on
  // RocksDB would hold writers back to a quarter of their speed.
  rocks.level0_slowdown_writes_trigger = 40;
  rocks.level0_stop_writes_trigger = 60;
  // Ids do not compress.
  rocks.compression = options.compress ? rocksdb::kLZ4Compression : rocksdb::kNoCompression;
  rocks.listeners.push_back(std::make_shared<Background>());
  rocks.avoid_flush_during_recovery = true;    // opening is quicker
  rocks.avoid_unnecessary_blocking_io = true;  // readers delete no files: a note is synced before
  rocks.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  rocks.info_log = opened.replay;
  rocks.wal_filter = opened.replay.get();
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(options.cache_bytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocks.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocks.env = opened.env.get();
  return rocks;
}

// What would be a reset, or lose something in silence, is found before RocksDB opens anything.
absl::Status CheckBefore(const std::string& path, const Contents& contents,
                         const std::optional<FileNote>& note) {
  if (contents.LacksCurrent()) {
    return absl::DataLossError("store: " + path +
                               " has tables or logs, but CURRENT, which names the list of its "
                               "tables, is missing; nothing was changed; " +
                               RestoreRemedy());
  }
  return note ? note->Check(path) : absl::OkStatus();
}

rocksdb::Status OpenDatabase(const std::string& path, const rocksdb::Options& rocks,
                             Opened& opened) {
  rocksdb::DB* db = nullptr;
  rocksdb::Status status = opened.read_only ? rocksdb::DB::OpenForReadOnly(rocks, path, &db)
                                            : rocksdb::DB::Open(rocks, path, &db);
  opened.db.reset(db);
  return status;
}

rocksdb::Status Lock(const std::string& path, bool create, Opened& opened) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  if (create) {
    if (rocksdb::Status made = env->CreateDirIfMissing(path); !made.ok()) return made;
  }
  rocksdb::FileLock* lock = nullptr;
  rocksdb::Status status = env->LockFile(path + "/LOCK", &lock);
  opened.lock.reset(lock);
  return status;
}

absl::Status OpeningFailed(const std::string& path, const rocksdb::Status& status) {
  // Of another process, and of this one; that LOCK cannot be opened is told otherwise.
  for (const char* locked : {"While lock file", "lock hold by current process"}) {
    if (status.IsIOError() && status.ToString().find(locked) != std::string::npos) {
      return absl::FailedPreconditionError("store: " + path +
                                           " is in use; close it there first, or end that process");
    }
  }
  if (status.IsPathNotFound()) {
    return absl::DataLossError("store: " + status.ToString() + "; " + RestoreRemedy());
  }
  return StatusOf(status);
}

// Now what is no longer needed can go.
absl::Status EndOpening(const Contents& contents, Opened& opened) {
  if (opened.read_only || !opened.db->DisableFileDeletions().ok()) return absl::OkStatus();
  if (absl::Status kept = opened.files->EndKeeping(); !kept.ok()) return kept;
  if (const rocksdb::Status purged = opened.db->EnableFileDeletions(true); !purged.ok()) {
    return StatusOf(purged);
  }
  if (contents.logs <= kManyLogs) return absl::OkStatus();
  return StatusOf(opened.db->Flush({}));
}

absl::Status OpenLocked(const std::string& path, const RocksOptions& options, Opened& opened) {
  const Contents contents(path);
  const std::optional<FileNote> note = FileNote::Read(path);
  if (absl::Status status = CheckBefore(path, contents, note); !status.ok()) return status;
  // What was written since the system was started is there, as long as nobody damages it.
  const bool all_is_there = note && !note->boot.empty() && note->boot == CurrentBoot();
  opened.read_only = options.read_only;
  opened.replay = std::make_shared<LogReplay>(path);
  opened.files = std::make_shared<KeptFiles>(path, [replay = opened.replay, all_is_there] {
    return all_is_there && !replay->Damage().empty();
  });
  opened.env = rocksdb::NewCompositeEnv(opened.files);
  const rocksdb::Status status = OpenDatabase(path, RocksDbOptions(options, opened), opened);
  if (const std::string damage = opened.replay->Damage(); all_is_there && !damage.empty()) {
    return absl::DataLossError(
        "store: the log " + path + "/" + damage +
        " cannot be read: it is damaged, and what was written since would be "
        "lost; " +
        RestoreRemedy() + ", or copy the folder and then delete " + path + "/" + FileNote::kName +
        " to go on without that");
  }
  if (!status.ok()) return OpeningFailed(path, status);
  if (!note && contents.has_tables && IsEmpty(*opened.db)) {
    return absl::DataLossError("store: " + path +
                               ": the list of its tables (MANIFEST) is damaged: there are tables, "
                               "and none is on it; " +
                               RestoreRemedy());
  }
  if (const std::string left_out = opened.replay->LeftOut(); options.warn && !left_out.empty()) {
    options.warn("store: the log " + path + "/" + left_out +
                 " cannot be read and is left out: what was being written when the process or the "
                 "machine failed, or damage");
  }
  return EndOpening(contents, opened);
}

}  // namespace

bool HoldsRocksStore(const std::string& path) {
  const Contents contents(path);
  return contents.has_current || contents.LacksCurrent();
}

absl::StatusOr<std::unique_ptr<Store>> OpenRocksStore(const std::string& path,
                                                      const RocksOptions& options) {
  Opened opened;
  const bool create = options.create && !options.read_only;
  if (const rocksdb::Status locked = Lock(path, create, opened); !locked.ok()) {
    return OpeningFailed(path, locked);
  }
  if (absl::Status status = OpenLocked(path, options, opened); !status.ok()) return status;
  return std::make_unique<RocksStore>(path, options, std::move(opened));
}

}  // namespace escalona::store

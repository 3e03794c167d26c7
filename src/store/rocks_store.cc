// The store on RocksDB.
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "store/store.h"

namespace escalona::store {
namespace {

rocksdb::Slice SliceOf(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view ViewOf(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

absl::Status StatusOf(const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = "store: " + status.ToString();
  if (status.IsCorruption()) return absl::DataLossError(message);
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

// RocksDB's own log of what it does would stand in the same folder, and Debian's RocksDB, which has
// its assertions on, ends the process when that file cannot be written: on a full disk.
class NoLog : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

// A full disk that has room again: RocksDB would go on by itself, and end the process on the way,
// with an assertion about the log whose last write failed. It goes on when it is opened again.
class NoRecovery : public rocksdb::EventListener {
 public:
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

// The files of this process, of which none is deleted while a database is opened: RocksDB takes a
// list of tables that was cut off for a shorter list, and would delete the tables that are not on
// it before anybody can see that they are missing.
class KeepingFiles : public rocksdb::FileSystemWrapper {
 public:
  KeepingFiles() : rocksdb::FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "escalona.KeepingFiles"; }
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override {
    return keeping_ ? rocksdb::IOStatus::OK()
                    : FileSystemWrapper::DeleteFile(name, options, context);
  }
  void EndKeeping() { keeping_ = false; }

 private:
  std::atomic<bool> keeping_ = true;
};

bool HasTables(const std::string& path) {
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(path, none)) {
    if (file.path().extension() == ".sst") return true;
  }
  return false;
}

bool IsEmpty(rocksdb::DB& db) {
  const std::unique_ptr<rocksdb::Iterator> at(db.NewIterator({}));
  at->SeekToFirst();
  return !at->Valid() && at->status().ok();
}

constexpr int kBuffersPerFile = 4;

class RocksStore : public Store {
 public:
  RocksStore(std::unique_ptr<rocksdb::Env> env, std::unique_ptr<rocksdb::DB> db)
      : env_(std::move(env)), db_(std::move(db)) {}

  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) override {
    std::string value;
    const rocksdb::Status status = db_->Get({}, SliceOf(key), &value);
    if (status.IsNotFound()) return std::optional<std::string>();
    if (!status.ok()) return StatusOf(status);
    return std::optional<std::string>(std::move(value));
  }

  absl::Status Write(const Batch& batch, Reach reach) override {
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
              db_->DefaultColumnFamily(), SliceOf(change.key),
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
    const rocksdb::Status written = db_->Write(options, &changes);
    failing_.store(!written.ok(), std::memory_order_relaxed);
    return StatusOf(written);
  }

  absl::Status Scan(std::string_view begin, std::string_view end,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    const rocksdb::Slice upper = SliceOf(end);
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    options.readahead_size = 2 << 20;
    if (!end.empty()) options.iterate_upper_bound = &upper;
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(options));
    for (at->Seek(SliceOf(begin)); at->Valid(); at->Next()) {
      if (!visit(ViewOf(at->key()), ViewOf(at->value()))) break;
    }
    return StatusOf(at->status());
  }

  absl::Status ScanFirst(
      std::string_view begin, std::string_view end, uint64_t limit,
      absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    const rocksdb::Slice upper = SliceOf(end);
    rocksdb::ReadOptions options;
    if (!end.empty()) options.iterate_upper_bound = &upper;
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(options));
    for (at->Seek(SliceOf(begin)); limit > 0 && at->Valid(); at->Next(), --limit) {
      if (!visit(ViewOf(at->key()), ViewOf(at->value()))) break;
    }
    return StatusOf(at->status());
  }

  absl::Status MultiGet(
      std::span<const std::string_view> keys,
      absl::FunctionRef<void(size_t, std::optional<std::string_view>)> visit) override {
    const size_t count = keys.size();
    std::vector<rocksdb::Slice> slices(count);
    for (size_t i = 0; i < count; ++i) slices[i] = SliceOf(keys[i]);
    std::vector<rocksdb::PinnableSlice> values(count);
    std::vector<rocksdb::Status> statuses(count);
    db_->MultiGet({}, db_->DefaultColumnFamily(), count, slices.data(), values.data(),
                  statuses.data());
    for (size_t i = 0; i < count; ++i) {
      if (!statuses[i].ok() && !statuses[i].IsNotFound()) return StatusOf(statuses[i]);
      visit(i,
            statuses[i].ok() ? std::optional<std::string_view>(ViewOf(values[i])) : std::nullopt);
    }
    return absl::OkStatus();
  }

  absl::Status Sync() override {
    // Debian's RocksDB has its assertions on, and ends the process if a log is synced whose last
    // write failed.
    if (failing_.load(std::memory_order_relaxed)) {
      return absl::UnavailableError("store: the last write failed; there is nothing to sync");
    }
    return StatusOf(db_->SyncWAL());
  }

  uint64_t Bytes() override {
    uint64_t tables = 0;
    uint64_t buffered = 0;
    db_->GetIntProperty(rocksdb::DB::Properties::kTotalSstFilesSize, &tables);
    db_->GetIntProperty(rocksdb::DB::Properties::kSizeAllMemTables, &buffered);
    return tables + buffered;
  }

  absl::Status Compact() override {
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
    return StatusOf(db_->CompactRange(options, nullptr, nullptr));
  }

 private:
  const std::unique_ptr<rocksdb::Env> env_;
  const std::unique_ptr<rocksdb::DB> db_;
  std::atomic<bool> failing_ = false;  // the last write failed
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenRocksStore(const std::string& path,
                                                      const RocksOptions& options) {
  rocksdb::Options rocks;
  rocks.create_if_missing = options.create;
  // Some small buffers, written to a file together: more of the search for a key's place stays
  // within the processor's cache, and files do not get smaller.
  rocks.write_buffer_size = options.write_buffer_bytes / kBuffersPerFile;
  rocks.min_write_buffer_number_to_merge = kBuffersPerFile;
  rocks.max_write_buffer_number = 2 * kBuffersPerFile + 2;
  // Ids do not compress.
  rocks.compression = options.compress ? rocksdb::kLZ4Compression : rocksdb::kNoCompression;
  rocks.info_log = std::make_shared<NoLog>();
  rocks.listeners.push_back(std::make_shared<NoRecovery>());
  rocks.avoid_flush_during_recovery = true;  // opening is quicker
  rocks.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(options.cache_bytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocks.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  const bool has_tables = HasTables(path);
  const auto files = std::make_shared<KeepingFiles>();
  std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(files);
  rocks.env = env.get();
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(rocks, path, &opened);
  std::unique_ptr<rocksdb::DB> db(opened);
  if (status.ok() && has_tables && IsEmpty(*db)) {
    return absl::DataLossError("store: " + path +
                               ": the list of its tables (MANIFEST) is damaged: there are tables, "
                               "and none is on it; restore a backup");
  }
  if (status.ok()) {
    // Now what is no longer needed can go.
    if (db->DisableFileDeletions().ok()) {
      files->EndKeeping();
      if (const rocksdb::Status purged = db->EnableFileDeletions(true); !purged.ok()) {
        return StatusOf(purged);
      }
    }
    return std::make_unique<RocksStore>(std::move(env), std::move(db));
  }
  // Of another process, and of this one; that LOCK cannot be opened is told otherwise.
  for (const char* locked : {"While lock file", "lock hold by current process"}) {
    if (status.IsIOError() && status.ToString().find(locked) != std::string::npos) {
      return absl::FailedPreconditionError("store: " + path +
                                           " is in use; close it there first, or end that process");
    }
  }
  return StatusOf(status);
}

}  // namespace escalona::store

// What RocksDB could not read of its logs.
#ifndef ESCALONA_STORE_LOG_REPLAY_H_
#define ESCALONA_STORE_LOG_REPLAY_H_

#include <rocksdb/env.h>
#include <rocksdb/wal_filter.h>

#include <cstdarg>
#include <cstdint>
#include <mutex>
#include <string>

namespace escalona::store {

// Listens while a database is opened. The state found is that of one moment, before the first place
// that cannot be read; RocksDB tells of such places only in its own log. A process that is killed
// leaves at most one: a record that ends too early, in the last log, or in one that the next log
// goes on from. Everything else is damage, unless the machine failed as well.
//
// It is RocksDB's log too: that would stand in the same folder, and Debian's RocksDB, which has its
// assertions on, ends the process when that file cannot be written: on a full disk.
class LogReplay : public rocksdb::Logger, public rocksdb::WalFilter {
 public:
  // Made before the database is opened, which adds a log.
  explicit LogReplay(const std::string& folder);

  // What is damaged; empty if nothing is.
  std::string Damage();
  // What was left out; empty if nothing was.
  std::string LeftOut();

  const char* Name() const override { return "escalona.LogReplay"; }
  using rocksdb::Logger::Logv;
  [[gnu::format(printf, 2, 0)]] void Logv(const char* format, va_list arguments) override;
  WalProcessingOption LogRecordFound(unsigned long long log, const std::string& name,
                                     const rocksdb::WriteBatch& batch, rocksdb::WriteBatch* changed,
                                     bool* is_changed) override;

 private:
  const uint64_t last_there_;  // the last log with something in it
  std::mutex mutex_;           // of what follows
  std::string damage_;         // the first
  std::string left_out_;       // the first
  uint64_t unread_log_ = 0;    // the last in which something was left out
  uint64_t next_ = 0;          // the number the next record should have; 0: any
};

}  // namespace escalona::store

#endif  // ESCALONA_STORE_LOG_REPLAY_H_

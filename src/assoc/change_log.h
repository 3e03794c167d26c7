// The changes of a counter in the order they happened, written ahead of its lists.
#ifndef ESCALONA_ASSOC_CHANGE_LOG_H_
#define ESCALONA_ASSOC_CHANGE_LOG_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "escalona/event_window.h"
#include "store/store.h"

namespace escalona::assoc {

// What happened to one associator.
struct Change {
  enum class Kind : uint8_t { kIncrement, kDeletePair, kDeleteAssociator };
  Kind kind = Kind::kIncrement;
  std::string associator;
  std::string key;      // of no kDeleteAssociator
  uint64_t weight = 1;  // of kIncrement
};

// One byte (kind, and whether a weight other than 1 follows), the weight, and the keys: 35 bytes
// for an increment of GUIDs or 16-byte keys.
void AppendChange(Change::Kind kind, std::string_view associator, std::string_view key,
                  uint64_t weight, std::string& bytes);
// Takes a change off the front of `bytes`; false if there is none.
bool TakeChange(std::string_view& bytes, Change& change);
// The same, without making strings: only whom it is about, as a view into `bytes`, or into `text`,
// where a spelling has to be made.
bool PassChange(std::string_view& bytes, std::string_view& associator, std::string& text);

// The id of the event that was counted by the changes before it, in the same record: 17 bytes. It
// has a number like a change.
void AppendEvent(const EventId& id, std::string& bytes);
// Takes one off the front of `bytes`; false, and `bytes` stays, if there is none.
bool TakeEvent(std::string_view& bytes, EventId& id);

// Changes are numbered 1, 2, ... in the order of Append. What several threads append while the
// store is writing goes out together as one record, so that one trip to the disk serves them all.
//
// Invariant: the store has, of the changes appended since the last Truncate, those up to some
// number and no others. After a failed write every Commit fails: what is in memory is ahead of the
// store.
class ChangeLog {
 public:
  struct Options {
    std::string prefix;  // of the records' keys
    store::Reach reach = store::Reach::kOs;
    size_t gather_bytes = 0;  // Commit leaves changes in memory until there are as many bytes
    bool enabled = true;      // false: changes are numbered only
  };

  ChangeLog(store::Store& store, Options options);
  ChangeLog(const ChangeLog&) = delete;
  ChangeLog& operator=(const ChangeLog&) = delete;

  // Numbers `count` changes, encoded in `changes`; returns the number of the last.
  uint64_t Append(std::string_view changes, uint64_t count);
  // Returns when all changes up to `number` are as safe as the log makes them.
  absl::Status Commit(uint64_t number);
  // Writes everything appended so far, whatever gather_bytes says.
  absl::Status Flush();
  // The same; returns the number of the last change written, with which a record ends, so that
  // Truncate may cut there.
  absl::StatusOr<uint64_t> FlushAll();

  uint64_t last() const;
  // Numbers go on after `number`; before the first Append.
  void ContinueAfter(uint64_t number);

  // Gives each record in order: its changes, and the number of the first, and is told how many they
  // are, or an error. DataLoss if a key is none.
  absl::Status Replay(
      absl::FunctionRef<absl::StatusOr<uint64_t>(uint64_t first, std::string_view changes)> take);
  // Adds to `batch` the removal of all changes up to `number`.
  void Truncate(uint64_t number, store::Batch& batch) const;

 private:
  std::string KeyOf(uint64_t number) const;
  // Keeps due_ up to date: whether Commit has anything to do. mutex_ is held.
  void NoteDue();
  absl::Status WriteUpTo(uint64_t number, std::unique_lock<std::mutex>& lock);

  store::Store& store_;
  const Options options_;

  mutable std::mutex mutex_;
  std::condition_variable written_;
  std::string pending_;         // guarded by mutex_, as are the others
  uint64_t pending_first_ = 1;  // the number of the first change in pending_
  uint64_t last_ = 0;
  uint64_t committed_ = 0;
  bool writing_ = false;
  absl::Status failed_;
  std::atomic<bool> due_ = false;  // written under mutex_
};

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_CHANGE_LOG_H_

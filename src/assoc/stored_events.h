// The event ids of a counter's window, as far as they are no longer in its log.
#ifndef ESCALONA_ASSOC_STORED_EVENTS_H_
#define ESCALONA_ASSOC_STORED_EVENTS_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "escalona/event_window.h"
#include "store/store.h"

namespace escalona::assoc {

// In the store: prefix, number (8 bytes) -> ids of 16 bytes in the order of their numbers in the
// log, of which the key has that of the first. The log has an id until a checkpoint cuts the log;
// with the same batch it comes here.
//
// Thread-safe, but for Save and Saved: one checkpoint at a time.
class StoredEvents {
 public:
  StoredEvents(store::Store& store, std::string prefix)
      : store_(store), prefix_(std::move(prefix)) {}

  // Gives all ids, the oldest first. DataLoss if a row is none.
  absl::Status Load(absl::FunctionRef<void(const EventId& id)> take);
  // The number of the newest row in the store, or 0: those of the log must go on after it.
  uint64_t newest() const { return rows_.empty() ? 0 : rows_.back().number; }
  // The log has this id under this number.
  void Note(uint64_t number, const EventId& id);
  // Adds to `batch` the ids that were noted with numbers up to this one, but no more than the
  // newest `capacity`, and the removal of rows that are older than `capacity` ids.
  void Save(uint64_t number, size_t capacity, store::Batch& batch);
  // The batch has been written.
  void Saved();

 private:
  struct Row {
    uint64_t number;  // of its first id
    uint64_t ids;
  };

  std::string KeyOf(uint64_t number) const;

  store::Store& store_;
  const std::string prefix_;
  std::deque<Row> rows_;  // in the store
  // What Saved does.
  std::vector<Row> new_rows_;
  size_t old_rows_ = 0;
  size_t saved_ = 0;  // of noted_

  std::mutex mutex_;
  std::vector<std::pair<uint64_t, EventId>> noted_;  // guarded by mutex_
};

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_STORED_EVENTS_H_

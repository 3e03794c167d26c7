// Rows of event ids.
#include "assoc/stored_events.h"

#include <algorithm>
#include <string_view>

#include "base/big_endian.h"

namespace escalona::assoc {
namespace {

constexpr size_t kIdBytes = 16;
constexpr size_t kRowIds = 4096;

// Takes a row apart; false if it is none.
bool TakeRow(std::string_view key, std::string_view ids, uint64_t& number,
             absl::FunctionRef<void(const EventId& id)> take) {
  if (!TakeBigEndian(key, 8, number) || !key.empty()) return false;
  if (ids.empty() || ids.size() % kIdBytes != 0) return false;
  EventId id;
  while (TakeBigEndian(ids, 8, id[0]) && TakeBigEndian(ids, 8, id[1])) take(id);
  return true;
}

}  // namespace

std::string StoredEvents::KeyOf(uint64_t number) const {
  std::string key = prefix_;
  AppendBigEndian(number, 8, key);
  return key;
}

absl::Status StoredEvents::Load(absl::FunctionRef<void(const EventId& id)> take) {
  absl::Status status;
  const absl::Status scanned =
      store_.ScanPrefix(prefix_, [&](std::string_view key, std::string_view bytes) {
        uint64_t number = 0;
        if (!TakeRow(key.substr(prefix_.size()), bytes, number, take)) {
          status = absl::DataLossError("stored event ids: a row that is no list of ids");
          return false;
        }
        rows_.push_back({number, bytes.size() / kIdBytes});
        return true;
      });
  return scanned.ok() ? status : scanned;
}

void StoredEvents::Note(uint64_t number, const EventId& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  noted_.emplace_back(number, id);
}

void StoredEvents::Save(uint64_t number, size_t capacity, store::Batch& batch) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Threads note what they appended to the log a little later, and not always in that order.
  std::sort(noted_.begin(), noted_.end());
  const auto end = std::partition_point(noted_.begin(), noted_.end(),
                                        [&](const auto& noted) { return noted.first <= number; });
  saved_ = static_cast<size_t>(end - noted_.begin());
  new_rows_.clear();
  uint64_t kept = std::min(saved_, capacity);
  for (auto at = end - static_cast<ptrdiff_t>(kept); at != end;) {
    const uint64_t first = at->first;
    std::string ids;
    for (; at != end && ids.size() < kRowIds * kIdBytes; ++at) {
      for (const uint64_t word : at->second) AppendBigEndian(word, 8, ids);
    }
    batch.Put(KeyOf(first), ids);
    new_rows_.push_back({first, ids.size() / kIdBytes});
  }
  for (const Row& row : rows_) kept += row.ids;
  old_rows_ = 0;
  for (; old_rows_ < rows_.size() && kept - rows_[old_rows_].ids >= capacity; ++old_rows_) {
    kept -= rows_[old_rows_].ids;
    batch.Delete(KeyOf(rows_[old_rows_].number));
  }
}

void StoredEvents::Saved() {
  rows_.erase(rows_.begin(), rows_.begin() + static_cast<ptrdiff_t>(old_rows_));
  rows_.insert(rows_.end(), new_rows_.begin(), new_rows_.end());
  const std::lock_guard<std::mutex> lock(mutex_);
  noted_.erase(noted_.begin(), noted_.begin() + static_cast<ptrdiff_t>(saved_));
}

}  // namespace escalona::assoc

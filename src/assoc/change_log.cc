// The write-ahead log of a counter.
#include "assoc/change_log.h"

#include <algorithm>
#include <utility>

#include "assoc/key.h"
#include "assoc/packed_key.h"
#include "base/big_endian.h"
#include "base/varint.h"

namespace escalona::assoc {
namespace {

constexpr uint8_t kHasWeight = 0x80;

// The first byte of an event; those of changes are less.
constexpr char kEvent = 0x40;

}  // namespace

void AppendChange(Change::Kind kind, std::string_view associator, std::string_view key,
                  uint64_t weight, std::string& bytes) {
  const bool weighted = kind == Change::Kind::kIncrement && weight != 1;
  bytes.push_back(static_cast<char>(static_cast<uint8_t>(kind) | (weighted ? kHasWeight : 0)));
  if (weighted) AppendVarint(weight, bytes);
  AppendKey(associator, bytes);
  if (kind != Change::Kind::kDeleteAssociator) AppendKey(key, bytes);
}

bool TakeChange(std::string_view& bytes, Change& change) {
  if (bytes.empty()) return false;
  const auto head = static_cast<uint8_t>(bytes.front());
  bytes.remove_prefix(1);
  const uint8_t kind = head & ~kHasWeight;
  if (kind > static_cast<uint8_t>(Change::Kind::kDeleteAssociator)) return false;
  change.kind = static_cast<Change::Kind>(kind);
  change.weight = 1;
  change.key.clear();
  if ((head & kHasWeight) != 0) {
    if (change.kind != Change::Kind::kIncrement) return false;
    if (!TakeVarint(bytes, change.weight) || change.weight == 0) return false;
  }
  if (!TakeKey(bytes, change.associator)) return false;
  return change.kind == Change::Kind::kDeleteAssociator || TakeKey(bytes, change.key);
}

bool PassChange(std::string_view& bytes, std::string_view& associator, std::string& text) {
  if (bytes.empty()) return false;
  const auto head = static_cast<uint8_t>(bytes.front());
  bytes.remove_prefix(1);
  const uint8_t kind = head & ~kHasWeight;
  constexpr auto kLast = static_cast<uint8_t>(Change::Kind::kDeleteAssociator);
  if (kind > kLast) return false;
  if ((head & kHasWeight) != 0) {
    uint64_t weight;
    if (kind != static_cast<uint8_t>(Change::Kind::kIncrement)) return false;
    if (!TakeVarint(bytes, weight) || weight == 0) return false;
  }
  std::string_view key;
  KeyKind key_kind;
  if (!PassKey(bytes, key_kind, associator)) return false;
  if (key_kind == KeyKind::kGuidLower || key_kind == KeyKind::kGuidUpper) {
    text.clear();
    AppendKeyText(key_kind, associator, text);
    associator = text;
  }
  return kind == kLast || PassKey(bytes, key_kind, key);
}

void AppendEvent(const EventId& id, std::string& bytes) {
  bytes.push_back(kEvent);
  for (const uint64_t word : id) AppendBigEndian(word, 8, bytes);
}

bool TakeEvent(std::string_view& bytes, EventId& id) {
  if (bytes.empty() || bytes.front() != kEvent) return false;
  std::string_view rest = bytes.substr(1);
  for (uint64_t& word : id) {
    if (!TakeBigEndian(rest, 8, word)) return false;
  }
  bytes = rest;
  return true;
}

ChangeLog::ChangeLog(store::Store& store, Options options)
    : store_(store), options_(std::move(options)) {}

std::string ChangeLog::KeyOf(uint64_t number) const {
  std::string key = options_.prefix;
  AppendBigEndian(number, 8, key);
  return key;
}

uint64_t ChangeLog::Append(std::string_view changes, uint64_t count) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (options_.enabled) {
    if (pending_.empty()) pending_first_ = last_ + 1;
    pending_.append(changes);
    NoteDue();
  }
  last_ += count;
  return last_;
}

void ChangeLog::NoteDue() {
  due_.store(!failed_.ok() || pending_.size() >= options_.gather_bytes, std::memory_order_relaxed);
}

absl::Status ChangeLog::Commit(uint64_t number) {
  if (!due_.load(std::memory_order_relaxed)) return absl::OkStatus();
  std::unique_lock<std::mutex> lock(mutex_);
  if (pending_.size() < options_.gather_bytes) return failed_;
  return WriteUpTo(number, lock);
}

absl::Status ChangeLog::Flush() {
  std::unique_lock<std::mutex> lock(mutex_);
  return options_.enabled ? WriteUpTo(last_, lock) : absl::OkStatus();
}

absl::StatusOr<uint64_t> ChangeLog::FlushAll() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!options_.enabled) return last_;
  if (absl::Status status = WriteUpTo(last_, lock); !status.ok()) return status;
  return committed_;
}

absl::Status ChangeLog::WriteUpTo(uint64_t number, std::unique_lock<std::mutex>& lock) {
  while (failed_.ok() && committed_ < number) {
    if (writing_) {
      written_.wait(lock);
      continue;
    }
    writing_ = true;
    const uint64_t upto = last_;
    store::Batch batch;
    batch.Put(KeyOf(pending_first_), pending_);
    pending_.clear();
    NoteDue();
    lock.unlock();
    absl::Status status = store_.Write(batch, options_.reach);
    lock.lock();
    writing_ = false;
    committed_ = upto;
    if (!status.ok()) failed_ = std::move(status);
    NoteDue();
    written_.notify_all();
  }
  return failed_;
}

uint64_t ChangeLog::last() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

void ChangeLog::ContinueAfter(uint64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  last_ = std::max(last_, number);
  committed_ = last_;
}

absl::Status ChangeLog::Replay(
    absl::FunctionRef<absl::StatusOr<uint64_t>(uint64_t first, std::string_view changes)> take) {
  absl::Status status;
  uint64_t next = 0;
  absl::Status scanned =
      store_.ScanPrefix(options_.prefix, [&](std::string_view key, std::string_view bytes) {
        uint64_t first;
        std::string_view rest = key.substr(options_.prefix.size());
        if (!TakeBigEndian(rest, 8, first) || !rest.empty()) {
          status = absl::DataLossError("change log: a key that is no number");
          return false;
        }
        const auto taken = take(first, bytes);
        status = taken.status();
        if (taken.ok()) next = first + *taken;
        return status.ok();
      });
  if (!scanned.ok()) return scanned;
  if (status.ok() && next > 0) ContinueAfter(next - 1);
  return status;
}

void ChangeLog::Truncate(uint64_t number, store::Batch& batch) const {
  batch.DeleteRange(options_.prefix, KeyOf(number + 1));
}

}  // namespace escalona::assoc

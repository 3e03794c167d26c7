// Tells damaged logs from logs that end where a process did.
#include "store/log_replay.h"

#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace escalona::store {
namespace {

// In RocksDB's words.
constexpr char kDropping[] = ": dropping %d bytes";
constexpr std::string_view kDropped = ": dropping ";
constexpr std::string_view kTornEnds[] = {"truncated header", "truncated record body",
                                          "error reading trailing data"};

bool IsTornEnd(std::string_view text) {
  for (const std::string_view torn : kTornEnds) {
    if (text.find(torn) != std::string_view::npos) return true;
  }
  return false;
}

uint64_t LogNumber(std::string_view name) {
  return std::strtoull(std::string(name).c_str(), nullptr, 10);
}

// A batch begins with the number of its first change, the lowest byte first.
uint64_t FirstNumber(const rocksdb::WriteBatch& batch) {
  uint64_t number = 0;
  for (int i = 7; i >= 0; --i) number = number << 8 | static_cast<uint8_t>(batch.Data()[i]);
  return number;
}

// The last log with something in it.
uint64_t LastLog(const std::string& folder) {
  uint64_t last = 0;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(folder, none)) {
    if (file.path().extension() == ".log" && file.file_size(none) > 0) {
      last = std::max(last, LogNumber(file.path().filename().string()));
    }
  }
  return last;
}

}  // namespace

LogReplay::LogReplay(const std::string& folder) : last_there_(LastLog(folder)) {}

void LogReplay::Logv(const char* format, va_list arguments) {
  if (std::strstr(format, kDropping) == nullptr) return;
  char text[4096] = {};
  std::vsnprintf(text, sizeof(text), format, arguments);
  const std::string_view line = text;
  const size_t end = line.find(kDropped);
  if (end == std::string_view::npos) return;
  const size_t begin = line.find_last_of("/ ", end) + 1;
  const std::string_view name = line.substr(begin, end - begin);
  std::string what = std::string(name) + ": " + std::string(line.substr(end + kDropped.size()));
  if (const size_t reason = what.find("; "); reason != std::string::npos) {
    what = what.replace(reason, 2, " (") + ")";
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (left_out_.empty()) left_out_ = what;
  unread_log_ = LogNumber(name);
  if (!IsTornEnd(line) && damage_.empty()) damage_ = what;
}

rocksdb::WalFilter::WalProcessingOption LogReplay::LogRecordFound(unsigned long long /*log*/,
                                                                  const std::string& /*name*/,
                                                                  const rocksdb::WriteBatch& batch,
                                                                  rocksdb::WriteBatch* /*changed*/,
                                                                  bool* /*is_changed*/) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t first = FirstNumber(batch);
  if (next_ != 0 && first != next_) return WalProcessingOption::kCorruptedRecord;
  next_ = first + batch.Count();
  // An earlier opening left that out, and this log goes on from there.
  damage_.clear();
  left_out_.clear();
  return WalProcessingOption::kContinueProcessing;
}

std::string LogReplay::Damage() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!damage_.empty()) return damage_;
  if (!left_out_.empty() && unread_log_ < last_there_) {
    return left_out_ + ", and the log after it does not go on from there";
  }
  return "";
}

std::string LogReplay::LeftOut() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return left_out_;
}

}  // namespace escalona::store

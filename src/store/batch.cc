// What all stores share: batches and prefixes.
#include "store/store.h"

namespace escalona::store {

void Batch::Add(Kind kind, std::string_view key, std::string_view value) {
  changes_.push_back({kind, std::string(key), std::string(value)});
  bytes_ += key.size() + value.size();
}

void Batch::Put(std::string_view key, std::string_view value) { Add(Kind::kPut, key, value); }

void Batch::Delete(std::string_view key) { Add(Kind::kDelete, key, {}); }

void Batch::DeleteRange(std::string_view begin, std::string_view end) {
  Add(Kind::kDeleteRange, begin, end);
}

void Batch::DeletePrefix(std::string_view prefix) { DeleteRange(prefix, EndOfPrefix(prefix)); }

void Batch::Clear() {
  changes_.clear();
  bytes_ = 0;
}

std::string EndOfPrefix(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xFF') end.pop_back();
  if (!end.empty()) ++end.back();
  return end;
}

absl::Status Store::ScanPrefix(
    std::string_view prefix,
    absl::FunctionRef<bool(std::string_view key, std::string_view value)> visit) {
  return Scan(prefix, EndOfPrefix(prefix), visit);
}

}  // namespace escalona::store

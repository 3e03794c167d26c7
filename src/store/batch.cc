// What all stores share: batches and prefixes.
#include <cstring>

#include "store/store.h"

namespace escalona::store {

namespace {

struct ChangeHead {
  uint32_t key_bytes;
  uint32_t value_bytes;
  Batch::Kind kind;
};

}  // namespace

void Batch::Add(Kind kind, std::string_view key, std::string_view value) {
  const ChangeHead head = {static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size()),
                           kind};
  buffer_.append(reinterpret_cast<const char*>(&head), sizeof(head));
  buffer_.append(key);
  buffer_.append(value);
}

void Batch::ForEach(absl::FunctionRef<bool(const Change&)> visit) const {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    ChangeHead head;
    std::memcpy(&head, rest.data(), sizeof(head));
    rest.remove_prefix(sizeof(head));
    const Change change = {head.kind, rest.substr(0, head.key_bytes),
                           rest.substr(head.key_bytes, head.value_bytes)};
    rest.remove_prefix(size_t{head.key_bytes} + head.value_bytes);
    if (!visit(change)) return;
  }
}

void Batch::Put(std::string_view key, std::string_view value) { Add(Kind::kPut, key, value); }

void Batch::Delete(std::string_view key) { Add(Kind::kDelete, key, {}); }

void Batch::DeleteRange(std::string_view begin, std::string_view end) {
  Add(Kind::kDeleteRange, begin, end);
}

void Batch::DeletePrefix(std::string_view prefix) { DeleteRange(prefix, EndOfPrefix(prefix)); }

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

absl::Status Store::ScanFirst(
    std::string_view begin, std::string_view end, uint64_t limit,
    absl::FunctionRef<bool(std::string_view key, std::string_view value)> visit) {
  if (limit == 0) return absl::OkStatus();
  return Scan(begin, end, [&](std::string_view key, std::string_view value) {
    return visit(key, value) && --limit > 0;
  });
}

absl::Status Store::MultiGet(
    std::span<const std::string_view> keys,
    absl::FunctionRef<void(size_t place, std::optional<std::string_view> value)> visit) {
  for (size_t i = 0; i < keys.size(); ++i) {
    const absl::StatusOr<std::optional<std::string>> value = Get(keys[i]);
    if (!value.ok()) return value.status();
    visit(i, value->has_value() ? std::optional<std::string_view>(**value) : std::nullopt);
  }
  return absl::OkStatus();
}

}  // namespace escalona::store

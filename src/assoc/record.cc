// Encodes and decodes stored lists.
#include "assoc/record.h"

#include <algorithm>

#include "assoc/key.h"
#include "assoc/packed_key.h"
#include "base/varint.h"

namespace escalona::assoc {
namespace {

constexpr char kVersion = 1;
constexpr uint8_t kMixed = static_cast<uint8_t>(KeyKind::kBytes);

absl::Status Broken(const char* what) {
  return absl::DataLossError(std::string("stored list: ") + what);
}

// Takes the head off the front.
absl::StatusOr<ListHead> TakeHead(std::string_view& bytes) {
  if (bytes.empty() || bytes.front() != kVersion) return Broken("not version 1");
  bytes.remove_prefix(1);
  ListHead head;
  if (!TakeVarint(bytes, head.sequence) || !TakeVarint(bytes, head.age) ||
      !TakeVarint(bytes, head.pairs) || !TakeVarint(bytes, head.total)) {
    return Broken("cut off in its head");
  }
  return head;
}

}  // namespace

ListHead HeadOf(const ListRecord& record) {
  ListHead head{
      .sequence = record.sequence, .age = record.age, .pairs = record.list.size(), .total = 0};
  for (const CountedKey& entry : record.list) head.total += entry.count;
  return head;
}

std::string EncodeListHead(const ListHead& head) {
  std::string bytes(1, kVersion);
  AppendVarint(head.sequence, bytes);
  AppendVarint(head.age, bytes);
  AppendVarint(head.pairs, bytes);
  AppendVarint(head.total, bytes);
  return bytes;
}

void ListEncoder::Add(std::string_view key, uint64_t count) {
  const Key packed = MakeKey(key, 0);
  const auto kind = static_cast<uint8_t>(packed.kind);
  if (pairs_ == 0) kind_ = kind;
  if (kind != kind_ && kind_ != kMixed) Mix();
  AppendVarint(pairs_ == 0 ? count : last_ - count, keys_);
  if (kind_ == kMixed) {
    AppendKey(key, keys_);
  } else {
    keys_.append(packed.Bytes());
  }
  last_ = count;
  total_ += count;
  ++pairs_;
}

void ListEncoder::Mix() {
  const std::string same = std::move(keys_);
  std::string_view rest = same;
  keys_.clear();
  std::string text;
  for (uint64_t number; TakeVarint(rest, number); rest.remove_prefix(kPackedBytes)) {
    AppendVarint(number, keys_);
    text.clear();
    AppendKeyText(static_cast<KeyKind>(kind_), rest.substr(0, kPackedBytes), text);
    AppendKey(text, keys_);
  }
  kind_ = kMixed;
}

std::string ListEncoder::Encode(const ListHead& head) const {
  std::string bytes = EncodeListHead(head);
  bytes.push_back(static_cast<char>(pairs_ == 0 ? kMixed : kind_));
  bytes.append(keys_);
  return bytes;
}

std::string EncodeList(const ListRecord& record) {
  ListEncoder encoder;
  for (const CountedKey& entry : record.list) encoder.Add(entry.key, entry.count);
  return encoder.Encode(HeadOf(record));
}

absl::StatusOr<ListHead> DecodeListHead(std::string_view bytes) { return TakeHead(bytes); }

absl::StatusOr<ListRecord> DecodeList(std::string_view bytes) {
  const auto head = TakeHead(bytes);
  if (!head.ok()) return head.status();
  if (bytes.empty()) return Broken("cut off in its head");
  ListRecord record{.sequence = head->sequence, .age = head->age, .list = {}};
  const uint64_t size = head->pairs;
  const auto kind = static_cast<uint8_t>(bytes.front());
  bytes.remove_prefix(1);
  if (kind > kMixed) return Broken("unknown kind of keys");
  if (size > bytes.size()) return Broken("cut off: fewer bytes than keys");
  record.list.reserve(size);
  uint64_t last = 0;
  uint64_t total = 0;
  for (uint64_t i = 0; i < size; ++i) {
    uint64_t number;
    if (!TakeVarint(bytes, number)) return Broken("cut off in a count");
    if (i > 0 && number >= last) return Broken("a count below 1");
    last = i == 0 ? number : last - number;
    if (last == 0) return Broken("a count below 1");
    total += last;
    CountedKey& entry = record.list.emplace_back();
    entry.count = last;
    if (kind == kMixed) {
      if (!TakeKey(bytes, entry.key)) return Broken("cut off or wrong in a key");
    } else {
      if (bytes.size() < kPackedBytes) return Broken("cut off in a key");
      AppendKeyText(static_cast<KeyKind>(kind), bytes.substr(0, kPackedBytes), entry.key);
      bytes.remove_prefix(kPackedBytes);
    }
  }
  if (!bytes.empty()) return Broken("bytes after its end");
  if (total != head->total) return Broken("its total is not the sum of its counts");
  return record;
}

}  // namespace escalona::assoc

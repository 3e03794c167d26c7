#include "server/wire.h"

#include <google/protobuf/unknown_field_set.h>
#include <grpc/slice.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <system_error>

#include "base/utf8.h"

namespace escalona::server {
namespace {

using urlfrontier::AckMessage;
using Metadata = google::protobuf::Map<std::string, urlfrontier::StringList>;

constexpr uint64_t kLastSecond = 253402300799;  // of the year 9999

// Tags of the wire format: number << 3 | type.
constexpr uint8_t Text(int number) { return static_cast<uint8_t>(number << 3 | 2); }
constexpr uint8_t Varint(int number) { return static_cast<uint8_t>(number << 3); }

size_t VarintSize(uint64_t value) {
  return (static_cast<size_t>(63 - std::countl_zero(value | 1)) * 9 + 73) / 64;
}

size_t TextSize(std::string_view text) { return 1 + VarintSize(text.size()) + text.size(); }
// Of a field that is left out if it is empty or 0, as proto3 does.
size_t FieldSize(std::string_view text) { return text.empty() ? 0 : TextSize(text); }
size_t FieldSize(uint64_t value) { return value == 0 ? 0 : 1 + VarintSize(value); }

// Writes into memory that is large enough.
class Writer {
 public:
  explicit Writer(uint8_t* at) : at_(at) {}

  void Byte(uint8_t byte) { *at_++ = byte; }
  void Number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at_++ = static_cast<uint8_t>(value | 0x80);
    *at_++ = static_cast<uint8_t>(value);
  }
  void Bytes(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  void Length(uint8_t tag, size_t length) {
    Byte(tag);
    Number(length);
  }
  void Always(uint8_t tag, std::string_view text) {
    Length(tag, text.size());
    Bytes(text);
  }
  void Field(uint8_t tag, std::string_view text) {
    if (!text.empty()) Always(tag, text);
  }
  void Field(uint8_t tag, uint64_t value) {
    if (value == 0) return;
    Byte(tag);
    Number(value);
  }

 private:
  uint8_t* at_;
};

template <class Fill>
grpc::ByteBuffer MakeBuffer(size_t size, Fill fill) {
  grpc_slice bytes = grpc_slice_malloc(size);
  Writer writer(GRPC_SLICE_START_PTR(bytes));
  fill(writer);
  const grpc::Slice slice(bytes, grpc::Slice::STEAL_REF);
  return {&slice, 1};
}

size_t ValuesSize(const urlfrontier::StringList& list) {
  size_t size = 0;
  for (const std::string& value : list.values()) size += TextSize(value);
  return size;
}

size_t EntrySize(std::string_view key, size_t values) {
  return TextSize(key) + 1 + VarintSize(values) + values;
}

void AppendEntry(const Metadata::value_type& entry, std::string& out) {
  const size_t values = ValuesSize(entry.second);
  const size_t size = EntrySize(entry.first, values);
  const size_t start = out.size();
  out.resize(start + 1 + VarintSize(size) + size);
  Writer writer(reinterpret_cast<uint8_t*>(out.data() + start));
  writer.Length(Text(3), size);
  writer.Always(Text(1), entry.first);
  writer.Length(Text(2), values);
  for (const std::string& value : entry.second.values()) writer.Always(Text(1), value);
}

bool IsLease(const Metadata::value_type& entry) { return entry.first == kLeaseKey; }

// The entries in the order of their keys, without lease tokens.
void AppendMetadata(const Metadata& metadata, std::string& out) {
  if (metadata.empty()) return;
  if (metadata.size() == 1) {
    if (!IsLease(*metadata.begin())) AppendEntry(*metadata.begin(), out);
    return;
  }
  std::vector<const Metadata::value_type*> entries;
  entries.reserve(metadata.size());
  for (const auto& entry : metadata) {
    if (!IsLease(entry)) entries.push_back(&entry);
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto* a, const auto* b) { return a->first < b->first; });
  for (const auto* entry : entries) AppendEntry(*entry, out);
}

// The token, which is not 0; 0 if there is none that could be one of ours.
uint64_t LeaseOf(const Metadata& metadata) {
  if (metadata.empty()) return 0;
  const auto found = metadata.find(std::string(kLeaseKey));
  if (found == metadata.end() || found->second.values_size() != 1) return 0;
  const std::string& text = found->second.values(0);
  uint64_t lease = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), lease);
  return error == std::errc() && end == text.data() + text.size() ? lease : 0;
}

bool IsBlank(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); });
}

FrontierPut WithoutMetadata(const urlfrontier::URLInfo& info) {
  return {.url = info.url(), .key = info.key(), .crawl = info.crawlid()};
}

size_t InfoSize(const KnownUrl& known) {
  return FieldSize(known.url) + FieldSize(known.key) + known.metadata.size() +
         FieldSize(known.crawl);
}

uint64_t SecondsOf(absl::Time time) {
  return static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixSeconds(time)));
}

struct ItemSizes {
  explicit ItemSizes(const KnownUrl& url)
      : date(url.state == UrlState::kCompleted ? 0 : SecondsOf(url.date)),
        created(SecondsOf(url.created)),
        info(InfoSize(url)),
        known(1 + VarintSize(info) + info + FieldSize(date)),
        item(1 + VarintSize(known) + known + FieldSize(created)) {}
  uint64_t date, created;
  size_t info, known, item;
};

void WriteItem(const KnownUrl& url, const ItemSizes& sizes, Writer& writer) {
  writer.Length(Text(2), sizes.known);
  writer.Length(Text(1), sizes.info);
  writer.Field(Text(1), url.url);
  writer.Field(Text(2), url.key);
  writer.Bytes(url.metadata);
  writer.Field(Text(4), url.crawl);
  writer.Field(Varint(2), sizes.date);
  writer.Field(Varint(4), sizes.created);
}

// The texts and messages in the field of that number, as they came; none if the bytes are no
// message at all.
std::vector<std::string> FieldsOf(const grpc::ByteBuffer& bytes, int number) {
  grpc::ByteBuffer copy(bytes);  // of references to the pieces
  grpc::ProtoBufferReader reader(&copy);
  google::protobuf::UnknownFieldSet fields;
  std::vector<std::string> found;
  if (!fields.ParseFromZeroCopyStream(&reader)) return found;
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    if (field.number() != number) continue;
    if (field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) continue;
    found.push_back(field.length_delimited());
  }
  return found;
}

// Clients refuse an acknowledgement that is not UTF-8, or too long.
std::string ReadableId(const grpc::ByteBuffer& bytes, int number) {
  const std::vector<std::string> ids = FieldsOf(bytes, number);
  return ids.empty() || ids.back().size() > kMaxItemBytes ? "" : ValidUtf8(ids.back());
}

}  // namespace

absl::Time TimeOfSeconds(uint64_t seconds) {
  return absl::FromUnixSeconds(static_cast<int64_t>(std::min(seconds, kLastSecond)));
}

std::string_view CrawlOf(std::string_view crawl) { return IsBlank(crawl) ? kDefaultCrawl : crawl; }

UrlFilter FilterOf(const std::string& key, const std::string& crawl, const std::string& text,
                   bool ignore_case) {
  UrlFilter filter;
  if (!key.empty()) filter.key = key;
  filter.crawl = CrawlOf(crawl);
  if (!IsBlank(text)) filter.text = text;
  filter.ignore_case = ignore_case;
  return filter;
}

FrontierPut PutOf(const urlfrontier::URLItem& item, std::string& metadata) {
  metadata.clear();
  if (item.has_discovered()) {
    const urlfrontier::URLInfo& info = item.discovered().info();
    FrontierPut put = WithoutMetadata(info);
    AppendMetadata(info.metadata(), metadata);
    put.metadata = metadata;
    return put;
  }
  // An item that says nothing is a completed one without a URL; the frontier skips it.
  const urlfrontier::URLInfo& info = item.known().info();
  FrontierPut put = WithoutMetadata(info);
  put.lease = LeaseOf(info.metadata());
  if (item.known().refetchable_from_date() == 0) {
    put.kind = PutKind::kCompleted;
    return put;
  }
  put.kind = PutKind::kScheduled;
  put.date = TimeOfSeconds(item.known().refetchable_from_date());
  AppendMetadata(info.metadata(), metadata);
  put.metadata = metadata;
  return put;
}

void PutsOf(const urlfrontier::DiscoveredBatch& batch, std::string& metadata,
            std::vector<FrontierPut>& puts) {
  metadata.clear();
  puts.clear();
  puts.reserve(static_cast<size_t>(batch.items_size()));
  std::vector<size_t> ends;
  for (const urlfrontier::URLInfo& info : batch.items()) {
    puts.push_back(WithoutMetadata(info));
    if (info.metadata().empty() && ends.empty()) continue;
    ends.resize(puts.size() - 1, ends.empty() ? 0 : ends.back());
    AppendMetadata(info.metadata(), metadata);
    ends.push_back(metadata.size());
  }
  // Only now do the bytes stay where they are.
  for (size_t i = 0, begin = 0; i < ends.size(); begin = ends[i++]) {
    puts[i].metadata = std::string_view(metadata).substr(begin, ends[i] - begin);
  }
}

AckMessage::Status AckOf(PutStatus status) {
  switch (status) {
    case PutStatus::kOk:
      return AckMessage::OK;
    case PutStatus::kSkipped:
    case PutStatus::kStale:  // sending it again would not help
      return AckMessage::SKIPPED;
    case PutStatus::kFailed:
      break;
  }
  return AckMessage::FAIL;
}

grpc::ByteBuffer EncodeAck(std::string_view id, PutStatus status) {
  const auto ack = static_cast<uint64_t>(AckOf(status));
  return MakeBuffer(FieldSize(id) + FieldSize(ack), [&](Writer& writer) {
    writer.Field(Text(1), id);
    writer.Field(Varint(2), ack);
  });
}

grpc::ByteBuffer EncodeBatchAck(std::string_view id, std::span<const PutStatus> statuses) {
  const size_t packed = statuses.empty() ? 0 : 1 + VarintSize(statuses.size()) + statuses.size();
  return MakeBuffer(FieldSize(id) + packed, [&](Writer& writer) {
    writer.Field(Text(1), id);
    if (statuses.empty()) return;
    writer.Length(Text(2), statuses.size());
    for (const PutStatus status : statuses) writer.Byte(static_cast<uint8_t>(AckOf(status)));
  });
}

grpc::ByteBuffer EncodeUrlInfo(const LeasedUrl& leased, bool with_lease) {
  const std::string lease = with_lease ? std::to_string(leased.lease) : "";
  const size_t value = TextSize(lease);
  const size_t entry = EntrySize(kLeaseKey, value);
  const size_t size = FieldSize(leased.url) + FieldSize(leased.key) + leased.metadata.size() +
                      (with_lease ? 1 + VarintSize(entry) + entry : 0) + FieldSize(leased.crawl);
  return MakeBuffer(size, [&](Writer& writer) {
    writer.Field(Text(1), leased.url);
    writer.Field(Text(2), leased.key);
    writer.Bytes(leased.metadata);
    if (with_lease) {
      writer.Length(Text(3), entry);
      writer.Always(Text(1), kLeaseKey);
      writer.Length(Text(2), value);
      writer.Always(Text(1), lease);
    }
    writer.Field(Text(4), leased.crawl);
  });
}

grpc::ByteBuffer EncodeUrlItem(const KnownUrl& known) {
  const ItemSizes sizes(known);
  return MakeBuffer(sizes.item, [&](Writer& writer) { WriteItem(known, sizes, writer); });
}

std::string SerializeUrlItem(const KnownUrl& known) {
  const ItemSizes sizes(known);
  std::string bytes(sizes.item, '\0');
  Writer writer(reinterpret_cast<uint8_t*>(bytes.data()));
  WriteItem(known, sizes, writer);
  return bytes;
}

bool ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  grpc::Slice slice;
  if (bytes.TrySingleSlice(&slice).ok()) {
    return message.ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
  }
  grpc::ByteBuffer copy(bytes);  // of references to the pieces
  grpc::ProtoBufferReader reader(&copy);
  return message.ParseFromZeroCopyStream(&reader);
}

void ParseItem(const grpc::ByteBuffer& bytes, urlfrontier::URLItem& item) {
  if (bytes.Length() <= kMaxItemBytes && ParseMessage(bytes, item)) return;
  item.Clear();
  item.set_id(ReadableId(bytes, urlfrontier::URLItem::kIDFieldNumber));
}

void ParseBatch(const grpc::ByteBuffer& bytes, urlfrontier::DiscoveredBatch& batch) {
  if (bytes.Length() <= kMaxItemBytes && ParseMessage(bytes, batch)) return;
  batch.Clear();
  batch.set_id(ReadableId(bytes, urlfrontier::DiscoveredBatch::kIDFieldNumber));
  for (const std::string& info : FieldsOf(bytes, urlfrontier::DiscoveredBatch::kItemsFieldNumber)) {
    urlfrontier::URLInfo& item = *batch.add_items();
    if (info.size() > kMaxItemBytes || !item.ParseFromString(info)) item.Clear();
  }
}

}  // namespace escalona::server

#include "frontier/stored.h"

#include "base/big_endian.h"
#include "base/varint.h"

namespace escalona::frontier {
namespace {

constexpr char kRecordVersion = 1;
constexpr uint64_t kLastQueue = (uint64_t{1} << 40) - 1;

bool TakeVersion(std::string_view& bytes) {
  if (bytes.empty() || bytes.front() != kRecordVersion) return false;
  bytes.remove_prefix(1);
  return true;
}

// kUnset becomes 0, so that most numbers of a queue take one byte.
void AppendSigned(int64_t value, std::string& out) {
  AppendVarint(static_cast<uint64_t>(value) + 1, out);
}

bool TakeSigned(std::string_view& bytes, int64_t& value) {
  uint64_t number = 0;
  if (!TakeVarint(bytes, number)) return false;
  value = static_cast<int64_t>(number - 1);
  return value >= kUnset;
}

void AppendText(std::string_view text, std::string& out) {
  AppendVarint(text.size(), out);
  out.append(text);
}

bool TakeText(std::string_view& bytes, std::string_view& text) {
  uint64_t size = 0;
  if (!TakeVarint(bytes, size) || size > bytes.size()) return false;
  text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return true;
}

bool TakeClass(std::string_view& bytes, UrlClass& cls) {
  uint64_t byte = 0;
  if (!TakeBigEndian(bytes, 1, byte) || byte > static_cast<uint64_t>(UrlClass::kCompleted)) {
    return false;
  }
  cls = static_cast<UrlClass>(byte);
  return true;
}

bool IsRank(Place place) {
  if (place.cls == UrlClass::kDate) return place.rank <= static_cast<uint64_t>(kLastDate);
  return place.cls == UrlClass::kDepth || place.rank == 0;
}

size_t RankBytes(UrlClass cls) {
  switch (cls) {
    case UrlClass::kDepth:
      return 8;
    case UrlClass::kDate:
      return 5;
    case UrlClass::kCompleted:
      break;
  }
  return 0;
}

void AppendUrl(const UrlRecord& record, std::string& out) {
  out.push_back(static_cast<char>(kRecordVersion << 4 | static_cast<char>(record.place.cls)));
  AppendBigEndian(static_cast<uint64_t>(record.created), 5, out);
  AppendBigEndian(record.place.rank, RankBytes(record.place.cls), out);
}

bool TakeUrl(std::string_view& bytes, UrlRecord& record) {
  uint64_t head = 0;
  uint64_t created = 0;
  if (!TakeBigEndian(bytes, 1, head) || head >> 4 != kRecordVersion ||
      (head & 0xF) > static_cast<uint64_t>(UrlClass::kCompleted) ||
      !TakeBigEndian(bytes, 5, created)) {
    return false;
  }
  record.created = static_cast<int64_t>(created);
  record.place.cls = static_cast<UrlClass>(head & 0xF);
  return TakeBigEndian(bytes, RankBytes(record.place.cls), record.place.rank);
}

void AppendNumbers(const QueueRecord& record, std::string& out) {
  AppendVarint(record.scheduled, out);
  AppendVarint(record.completed, out);
  AppendSigned(record.next_due == kNever ? kUnset : record.next_due, out);
  AppendVarint(record.arrivals, out);
  AppendSigned(record.delay, out);
  AppendSigned(record.blocked_until, out);
  AppendVarint(record.limit, out);
  AppendSigned(record.last_served, out);
  AppendVarint(record.turn, out);
  AppendSigned(record.group_until, out);
}

bool TakeNumbers(std::string_view& bytes, QueueRecord& record) {
  uint64_t limit = 0;
  if (!TakeVarint(bytes, record.scheduled) || !TakeVarint(bytes, record.completed) ||
      !TakeSigned(bytes, record.next_due) || !TakeVarint(bytes, record.arrivals) ||
      !TakeSigned(bytes, record.delay) || !TakeSigned(bytes, record.blocked_until) ||
      !TakeVarint(bytes, limit) || !TakeSigned(bytes, record.last_served) ||
      !TakeVarint(bytes, record.turn) || !TakeSigned(bytes, record.group_until) ||
      limit > std::numeric_limits<uint32_t>::max()) {
    return false;
  }
  record.limit = static_cast<uint32_t>(limit);
  if (record.next_due == kUnset) record.next_due = kNever;
  return true;
}

}  // namespace

std::string MetaKey() { return std::string(1, static_cast<char>(Kind::kMeta)); }

std::string CrawlPrefix(Kind kind, uint32_t crawl) {
  std::string key(1, static_cast<char>(kind));
  AppendBigEndian(crawl, 4, key);
  return key;
}

std::string JournalKey(uint64_t number) {
  std::string key(1, static_cast<char>(Kind::kJournal));
  AppendBigEndian(number, 8, key);
  return key;
}

bool DecodeJournalKey(std::string_view key, uint64_t& number) {
  if (key.empty()) return false;
  key.remove_prefix(1);
  return TakeBigEndian(key, 8, number) && key.empty();
}

std::string CrawlKey(uint32_t crawl) { return CrawlPrefix(Kind::kCrawl, crawl); }

std::string ToldKey(uint32_t crawl, std::string_view key) {
  return CrawlPrefix(Kind::kTold, crawl).append(key);
}

void AppendQueueKey(Kind kind, QueueId id, std::string& out) {
  out.push_back(static_cast<char>(kind));
  AppendBigEndian(id.crawl, 4, out);
  AppendBigEndian(id.queue, 5, out);
}

std::string QueueKey(Kind kind, QueueId id) {
  std::string key;
  AppendQueueKey(kind, id, key);
  return key;
}

void AppendPlace(Place place, std::string& out) {
  out.push_back(static_cast<char>(place.cls));
  AppendBigEndian(place.rank, 8, out);
}

bool DecodeCrawlKey(std::string_view key, uint32_t& crawl, std::string_view& rest) {
  uint64_t number = 0;
  if (key.empty()) return false;
  key.remove_prefix(1);
  if (!TakeBigEndian(key, 4, number)) return false;
  crawl = static_cast<uint32_t>(number);
  rest = key;
  return true;
}

bool DecodeQueueKey(std::string_view key, QueueId& id, std::string_view& rest) {
  return DecodeCrawlKey(key, id.crawl, rest) && TakeBigEndian(rest, 5, id.queue);
}

bool DecodePlaceKey(std::string_view key, PlaceKey& parts) {
  return DecodeQueueKey(key, parts.id, parts.url) && TakeClass(parts.url, parts.place.cls) &&
         TakeBigEndian(parts.url, 8, parts.place.rank) && IsRank(parts.place);
}

// The version of the format comes first and as a number of its own: what follows may change.
std::string Encode(const MetaRecord& record) {
  std::string out;
  AppendVarint(record.version, out);
  AppendVarint(record.openings, out);
  AppendSigned(record.default_delay, out);
  out.push_back(record.active ? 1 : 0);
  for (uint64_t word : record.hash_key) AppendBigEndian(word, 8, out);
  return out;
}

bool Decode(std::string_view bytes, MetaRecord& record) {
  if (!TakeVarint(bytes, record.version)) return false;
  if (record.version > kFormatVersion) return true;  // of the rest nothing is known
  uint64_t active = 0;
  if (!TakeVarint(bytes, record.openings) || !TakeSigned(bytes, record.default_delay) ||
      !TakeBigEndian(bytes, 1, active) || active > 1) {
    return false;
  }
  record.active = active == 1;
  for (uint64_t& word : record.hash_key) {
    if (!TakeBigEndian(bytes, 8, word)) return false;
  }
  return bytes.empty();
}

std::string Encode(const CrawlRecord& record) {
  std::string out(1, kRecordVersion);
  AppendSigned(record.strategy ? static_cast<int64_t>(*record.strategy) : kUnset, out);
  AppendSigned(record.order ? static_cast<int64_t>(*record.order) : kUnset, out);
  AppendText(record.name, out);
  return out;
}

bool Decode(std::string_view bytes, CrawlRecord& record) {
  int64_t strategy = 0;
  int64_t order = 0;
  std::string_view name;
  if (!TakeVersion(bytes) || !TakeSigned(bytes, strategy) || !TakeSigned(bytes, order) ||
      !TakeText(bytes, name) || strategy > static_cast<int64_t>(Strategy::kBestFirst) ||
      order > static_cast<int64_t>(UrlOrder::kDepth)) {
    return false;
  }
  record.strategy.reset();
  record.order.reset();
  if (strategy != kUnset) record.strategy = static_cast<Strategy>(strategy);
  if (order != kUnset) record.order = static_cast<UrlOrder>(order);
  record.name = name;
  return bytes.empty();
}

void Encode(const QueueRecord& record, std::string_view key, std::string_view address,
            std::string& out) {
  out.push_back(kRecordVersion);
  AppendNumbers(record, out);
  AppendText(key, out);
  AppendText(address, out);
}

bool Decode(std::string_view bytes, QueueRecord& record, std::string_view& key,
            std::string_view& address) {
  return TakeVersion(bytes) && TakeNumbers(bytes, record) && TakeText(bytes, key) &&
         TakeText(bytes, address) && bytes.empty();
}

void AppendJournalVersion(std::string& out) { out.push_back(kRecordVersion); }

bool TakeJournalVersion(std::string_view& bytes) { return TakeVersion(bytes); }

void AppendChange(QueueId id, const QueueRecord& record, std::string& out) {
  AppendVarint(id.crawl, out);
  AppendVarint(id.queue, out);
  AppendNumbers(record, out);
}

bool TakeChange(std::string_view& bytes, QueueId& id, QueueRecord& record) {
  uint64_t crawl = 0;
  if (!TakeVarint(bytes, crawl) || crawl > std::numeric_limits<uint32_t>::max() ||
      !TakeVarint(bytes, id.queue) || id.queue > kLastQueue) {
    return false;
  }
  id.crawl = static_cast<uint32_t>(crawl);
  return TakeNumbers(bytes, record);
}

void Encode(const UrlRecord& record, std::string& out) { AppendUrl(record, out); }

bool Decode(std::string_view bytes, UrlRecord& record) {
  return TakeUrl(bytes, record) && bytes.empty();
}

void Encode(const LeaseRecord& record, std::string& out) {
  AppendUrl(record.url, out);
  AppendVarint(record.lease, out);
  AppendSigned(record.deadline, out);
}

bool Decode(std::string_view bytes, LeaseRecord& record) {
  return TakeUrl(bytes, record.url) && record.url.place.cls != UrlClass::kCompleted &&
         TakeVarint(bytes, record.lease) && TakeSigned(bytes, record.deadline) && bytes.empty();
}

void EncodeEntry(int64_t created, std::string_view metadata, std::string& out) {
  out.push_back(kRecordVersion);
  AppendBigEndian(static_cast<uint64_t>(created), 5, out);
  out.append(metadata);
}

bool DecodeEntry(std::string_view bytes, int64_t& created, std::string_view& metadata) {
  uint64_t date = 0;
  if (!TakeVersion(bytes) || !TakeBigEndian(bytes, 5, date)) return false;
  created = static_cast<int64_t>(date);
  metadata = bytes;
  return true;
}

}  // namespace escalona::frontier

// Whatever bytes stand in the store, reading them ends, and what is read is written back the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "frontier/stored.h"

namespace escalona::frontier {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

template <typename Record>
void RoundTrip(std::string_view bytes) {
  Record record;
  if (!Decode(bytes, record)) return;
  std::string once;
  Encode(record, once);
  Record again;
  Require(Decode(once, again));
  std::string twice;
  Encode(again, twice);
  Require(once == twice);
}

void Queues(std::string_view bytes) {
  QueueRecord record;
  std::string_view key;
  std::string_view address;
  if (!Decode(bytes, record, key, address)) return;
  std::string once;
  Encode(record, key, address, once);
  QueueRecord again;
  std::string_view same_key;
  std::string_view same_address;
  Require(Decode(once, again, same_key, same_address));
  Require(key == same_key && address == same_address && again.turn == record.turn);
}

void Changes(std::string_view bytes) {
  QueueId id;
  QueueRecord record;
  while (TakeChange(bytes, id, record)) {
    std::string once;
    AppendChange(id, record, once);
    std::string_view rest = once;
    QueueId same;
    Require(TakeChange(rest, same, record) && rest.empty());
    Require(same.crawl == id.crawl && same.queue == id.queue);
  }
}

void Keys(std::string_view bytes) {
  PlaceKey parts;
  if (!DecodePlaceKey(bytes, parts)) return;
  std::string key = QueueKey(static_cast<Kind>(bytes[0]), parts.id);
  AppendPlace(parts.place, key);
  Require(key.append(parts.url) == bytes);
}

}  // namespace
}  // namespace escalona::frontier

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace escalona::frontier;  // NOLINT: a short program
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  RoundTrip<UrlRecord>(bytes);
  RoundTrip<LeaseRecord>(bytes);
  Queues(bytes);
  Changes(bytes);
  Keys(bytes);
  MetaRecord meta;
  if (Decode(bytes, meta) && meta.version <= kFormatVersion) Require(!Encode(meta).empty());
  CrawlRecord crawl;
  if (Decode(bytes, crawl)) {
    CrawlRecord again;
    Require(Decode(Encode(crawl), again) && again.name == crawl.name);
  }
  int64_t created = 0;
  std::string_view metadata;
  if (DecodeEntry(bytes, created, metadata)) {
    std::string entry;
    EncodeEntry(created, metadata, entry);
    Require(entry == bytes);
  }
  return 0;
}

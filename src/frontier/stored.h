// How the frontier stands in the store: keys and records. docs/store-format.md tells the same.
#ifndef ESCALONA_FRONTIER_STORED_H_
#define ESCALONA_FRONTIER_STORED_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "escalona/frontier.h"
#include "frontier/url_hash.h"

namespace escalona::frontier {

// 1 had no journal.
inline constexpr uint64_t kFormatVersion = 2;
inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kUnset = -1;
// Dates are kept in 40 bits: until the year 36812.
inline constexpr int64_t kLastDate = (int64_t{1} << 40) - 1;

// The first byte of a key.
enum class Kind : char {
  kMeta = 'M',
  kCrawl = 'C',    // crawl (4 bytes)
  kJournal = 'J',  // number (8 bytes): changes of queues that are not in their records yet
  kTold = 'K',     // crawl, key of the queue: told about a queue that has no URL yet
  kLease = 'L',    // crawl, queue (5 bytes), fingerprint (12)
  kQueue = 'Q',    // crawl, queue
  kPlace = 'S',    // crawl, queue, class, rank, URL: the schedule of a queue, in its order
  kFinger = 'U',   // crawl, queue, fingerprint: where in the schedule a URL stands
};

struct QueueId {
  uint32_t crawl = 0;
  uint64_t queue = 0;  // 40 bits
};

enum class UrlClass : uint8_t {
  kDepth = 0,      // discovered in a crawl with UrlOrder::kDepth; rank: depth, number of arrival
  kDate = 1,       // rank: date in seconds
  kCompleted = 2,  // rank: 0
};

// Where a URL stands in the schedule of its queue.
struct Place {
  UrlClass cls = UrlClass::kDate;
  uint64_t rank = 0;

  friend auto operator<=>(const Place&, const Place&) = default;
};
// A class and a rank, as they stand before the URL in a key of kPlace.
inline constexpr size_t kPlaceBytes = 9;
inline constexpr size_t kQueuePrefixBytes = 10;

struct MetaRecord {
  uint64_t version = kFormatVersion;
  uint64_t openings = 0;
  int64_t default_delay = kUnset;  // milliseconds
  bool active = true;
  HashKey hash_key = {};
};

struct CrawlRecord {
  std::string name;
  std::optional<Strategy> strategy;
  std::optional<UrlOrder> order;
};

// Times and durations in milliseconds unless they are dates.
struct QueueRecord {
  uint64_t scheduled = 0;
  uint64_t completed = 0;
  int64_t next_due = kNever;  // a date: no URL that is scheduled and not leased is due before
  uint64_t arrivals = 0;      // of URLs of UrlClass::kDepth, so far
  int64_t delay = kUnset;
  int64_t blocked_until = kUnset;
  uint32_t limit = 0;
  int64_t last_served = kUnset;
  uint64_t turn = 0;             // its coming or last serving; those of all queues are numbered
  int64_t group_until = kUnset;  // its group is closed so long by its last serving
};

struct UrlRecord {
  Place place;
  int64_t created = 0;  // date
};

struct LeaseRecord {
  uint64_t lease = 0;
  int64_t deadline = 0;
  UrlRecord url;
};

std::string MetaKey();
std::string CrawlKey(uint32_t crawl);
std::string JournalKey(uint64_t number);
std::string ToldKey(uint32_t crawl, std::string_view key);
std::string QueueKey(Kind kind, QueueId id);  // of kQueue, or the prefix of other kinds
void AppendQueueKey(Kind kind, QueueId id, std::string& out);
void AppendPlace(Place place, std::string& out);
// The prefix of everything of a crawl that is of a kind.
std::string CrawlPrefix(Kind kind, uint32_t crawl);

// Records. Decoding is true if `bytes` is exactly such a record.
std::string Encode(const MetaRecord& record);
[[nodiscard]] bool Decode(std::string_view bytes, MetaRecord& record);
std::string Encode(const CrawlRecord& record);
[[nodiscard]] bool Decode(std::string_view bytes, CrawlRecord& record);
// Of kQueue, with the key of the queue and its address, and of kTold, with the address only.
void Encode(const QueueRecord& record, std::string_view key, std::string_view address,
            std::string& out);
[[nodiscard]] bool Decode(std::string_view bytes, QueueRecord& record, std::string_view& key,
                          std::string_view& address);
void Encode(const UrlRecord& record, std::string& out);
[[nodiscard]] bool Decode(std::string_view bytes, UrlRecord& record);
void Encode(const LeaseRecord& record, std::string& out);
[[nodiscard]] bool Decode(std::string_view bytes, LeaseRecord& record);
// The value of kPlace.
void EncodeEntry(int64_t created, std::string_view metadata, std::string& out);
[[nodiscard]] bool DecodeEntry(std::string_view bytes, int64_t& created,
                               std::string_view& metadata);

// The value of kJournal: a version, then changes. Taking is true if `bytes` begins with such.
void AppendJournalVersion(std::string& out);
[[nodiscard]] bool TakeJournalVersion(std::string_view& bytes);
void AppendChange(QueueId id, const QueueRecord& record, std::string& out);
[[nodiscard]] bool TakeChange(std::string_view& bytes, QueueId& id, QueueRecord& record);

// Parts of keys.
struct PlaceKey {
  QueueId id;
  Place place;
  std::string_view url;
};
[[nodiscard]] bool DecodePlaceKey(std::string_view key, PlaceKey& parts);
[[nodiscard]] bool DecodeQueueKey(std::string_view key, QueueId& id, std::string_view& rest);
[[nodiscard]] bool DecodeJournalKey(std::string_view key, uint64_t& number);
[[nodiscard]] bool DecodeCrawlKey(std::string_view key, uint32_t& crawl, std::string_view& rest);

}  // namespace escalona::frontier

#endif  // ESCALONA_FRONTIER_STORED_H_

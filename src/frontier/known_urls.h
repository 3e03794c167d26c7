// A bounded memory of fingerprints: "is this URL known?" without asking the store.
#ifndef ESCALONA_FRONTIER_KNOWN_URLS_H_
#define ESCALONA_FRONTIER_KNOWN_URLS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/huge_memory.h"
#include "frontier/url_hash.h"

namespace escalona::frontier {

// Buckets of one cache line hold five fingerprints. The home bucket of a fingerprint follows from
// its first word; if it is full, the fingerprint stands in one of the next ones, at most kProbes
// away. A table doubles when it is 0.6 to 0.8 full, each at a fill of its own, so that they do not
// all double at the same time, and as long as `max_bytes` allows it. When one that may not double
// is 0.8 full, a fingerprint that finds its home full takes the place of another, and
// has_forgotten() is true.
// Invariant: what was inserted and not erased is found, unless has_forgotten().
//
// 64 tables, each with a mutex of its own, so that a doubling stops nobody for long. 16 to 43 bytes
// per fingerprint, 32 at most on the whole. Thread-safe.
class KnownUrls {
 public:
  explicit KnownUrls(size_t max_bytes);

  bool Contains(const Fingerprint& url) const;
  void Insert(const Fingerprint& url);  // if it is not there yet
  void Erase(const Fingerprint& url);
  void Prefetch(const Fingerprint& url) const;

  bool has_forgotten() const { return has_forgotten_.load(std::memory_order_relaxed); }
  size_t MemoryBytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kTables = 64;
  static constexpr size_t kSlots = 5;
  // A search ends at the first bucket with room, so that a high limit costs nothing; a low one
  // would be met by chance in a table that is half empty. Where some are forgotten, all buckets
  // fill up, and what is not near is taken for forgotten too.
  static constexpr size_t kProbes = 128;
  static constexpr size_t kProbesOfForgetful = 8;
  static constexpr size_t kFirstBuckets = 4;

  struct alignas(64) Bucket {
    Fingerprint slots[kSlots];  // all zeros: erased
    uint32_t used;              // slots that were ever used
  };
  struct alignas(64) Table {
    mutable std::mutex mutex;
    HugeArray<Bucket> buckets;
    // Read by Prefetch without the mutex, where a stale value does no harm.
    std::atomic<const Bucket*> first = nullptr;
    std::atomic<size_t> count = 0;  // of buckets
    size_t size = 0;                // of fingerprints
  };

  Table& TableOf(const Fingerprint& url) const { return tables_[url.words[2] % kTables]; }
  static size_t Slots(const Table& table) {
    return table.count.load(std::memory_order_relaxed) * kSlots;
  }
  static size_t Home(const Fingerprint& url, size_t count) {
    return static_cast<size_t>(uint64_t{url.words[0]} * count >> 32);
  }
  Fingerprint* Find(const Table& table, const Fingerprint& url) const;
  // How many fingerprints a table holds before it doubles, if it can.
  size_t Room(const Table& table) const;
  static bool Place(Table& table, const Fingerprint& url);
  bool Grow(Table& table);
  void Replace(Table& table, const Fingerprint& url);

  const size_t max_table_bytes_;
  mutable std::array<Table, kTables> tables_;
  std::atomic<bool> has_forgotten_ = false;
  std::atomic<size_t> bytes_ = 0;
};

}  // namespace escalona::frontier

#endif  // ESCALONA_FRONTIER_KNOWN_URLS_H_

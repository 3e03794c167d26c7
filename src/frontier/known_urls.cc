#include "frontier/known_urls.h"

#include <cstring>
#include <utility>

namespace escalona::frontier {

KnownUrls::KnownUrls(size_t max_bytes) : max_table_bytes_(max_bytes / kTables) {}

Fingerprint* KnownUrls::Find(const Table& table, const Fingerprint& url) const {
  const size_t probes = has_forgotten() ? kProbesOfForgetful : kProbes;
  const size_t count = table.count.load(std::memory_order_relaxed);
  if (count == 0) return nullptr;
  size_t at = Home(url, count);
  for (size_t probe = 0; probe < probes; ++probe, at = at + 1 == count ? 0 : at + 1) {
    Bucket& bucket = table.buckets[at];
    for (size_t i = 0; i < bucket.used; ++i) {
      if (bucket.slots[i] == url) return &bucket.slots[i];
    }
    if (bucket.used < kSlots) return nullptr;
  }
  return nullptr;
}

bool KnownUrls::Contains(const Fingerprint& url) const {
  const Table& table = TableOf(url);
  const std::lock_guard<std::mutex> lock(table.mutex);
  return Find(table, url) != nullptr;
}

bool KnownUrls::Place(Table& table, const Fingerprint& url) {
  const size_t count = table.count.load(std::memory_order_relaxed);
  size_t at = Home(url, count);
  for (size_t probe = 0; probe < kProbes; ++probe, at = at + 1 == count ? 0 : at + 1) {
    Bucket& bucket = table.buckets[at];
    for (size_t i = 0; i < bucket.used; ++i) {
      if (bucket.slots[i] != Fingerprint()) continue;
      bucket.slots[i] = url;
      return true;
    }
    if (bucket.used == kSlots) continue;
    bucket.slots[bucket.used++] = url;
    return true;
  }
  return false;
}

bool KnownUrls::Grow(Table& table) {
  const size_t old_count = table.count.load(std::memory_order_relaxed);
  HugeArray<Bucket> old = std::move(table.buckets);
  for (size_t count = old_count == 0 ? kFirstBuckets : 2 * old_count;
       count * sizeof(Bucket) <= max_table_bytes_; count *= 2) {
    table.buckets.reset(AllocateHuge<Bucket>(count));
    std::memset(static_cast<void*>(table.buckets.get()), 0, count * sizeof(Bucket));
    table.count.store(count, std::memory_order_relaxed);
    table.first.store(table.buckets.get(), std::memory_order_relaxed);
    bool placed = true;
    for (size_t b = 0; b < old_count && placed; ++b) {
      for (size_t i = 0; i < old[b].used && placed; ++i) {
        if (old[b].slots[i] != Fingerprint()) placed = Place(table, old[b].slots[i]);
      }
    }
    if (!placed) continue;  // too many in one place: the next size parts them
    bytes_ += (count - old_count) * sizeof(Bucket);
    return true;
  }
  table.buckets = std::move(old);
  table.count.store(old_count, std::memory_order_relaxed);
  table.first.store(table.buckets.get(), std::memory_order_relaxed);
  return false;
}

void KnownUrls::Replace(Table& table, const Fingerprint& url) {
  has_forgotten_ = true;
  const size_t count = table.count.load(std::memory_order_relaxed);
  if (count == 0) return;
  Bucket& home = table.buckets[Home(url, count)];
  if (home.used < kSlots) {
    home.slots[home.used++] = url;
  } else {
    home.slots[url.words[1] % kSlots] = url;
  }
}

size_t KnownUrls::Room(const Table& table) const {
  constexpr size_t kParts = 5 * kTables;  // 0.6 is 3 fifths
  const auto own = static_cast<size_t>(&table - tables_.data());
  return Slots(table) * (3 * kTables + own) / kParts;
}

void KnownUrls::Insert(const Fingerprint& url) {
  Table& table = TableOf(url);
  const std::lock_guard<std::mutex> lock(table.mutex);
  if (Find(table, url) != nullptr) return;
  if (table.size >= Room(table)) Grow(table);
  while (table.size >= Slots(table) * 4 / 5 || !Place(table, url)) {
    if (!Grow(table)) return Replace(table, url);
  }
  ++table.size;
}

void KnownUrls::Erase(const Fingerprint& url) {
  Table& table = TableOf(url);
  const std::lock_guard<std::mutex> lock(table.mutex);
  Fingerprint* const found = Find(table, url);
  if (found == nullptr) return;
  *found = Fingerprint();
  if (table.size > 0) --table.size;
}

void KnownUrls::Prefetch(const Fingerprint& url) const {
  const Table& table = TableOf(url);
  const Bucket* const first = table.first.load(std::memory_order_relaxed);
  const size_t count = table.count.load(std::memory_order_relaxed);
  if (count > 0) __builtin_prefetch(first + Home(url, count));
}

}  // namespace escalona::frontier

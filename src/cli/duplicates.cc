// Parts the keys by their upper bits, so that a hash table for each part stays in the cache.
#include "cli/duplicates.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/huge_memory.h"
#include "revisit/parallel.h"

namespace escalona::cli {
namespace {

constexpr int kBucketBits = 10;
constexpr size_t kBuckets = size_t{1} << kBucketBits;
constexpr size_t kParts = 4;

size_t BucketOf(uint64_t key) { return key >> (64 - kBucketBits); }

// Appends the repeated ones of `keys`, all of one bucket, to `repeated`. 0 marks a free place of
// the table.
void FindIn(std::span<const uint64_t> keys, std::vector<uint64_t>& table,
            std::vector<uint64_t>& repeated) {
  size_t size = 16;
  while (size < 2 * keys.size()) size *= 2;
  table.assign(size, 0);
  bool zero = false;
  for (const uint64_t key : keys) {
    if (key == 0) {
      if (zero) repeated.push_back(0);
      zero = true;
      continue;
    }
    size_t at = key & (size - 1);
    while (table[at] != 0 && table[at] != key) at = (at + 1) & (size - 1);
    if (table[at] == key) repeated.push_back(key);
    table[at] = key;
  }
}

}  // namespace

std::vector<uint64_t> RepeatedKeys(std::span<const uint64_t> keys, int threads) {
  std::vector<std::vector<size_t>> next(kParts, std::vector<size_t>(kBuckets, 0));
  const auto part = [&](size_t p) {
    const size_t begin = keys.size() * p / kParts;
    return keys.subspan(begin, keys.size() * (p + 1) / kParts - begin);
  };
  revisit::ParallelFor(threads, kParts, [&](size_t p) {
    for (const uint64_t key : part(p)) ++next[p][BucketOf(key)];
  });
  std::vector<size_t> begin(kBuckets + 1, 0);
  size_t at = 0;
  for (size_t b = 0; b < kBuckets; ++b) {
    begin[b] = at;
    for (size_t p = 0; p < kParts; ++p) at += std::exchange(next[p][b], at);
  }
  begin[kBuckets] = at;
  const HugeArray<uint64_t> sorted(AllocateHuge<uint64_t>(keys.size()));
  revisit::ParallelFor(threads, kParts, [&](size_t p) {
    for (const uint64_t key : part(p)) sorted[next[p][BucketOf(key)]++] = key;
  });
  std::vector<uint64_t> repeated;
  std::mutex mutex;
  revisit::ParallelFor(threads, kBuckets, [&](size_t b) {
    thread_local std::vector<uint64_t> table;
    std::vector<uint64_t> found;
    FindIn({sorted.get() + begin[b], begin[b + 1] - begin[b]}, table, found);
    if (found.empty()) return;
    const std::lock_guard lock(mutex);
    repeated.insert(repeated.end(), found.begin(), found.end());
  });
  std::sort(repeated.begin(), repeated.end());
  repeated.erase(std::unique(repeated.begin(), repeated.end()), repeated.end());
  return repeated;
}

}  // namespace escalona::cli

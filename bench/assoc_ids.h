// The pairs the association benchmarks count: 16-byte ids that follow from numbers.
#ifndef ESCALONA_BENCH_ASSOC_IDS_H_
#define ESCALONA_BENCH_ASSOC_IDS_H_

#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace escalona::bench {

inline uint64_t Scramble(uint64_t x) {
  x ^= x >> 31;
  x *= 0x7FB5D329728EA185;
  x ^= x >> 27;
  x *= 0x81DADEF4BC2DD44D;
  return x ^ (x >> 33);
}

// 16 bytes that look random, so that no table of names is needed.
struct Id {
  char bytes[16];
  Id() = default;
  Id(uint64_t kind, uint64_t number) {
    const uint64_t low = Scramble(number * 4 + kind);
    const uint64_t high = Scramble(low + number);
    std::memcpy(bytes, &low, 8);
    std::memcpy(bytes + 8, &high, 8);
  }
  std::string_view view() const { return {bytes, sizeof(bytes)}; }
};

inline Id AssociatorId(uint64_t associator) { return {0, associator}; }

// Every pair has a key of its own: the worst case for memory.
inline Id KeyId(uint64_t associator, uint64_t key, uint64_t keys) {
  return {1, associator * keys + key};
}

// Random pairs of numbers below (associators, keys), the same at each run.
class PairNumbers {
 public:
  PairNumbers(uint64_t associators, uint64_t keys) : associators_(associators), keys_(keys) {}
  std::pair<uint64_t, uint64_t> Next() {
    const uint64_t r = Scramble(state_ += 0x9E3779B97F4A7C15);
    return {(r >> 32) % associators_, (r & 0xFFFFFFFF) % keys_};
  }

 private:
  uint64_t associators_;
  uint64_t keys_;
  uint64_t state_ = 1;
};

}  // namespace escalona::bench

#endif  // ESCALONA_BENCH_ASSOC_IDS_H_

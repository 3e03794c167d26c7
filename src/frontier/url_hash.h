// The fingerprint by which a URL is known.
#ifndef ESCALONA_FRONTIER_URL_HASH_H_
#define ESCALONA_FRONTIER_URL_HASH_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace escalona::frontier {

// 96 bits. Of n URLs, two have the same with a probability of about n^2 / 2^97: one in 3 billion
// for 10^10 URLs. That is taken to be never.
struct Fingerprint {
  std::array<uint32_t, 3> words = {};

  static constexpr size_t kBytes = 12;

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Fingerprint& f) {
    return H::combine(std::move(h), f.words[0], f.words[1]);  // they are a hash already
  }
  std::string_view bytes() const { return {reinterpret_cast<const char*>(words.data()), kBytes}; }
  static Fingerprint Of(std::string_view bytes) {
    Fingerprint f;
    std::memcpy(f.words.data(), bytes.data(), kBytes);
    return f;
  }
};

using HashKey = std::array<uint64_t, 2>;

// SipHash with 128 bits of output: without the key nobody can make two texts with one hash.
template <int kRounds, int kLastRounds>
std::array<uint64_t, 2> SipHash(const HashKey& key, std::string_view text);

// Of a URL in a queue. The key is random and belongs to the data directory.
Fingerprint FingerprintOf(const HashKey& key, uint64_t queue, std::string_view url);

}  // namespace escalona::frontier

#endif  // ESCALONA_FRONTIER_URL_HASH_H_

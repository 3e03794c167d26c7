#include "frontier/url_hash.h"

#include <bit>

namespace escalona::frontier {
namespace {

static_assert(std::endian::native == std::endian::little);

struct SipState {
  uint64_t v0, v1, v2, v3;

  void Round() {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }
  template <int kRounds>
  void Take(uint64_t word) {
    v3 ^= word;
    for (int i = 0; i < kRounds; ++i) Round();
    v0 ^= word;
  }
  template <int kRounds>
  uint64_t Finish() {
    for (int i = 0; i < kRounds; ++i) Round();
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

}  // namespace

template <int kRounds, int kLastRounds>
std::array<uint64_t, 2> SipHash(const HashKey& key, std::string_view text) {
  SipState state = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d ^ 0xee,
                    key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
  const uint64_t size = text.size();
  uint64_t word;
  for (; text.size() >= sizeof(word); text.remove_prefix(sizeof(word))) {
    std::memcpy(&word, text.data(), sizeof(word));
    state.Take<kRounds>(word);
  }
  word = 0;
  if (!text.empty()) std::memcpy(&word, text.data(), text.size());
  state.Take<kRounds>(word | size << 56);
  state.v2 ^= 0xee;
  const uint64_t first = state.Finish<kLastRounds>();
  state.v1 ^= 0xdd;
  return {first, state.Finish<kLastRounds>()};
}

template std::array<uint64_t, 2> SipHash<1, 3>(const HashKey&, std::string_view);
template std::array<uint64_t, 2> SipHash<2, 4>(const HashKey&, std::string_view);

Fingerprint FingerprintOf(const HashKey& key, uint64_t queue, std::string_view url) {
  const std::array<uint64_t, 2> hash = SipHash<1, 3>({key[0] ^ queue, key[1]}, url);
  return {{static_cast<uint32_t>(hash[0]), static_cast<uint32_t>(hash[0] >> 32),
           static_cast<uint32_t>(hash[1])}};
}

}  // namespace escalona::frontier

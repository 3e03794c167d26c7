// Recognises GUIDs, packs and hashes keys.
#include "assoc/key.h"

#include <cstring>

namespace escalona::assoc {
namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr size_t kGuidTextBytes = 36;
constexpr uint8_t kLowerLetter = 0x10;
constexpr uint8_t kUpperLetter = 0x20;
constexpr uint8_t kNotADigit = 0x80;

// The value of each hexadecimal digit, with the case of its letter.
constexpr std::array<uint8_t, 256> MakeDigits() {
  std::array<uint8_t, 256> digits{};
  digits.fill(kNotADigit);
  for (int i = 0; i < 10; ++i) digits['0' + i] = static_cast<uint8_t>(i);
  for (int i = 0; i < 6; ++i) {
    digits['a' + i] = static_cast<uint8_t>((10 + i) | kLowerLetter);
    digits['A' + i] = static_cast<uint8_t>((10 + i) | kUpperLetter);
  }
  return digits;
}
constexpr std::array<uint8_t, 256> kDigits = MakeDigits();

// Where the 16 pairs of digits stand in the text.
constexpr std::array<uint8_t, kPackedBytes> kPairs = {0,  2,  4,  6,  9,  11, 14, 16,
                                                      19, 21, 24, 26, 28, 30, 32, 34};

bool PackGuid(std::string_view text, Key& key) {
  if (text.size() != kGuidTextBytes || text[8] != '-' || text[13] != '-' || text[18] != '-' ||
      text[23] != '-') {
    return false;
  }
  unsigned seen = 0;
  for (size_t i = 0; i < kPackedBytes; ++i) {
    const unsigned high = kDigits[static_cast<uint8_t>(text[kPairs[i]])];
    const unsigned low = kDigits[static_cast<uint8_t>(text[kPairs[i] + 1])];
    seen |= high | low;
    key.packed[i] = static_cast<char>(((high & 0xF) << 4) | (low & 0xF));
  }
  const bool mixed = (seen & kLowerLetter) != 0 && (seen & kUpperLetter) != 0;
  if ((seen & kNotADigit) != 0 || mixed) return false;
  key.kind = (seen & kUpperLetter) != 0 ? KeyKind::kGuidUpper : KeyKind::kGuidLower;
  return true;
}

uint64_t Load64(const char* bytes) {
  uint64_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// Both halves of the 128-bit product: every bit of the result depends on every bit of both.
uint64_t Mix(uint64_t a, uint64_t b) {
  const Uint128 product = static_cast<Uint128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Odd constants with as many ones as zeros (digits of pi and e, made odd).
constexpr uint64_t kFirst = 0x243F6A8885A308D3;
constexpr uint64_t kSecond = 0x13198A2E03707345;
constexpr uint64_t kThird = 0xB7E151628AED2A6B;

uint64_t HashBytes(std::string_view bytes, uint64_t state) {
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left > 16; left -= 16, at += 16) {
    state = Mix(Load64(at) ^ kFirst ^ state, Load64(at + 8) ^ kSecond);
  }
  std::array<char, 16> tail{};
  std::memcpy(tail.data(), at, left);
  state = Mix(Load64(tail.data()) ^ kFirst ^ state, Load64(tail.data() + 8) ^ kSecond);
  return Mix(state ^ kThird, bytes.size() ^ kFirst);
}

}  // namespace

uint64_t HashKey(KeyKind kind, std::string_view bytes, uint64_t seed) {
  return HashBytes(bytes, seed + static_cast<uint64_t>(kind) * kThird);
}

Key MakeKey(std::string_view text, uint64_t seed) {
  Key key;
  key.text = text;
  if (!PackGuid(text, key)) {
    key.kind = text.size() == kPackedBytes ? KeyKind::kBytes16 : KeyKind::kBytes;
    if (key.kind == KeyKind::kBytes16) std::memcpy(key.packed.data(), text.data(), kPackedBytes);
  }
  key.hash = HashKey(key.kind, key.Bytes(), seed);
  return key;
}

void AppendKeyText(KeyKind kind, std::string_view bytes, std::string& text) {
  if (kind == KeyKind::kBytes || kind == KeyKind::kBytes16) {
    text.append(bytes);
    return;
  }
  const char* digits = kind == KeyKind::kGuidUpper ? "0123456789ABCDEF" : "0123456789abcdef";
  const size_t start = text.size();
  text.append(kGuidTextBytes, '-');
  for (size_t i = 0; i < kPackedBytes; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    text[start + kPairs[i]] = digits[byte >> 4];
    text[start + kPairs[i] + 1] = digits[byte & 0xF];
  }
}

}  // namespace escalona::assoc

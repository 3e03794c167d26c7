// A key as the counter sees it: recognised, packed and hashed once per call.
#ifndef ESCALONA_ASSOC_KEY_H_
#define ESCALONA_ASSOC_KEY_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace escalona::assoc {

// How a key is written down. Only a spelling that can be given back exactly is packed.
enum class KeyKind : uint8_t {
  kGuidLower,  // 8-4-4-4-12 hexadecimal digits, no upper-case letter: 16 bytes
  kGuidUpper,  // the same with upper-case letters and no lower-case one: 16 bytes
  kBytes16,    // any other string of exactly 16 bytes
  kBytes,      // any other string
};

constexpr size_t kPackedBytes = 16;

// Views the caller's bytes; valid as long as they are. Two keys are equal if and only if kind and
// Bytes() are.
struct Key {
  KeyKind kind;
  std::array<char, kPackedBytes> packed;  // of every kind but kBytes
  std::string_view text;                  // as the caller wrote it
  uint64_t hash;

  std::string_view Bytes() const {
    return kind == KeyKind::kBytes ? text : std::string_view(packed.data(), packed.size());
  }
  // What lists hash by.
  uint32_t Hash32() const { return static_cast<uint32_t>(hash >> 32); }
};

Key MakeKey(std::string_view text, uint64_t seed);

// Hash of a key of `kind` whose Bytes() are `bytes`; equals MakeKey(...).hash.
uint64_t HashKey(KeyKind kind, std::string_view bytes, uint64_t seed);

// Appends the spelling of the key to `text`.
void AppendKeyText(KeyKind kind, std::string_view bytes, std::string& text);

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_KEY_H_

// Text from outside, made valid UTF-8.
#ifndef ESCALONA_BASE_UTF8_H_
#define ESCALONA_BASE_UTF8_H_

#include <string>
#include <string_view>

namespace escalona {

// Size of the character of UTF-8 that `text`, which is not empty, begins with; 0 when it begins
// with none (overlong forms, surrogates and values above U+10FFFF are none).
inline size_t Utf8CharacterSize(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t size = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (size == 0 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;
  if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;
  return size;
}

inline bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = Utf8CharacterSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

// `text` with each byte that belongs to no character replaced by U+FFFD.
inline std::string ValidUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const size_t size = Utf8CharacterSize(text);
    valid.append(size > 0 ? text.substr(0, size) : "\xef\xbf\xbd");
    text.remove_prefix(size > 0 ? size : 1);
  }
  return valid;
}

}  // namespace escalona

#endif  // ESCALONA_BASE_UTF8_H_

// Numbers as LEB128: seven bits a byte, the lowest first.
#ifndef ESCALONA_BASE_VARINT_H_
#define ESCALONA_BASE_VARINT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace escalona {

inline void AppendVarint(uint64_t value, std::string& bytes) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}

// Takes a number off the front of `bytes`; false if there is none that fits 64 bits.
inline bool TakeVarint(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) return false;
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    if (shift == 63 && byte > 1) return false;
    value |= uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

}  // namespace escalona

#endif  // ESCALONA_BASE_VARINT_H_

// Whole numbers of a fixed size that sort, as bytes, like the numbers.
#ifndef ESCALONA_BASE_BIG_ENDIAN_H_
#define ESCALONA_BASE_BIG_ENDIAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace escalona {

// The low `count` bytes of a number.
inline void AppendBigEndian(uint64_t number, size_t count, std::string& bytes) {
  for (size_t i = count; i-- > 0;) bytes.push_back(static_cast<char>(number >> (8 * i)));
}

// Takes a number of `count` bytes off the front; false if there are fewer.
[[nodiscard]] inline bool TakeBigEndian(std::string_view& bytes, size_t count, uint64_t& number) {
  if (bytes.size() < count) return false;
  number = 0;
  for (const char byte : bytes.substr(0, count)) {
    number = number << 8 | static_cast<uint8_t>(byte);
  }
  bytes.remove_prefix(count);
  return true;
}

}  // namespace escalona

#endif  // ESCALONA_BASE_BIG_ENDIAN_H_

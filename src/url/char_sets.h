// Sets of bytes the URL Standard names, as tables: one load tells whether a byte belongs.
#ifndef ESCALONA_URL_CHAR_SETS_H_
#define ESCALONA_URL_CHAR_SETS_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace escalona::url_internal {

class ByteSet {
 public:
  constexpr ByteSet() = default;

  [[nodiscard]] constexpr bool Has(char c) const { return member_[static_cast<uint8_t>(c)]; }

  [[nodiscard]] constexpr ByteSet With(std::string_view bytes) const {
    ByteSet result = *this;
    for (char c : bytes) result.member_[static_cast<uint8_t>(c)] = true;
    return result;
  }
  [[nodiscard]] constexpr ByteSet WithRange(unsigned first, unsigned last) const {
    ByteSet result = *this;
    for (unsigned c = first; c <= last; ++c) result.member_[c] = true;
    return result;
  }
  [[nodiscard]] constexpr ByteSet With(const ByteSet& other) const {
    ByteSet result = *this;
    for (size_t c = 0; c < 256; ++c) result.member_[c] |= other.member_[c];
    return result;
  }

 private:
  std::array<bool, 256> member_ = {};
};

inline constexpr ByteSet kDigit = ByteSet().WithRange('0', '9');
inline constexpr ByteSet kAlpha = ByteSet().WithRange('a', 'z').WithRange('A', 'Z');
inline constexpr ByteSet kHexDigit = kDigit.WithRange('a', 'f').WithRange('A', 'F');
inline constexpr ByteSet kSchemeByte = kAlpha.WithRange('0', '9').With("+-.");

// Percent-encode sets: bytes that are encoded where the set applies.
inline constexpr ByteSet kC0ControlSet = ByteSet().WithRange(0x00, 0x1f).WithRange(0x7f, 0xff);
inline constexpr ByteSet kSpecialQuerySet = kC0ControlSet.With(" \"#<>'");
inline constexpr ByteSet kPathSet = kC0ControlSet.With(" \"#<>?^`{}");
inline constexpr ByteSet kUserinfoSet = kPathSet.With("/:;=@[\\]|");

// Bytes that no domain holds after percent-decoding and IDNA.
inline constexpr ByteSet kForbiddenDomain =
    ByteSet().WithRange(0x00, 0x20).WithRange(0x7f, 0x7f).With("#/:<>?@[\\]^|%");

// RFC 3986: what needs no percent-encoding anywhere, and what has a meaning of its own.
inline constexpr ByteSet kUnreserved = kAlpha.WithRange('0', '9').With("-._~");
inline constexpr ByteSet kReserved = ByteSet().With(":/?#[]@!$&'()*+,;=");

constexpr char ToLowerAscii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

// The value of a hexadecimal digit; the argument is one.
constexpr unsigned HexValue(char c) {
  return c <= '9' ? static_cast<unsigned>(c - '0') : static_cast<unsigned>((c | 0x20) - 'a' + 10);
}

// Whether `a`, whatever its case, is `lower`, which is in lower case.
constexpr bool EqualsIgnoreCase(std::string_view a, std::string_view lower) {
  if (a.size() != lower.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (ToLowerAscii(a[i]) != lower[i]) return false;
  }
  return true;
}

}  // namespace escalona::url_internal

#endif  // ESCALONA_URL_CHAR_SETS_H_

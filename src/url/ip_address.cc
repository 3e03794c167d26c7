// IPv4 and IPv6 addresses as hosts of URLs: every accepted spelling, one printed form.
#include "url/ip_address.h"

#include <algorithm>
#include <charconv>

#include "url/char_sets.h"

namespace escalona::url_internal {
namespace {

// Larger than any IPv4 part may be; values saturate here, so that no count of digits overflows.
constexpr uint64_t kTooLarge = uint64_t{1} << 32;

// A number as C writes it: 10, 0x1F, 017; "0x" is zero. Nothing when a digit does not fit its base.
std::optional<uint64_t> ParseIpv4Number(std::string_view text) {
  if (text.empty()) return std::nullopt;
  unsigned base = 10;
  if (text.size() >= 2 && text[0] == '0') {
    const bool hexadecimal = (text[1] | 0x20) == 'x';
    base = hexadecimal ? 16 : 8;
    text.remove_prefix(hexadecimal ? 2 : 1);
  }
  uint64_t value = 0;
  for (char c : text) {
    if (!kHexDigit.Has(c) || HexValue(c) >= base) return std::nullopt;
    value = std::min(value * base + HexValue(c), kTooLarge);
  }
  return value;
}

void AppendNumber(unsigned value, int base, std::string& out) {
  char digits[10];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, value, base);
  out.append(digits, static_cast<size_t>(end.ptr - digits));
}

// The dotted form that may end an IPv6 address: exactly four decimal numbers without leading zeros.
std::optional<uint32_t> ParseDottedTail(std::string_view text) {
  uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    if (part > 0) {
      if (text.empty() || text[0] != '.') return std::nullopt;
      text.remove_prefix(1);
    }
    unsigned value = 0;
    size_t digits = 0;
    for (; digits < text.size() && kDigit.Has(text[digits]); ++digits) {
      if (digits > 0 && value == 0) return std::nullopt;
      value = value * 10 + HexValue(text[digits]);
      if (value > 255) return std::nullopt;
    }
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
    address = address << 8 | value;
  }
  if (!text.empty()) return std::nullopt;
  return address;
}

}  // namespace

bool EndsInNumber(std::string_view domain) {
  if (domain.ends_with('.')) domain.remove_suffix(1);
  const std::string_view last = domain.substr(domain.rfind('.') + 1);
  if (last.empty()) return false;
  if (std::all_of(last.begin(), last.end(), [](char c) { return kDigit.Has(c); })) return true;
  return ParseIpv4Number(last).has_value();
}

std::optional<uint32_t> ParseIpv4(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  uint64_t address = 0;
  for (int part = 0; part < 4; ++part) {
    const size_t dot = text.find('.');
    const std::optional<uint64_t> number = ParseIpv4Number(text.substr(0, dot));
    if (!number) return std::nullopt;
    const int bits_left = 32 - 8 * part;
    if (dot == std::string_view::npos) {
      if (*number >= uint64_t{1} << bits_left) return std::nullopt;
      return static_cast<uint32_t>(address | *number);
    }
    if (*number > 255) return std::nullopt;
    address |= *number << (bits_left - 8);
    text.remove_prefix(dot + 1);
  }
  return std::nullopt;  // a fifth part
}

void AppendIpv4(uint32_t address, std::string& out) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    AppendNumber(address >> shift & 255, 10, out);
    if (shift > 0) out.push_back('.');
  }
}

std::optional<Ipv6Address> ParseIpv6(std::string_view text) {
  Ipv6Address address = {};
  size_t groups = 0;
  std::optional<size_t> compressed;  // number of groups before "::"
  if (text.starts_with(':')) {
    if (!text.starts_with("::")) return std::nullopt;
    text.remove_prefix(2);
    compressed = 0;
  }
  while (!text.empty()) {
    const size_t used = groups + (compressed ? 1 : 0);  // "::" stands for at least one group
    if (used == 8) return std::nullopt;
    if (text[0] == ':') {
      if (compressed) return std::nullopt;
      text.remove_prefix(1);
      compressed = groups;
      continue;
    }
    unsigned value = 0;
    size_t digits = 0;
    for (; digits < 4 && digits < text.size() && kHexDigit.Has(text[digits]); ++digits) {
      value = value * 16 + HexValue(text[digits]);
    }
    if (digits < text.size() && text[digits] == '.') {
      const std::optional<uint32_t> tail = ParseDottedTail(text);
      if (!tail || used > 6) return std::nullopt;
      address[groups++] = static_cast<uint16_t>(*tail >> 16);
      address[groups++] = static_cast<uint16_t>(*tail & 0xffff);
      break;
    }
    text.remove_prefix(digits);
    if (!text.empty()) {
      // One ':' and more must follow; this also refuses a fifth digit.
      if (text[0] != ':' || text.size() == 1) return std::nullopt;
      text.remove_prefix(1);
    }
    address[groups++] = static_cast<uint16_t>(value);
  }
  if (compressed) {
    std::rotate(address.begin() + static_cast<ptrdiff_t>(*compressed),
                address.begin() + static_cast<ptrdiff_t>(groups), address.end());
  } else if (groups != 8) {
    return std::nullopt;
  }
  return address;
}

void AppendIpv6(const Ipv6Address& address, std::string& out) {
  size_t longest = 8, longest_size = 1;  // a single zero group is not compressed
  for (size_t i = 0; i < 8;) {
    size_t end = i;
    while (end < 8 && address[end] == 0) ++end;
    if (end - i > longest_size) {
      longest = i;
      longest_size = end - i;
    }
    i = end + 1;
  }
  for (size_t i = 0; i < 8; ++i) {
    if (i == longest) {
      out.append(i == 0 ? "::" : ":");
      i += longest_size - 1;
      continue;
    }
    AppendNumber(address[i], 16, out);
    if (i < 7) out.push_back(':');
  }
}

}  // namespace escalona::url_internal

// IPv4 and IPv6 addresses as hosts of URLs: every accepted spelling, one printed form.
#ifndef ESCALONA_URL_IP_ADDRESS_H_
#define ESCALONA_URL_IP_ADDRESS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace escalona::url_internal {

// Eight groups of 16 bits, the first one first.
using Ipv6Address = std::array<uint16_t, 8>;

// Whether the last label of the domain is a number, so that it must be an IPv4 address or is none.
[[nodiscard]] bool EndsInNumber(std::string_view domain);

// One to four numbers, decimal, octal (0...) or hexadecimal (0x...), the last filling the rest of
// the 32 bits; one dot may follow.
[[nodiscard]] std::optional<uint32_t> ParseIpv4(std::string_view text);
void AppendIpv4(uint32_t address, std::string& out);

// The text between the brackets.
[[nodiscard]] std::optional<Ipv6Address> ParseIpv6(std::string_view text);
// Lower case, without leading zeros, the first longest run of two or more zero groups as "::".
void AppendIpv6(const Ipv6Address& address, std::string& out);

}  // namespace escalona::url_internal

#endif  // ESCALONA_URL_IP_ADDRESS_H_

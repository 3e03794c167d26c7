// International domain names to ASCII, as the URL Standard asks.
#ifndef ESCALONA_URL_IDNA_H_
#define ESCALONA_URL_IDNA_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace escalona::url_internal {

// Appends "domain to ASCII" (beStrict false) of `domain`, UTF-8 that holds a byte above 0x7f. The
// result is ASCII and may hold bytes that a domain must not, or nothing. On failure nothing is
// appended and the message says why, as the end of a sentence about the host. Thread-safe.
[[nodiscard]] absl::Status AppendDomainToAscii(std::string_view domain, std::string& out);

}  // namespace escalona::url_internal

#endif  // ESCALONA_URL_IDNA_H_

// The host of an http or https URL: domain, IPv4 or IPv6 address.
#ifndef ESCALONA_URL_HOST_H_
#define ESCALONA_URL_HOST_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "escalona/url.h"

namespace escalona::url_internal {

// The standard's host parser for special schemes: appends the host in normal form to `out`. On
// failure `out` may have grown.
[[nodiscard]] absl::StatusOr<HostKind> AppendHost(std::string_view text, std::string& out);

}  // namespace escalona::url_internal

#endif  // ESCALONA_URL_HOST_H_

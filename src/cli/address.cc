// Splits addresses.
#include "cli/address.h"

#include <charconv>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace escalona::cli {

absl::StatusOr<Address> ParseAddress(std::string_view text, const Listener& listener) {
  const auto wrong = [&] {
    return absl::InvalidArgumentError(absl::StrCat("'", std::string(text),
                                                   "' is not HOST:PORT, such as ", listener.usual,
                                                   " or [::1]", std::strrchr(listener.usual, ':')));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return wrong();
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.front() == '[') {
    if (host.size() < 3 || host.back() != ']') return wrong();
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong();
  }
  Address address{std::string(host), 0};
  const auto end = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (port.empty() || end.ec != std::errc() || end.ptr != port.data() + port.size()) return wrong();
  return address;
}

std::string WhereItListens(const Listener& listener) {
  return absl::StrCat("is the server running (`escalona serve`)? It listens for ",
                      listener.protocol, " on ", listener.usual, " unless its ", listener.flag,
                      " says otherwise; --server HOST:PORT names another address");
}

}  // namespace escalona::cli

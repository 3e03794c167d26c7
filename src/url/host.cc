// The host of an http or https URL: domain, IPv4 or IPv6 address.
#include "url/host.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "url/char_sets.h"
#include "url/idna.h"
#include "url/ip_address.h"
#include "url/percent.h"
#include "url/quote.h"

namespace escalona::url_internal {
namespace {

absl::Status Wrong(std::string_view host, std::string_view what, std::string_view right) {
  return absl::InvalidArgumentError(
      absl::StrCat("the host ", Quoted(host), " ", std::string(what), "; ", std::string(right)));
}

absl::StatusOr<HostKind> AppendBracketed(std::string_view text, std::string& out) {
  if (!text.ends_with(']')) {
    return Wrong(text, "has no closing bracket", "write an IPv6 address as [2001:db8::1]");
  }
  const std::optional<Ipv6Address> address = ParseIpv6(text.substr(1, text.size() - 2));
  if (!address) {
    return Wrong(text, "is no IPv6 address", "write one as [2001:db8::1] or [::ffff:192.0.2.1]");
  }
  out.push_back('[');
  AppendIpv6(*address, out);
  out.push_back(']');
  return HostKind::kIpv6;
}

// Appends the domain in lower-case ASCII, whatever bytes it then holds.
absl::Status AppendAsciiDomain(std::string_view domain, std::string_view text, std::string& out) {
  if (std::any_of(domain.begin(), domain.end(), [](char c) { return (c & 0x80) != 0; })) {
    absl::Status converted = AppendDomainToAscii(domain, out);
    if (converted.ok()) return converted;
    return Wrong(text, std::string_view(converted.message().data(), converted.message().size()),
                 "write a domain such as example.com or xn--bcher-kva.example");
  }
  // Since 2025 the standard lets an ASCII domain pass, also one with xn-- labels that mean nothing.
  for (char c : domain) out.push_back(ToLowerAscii(c));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HostKind> AppendHost(std::string_view text, std::string& out) {
  if (text.starts_with('[')) return AppendBracketed(text, out);
  std::string decoded;
  std::string_view domain = text;
  if (text.find('%') != std::string_view::npos) {
    decoded = PercentDecoded(text);
    domain = decoded;
  }
  const size_t begin = out.size();
  if (absl::Status status = AppendAsciiDomain(domain, text, out); !status.ok()) return status;
  const std::string_view ascii = std::string_view(out).substr(begin);
  if (ascii.empty()) return Wrong(text, "is empty", "write a domain such as example.com");
  const auto bad =
      std::find_if(ascii.begin(), ascii.end(), [](char c) { return kForbiddenDomain.Has(c); });
  if (bad != ascii.end()) {
    return Wrong(text, "has the character " + Quoted(std::string_view(&*bad, 1)),
                 "no domain may hold it, percent-encoded or not");
  }
  if (!EndsInNumber(ascii)) return HostKind::kDomain;
  const std::optional<uint32_t> address = ParseIpv4(ascii);
  if (!address) {
    return Wrong(text, "ends in a number and is no IPv4 address",
                 "write four numbers from 0 to 255 with dots between, such as 192.0.2.1");
  }
  out.resize(begin);
  AppendIpv4(*address, out);
  return HostKind::kIpv4;
}

}  // namespace escalona::url_internal

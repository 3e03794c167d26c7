// The registrable domain of a URL, by the public suffix list (libpsl).
#include <libpsl.h>

#include <string>

#include "escalona/url.h"

namespace escalona {
namespace {

// The newer of the list built into libpsl and the one Debian's `publicsuffix` installs. Loaded
// once, never freed: it is immutable and may be used by all threads until they end.
const psl_ctx_t* SuffixList() {
  static const psl_ctx_t* const list = psl_latest(nullptr);
  return list;
}

// A host longer than a DNS name has no registrable domain, which bounds the copy below.
constexpr size_t kMaxDomain = 255;

}  // namespace

std::string_view Url::RegistrableDomain() const {
  const std::string_view name = HostKey();
  if (at_.host_kind != HostKind::kDomain || name.empty() || name.size() > kMaxDomain) return {};
  if (name.front() == '.' || name.find("..") != name.npos) return {};  // nobody can register it
  if (SuffixList() == nullptr) return {};
  char domain[kMaxDomain + 1];  // libpsl wants a final '\0'
  name.copy(domain, name.size());
  domain[name.size()] = '\0';
  const char* const registrable = psl_registrable_domain(SuffixList(), domain);
  return registrable == nullptr ? std::string_view() : name.substr(registrable - domain);
}

}  // namespace escalona

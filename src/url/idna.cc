// International domain names to ASCII: UTS #46 by ICU.
//
// Why ICU and not libidn2: the standard wants UTS #46 without IDNA2008's own restrictions, and with
// CheckHyphens and VerifyDnsLength off. libidn2 2.3.3 has no such mode: it refuses symbols (U+2603
// in `https://%e2%98%83`, a vector of the Web Platform Tests), labels such as "-x" and "ab--c"
// beside a non-ASCII one, and labels longer than 63 bytes. Browsers call ICU with the options
// below.
#include "url/idna.h"

#include <unicode/uidna.h>

#include "absl/strings/str_cat.h"

namespace escalona::url_internal {
namespace {

// What UTS #46 checks only with CheckHyphens or VerifyDnsLength, which the standard sets to false.
constexpr uint32_t kAllowed = UIDNA_ERROR_EMPTY_LABEL | UIDNA_ERROR_LABEL_TOO_LONG |
                              UIDNA_ERROR_DOMAIN_NAME_TOO_LONG | UIDNA_ERROR_LEADING_HYPHEN |
                              UIDNA_ERROR_TRAILING_HYPHEN | UIDNA_ERROR_HYPHEN_3_4;

// Opened once and never closed: it is immutable and may be used by all threads until they end.
const UIDNA* Uts46() {
  static const UIDNA* const instance = [] {
    UErrorCode error = U_ZERO_ERROR;
    return uidna_openUTS46(UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ |
                               UIDNA_NONTRANSITIONAL_TO_ASCII | UIDNA_NONTRANSITIONAL_TO_UNICODE,
                           &error);
  }();
  return instance;
}

std::string_view Reason(uint32_t errors) {
  if (errors & UIDNA_ERROR_DISALLOWED) return "holds a character that no domain may have";
  if (errors & UIDNA_ERROR_PUNYCODE) return "has a label that begins with xn-- and is no Punycode";
  if (errors & UIDNA_ERROR_INVALID_ACE_LABEL) return "has an xn-- label that stands for no name";
  if (errors & UIDNA_ERROR_BIDI) return "mixes left-to-right and right-to-left letters in a label";
  if (errors & UIDNA_ERROR_CONTEXTJ) return "has a joiner where none is allowed";
  if (errors & UIDNA_ERROR_LEADING_COMBINING_MARK) return "has a label that begins with a mark";
  if (errors & UIDNA_ERROR_LABEL_HAS_DOT) return "has an xn-- label that hides a dot";
  return "is no international domain name";
}

}  // namespace

absl::Status AppendDomainToAscii(std::string_view domain, std::string& out) {
  if (Uts46() == nullptr) return absl::InternalError("cannot be converted: ICU has no data");
  // Nearly every domain fits: three bytes of UTF-8 may map to more ASCII, but rarely do.
  std::string ascii(domain.size() + 64, '\0');
  UIDNAInfo info = UIDNA_INFO_INITIALIZER;
  UErrorCode error = U_ZERO_ERROR;
  int32_t size = 0;
  for (int attempt = 0; attempt < 2; ++attempt) {
    info = UIDNA_INFO_INITIALIZER;
    error = U_ZERO_ERROR;
    size = uidna_nameToASCII_UTF8(Uts46(), domain.data(), static_cast<int32_t>(domain.size()),
                                  ascii.data(), static_cast<int32_t>(ascii.size()), &info, &error);
    if (error != U_BUFFER_OVERFLOW_ERROR) break;
    ascii.resize(static_cast<size_t>(size));
  }
  if (U_FAILURE(error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot be converted to ASCII (", u_errorName(error), ")"));
  }
  ascii.resize(static_cast<size_t>(size));
  const uint32_t errors = info.errors & ~kAllowed;
  if (errors != 0) return absl::InvalidArgumentError(std::string(Reason(errors)));
  out.append(ascii);
  return absl::OkStatus();
}

}  // namespace escalona::url_internal

// Text from outside, made fit for an error message.
#ifndef ESCALONA_URL_QUOTE_H_
#define ESCALONA_URL_QUOTE_H_

#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace escalona::url_internal {

// `text` in quotes, control characters and broken UTF-8 escaped, cut when it is long.
inline std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 120;
  const bool cut = text.size() > kShown;
  std::string shown(text.substr(0, kShown));
  // A character of UTF-8 that the cut splits would be shown as an escape.
  while (cut && !shown.empty() && (shown.back() & 0x80) != 0) {
    const bool lead = (shown.back() & 0x40) != 0;
    shown.pop_back();
    if (lead) break;
  }
  return absl::StrCat("'", absl::Utf8SafeCEscape(shown), cut ? "...'" : "'");
}

}  // namespace escalona::url_internal

#endif  // ESCALONA_URL_QUOTE_H_

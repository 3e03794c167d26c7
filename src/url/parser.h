// The URL Standard's parser for http and https: any text, any base.
#ifndef ESCALONA_URL_PARSER_H_
#define ESCALONA_URL_PARSER_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "escalona/url.h"

namespace escalona::url_internal {

// What a text is resolved against.
struct Base {
  const Url* url = nullptr;       // an http or https URL, or none
  std::string_view other_scheme;  // when there is none: the scheme of a base that is neither
};

// `text` without the C0 controls and spaces around it.
[[nodiscard]] std::string_view Trimmed(std::string_view text);

// The scheme, as written, when `text` begins with one and a ':'; else empty.
[[nodiscard]] std::string_view SchemeOf(std::string_view text);

// Replaces `href` and `at` by the normal form of `text`. `href` shares no memory with `text` or the
// base. On failure both are in any state. O(length).
[[nodiscard]] absl::Status ParseUrl(std::string_view text, const Base& base, std::string& href,
                                    UrlOffsets& at);

}  // namespace escalona::url_internal

#endif  // ESCALONA_URL_PARSER_H_

// The fast path: URLs that are in normal form already, or nearly.
#ifndef ESCALONA_URL_FAST_PATH_H_
#define ESCALONA_URL_FAST_PATH_H_

#include <string>
#include <string_view>

#include "escalona/url.h"

namespace escalona::url_internal {

// Parses what most links look like: an absolute URL, a host of letters, digits, '-', '_' and dots,
// no credentials, nothing to encode, no dot segments. The only changes made are to lower case, to
// drop the fragment and blanks around, and to add the first slash. Returns false, with `href` and
// `at` in any state, for everything else; ParseUrl then decides. When it returns true, ParseUrl
// would have given the same result. `href` does not share memory with `text`.
[[nodiscard]] bool ParsePlainUrl(std::string_view text, std::string& href, UrlOffsets& at);

// The same for a text such as "/a/b?c" or "b.html" on the page `base`, which is not empty.
[[nodiscard]] bool ParsePlainRelative(std::string_view text, const Url& base, std::string& href,
                                      UrlOffsets& at);

}  // namespace escalona::url_internal

#endif  // ESCALONA_URL_FAST_PATH_H_

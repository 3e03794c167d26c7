// Percent-encoding: to encode by a set, to decode, to bring to normal form.
#ifndef ESCALONA_URL_PERCENT_H_
#define ESCALONA_URL_PERCENT_H_

#include <string>
#include <string_view>

#include "url/char_sets.h"

namespace escalona::url_internal {

// Whether `text` has a '%' and two hexadecimal digits at `i`.
inline bool IsEscape(std::string_view text, size_t i) {
  return text[i] == '%' && text.size() - i > 2 && kHexDigit.Has(text[i + 1]) &&
         kHexDigit.Has(text[i + 2]);
}

// Appends `text` with the bytes of `set` as %XX. A '%' is copied as it is.
void AppendPercentEncoded(std::string_view text, const ByteSet& set, std::string& out);

// `text` with each escape replaced by its byte; a '%' that begins no escape stays.
[[nodiscard]] std::string PercentDecoded(std::string_view text);

// Appends `text` in the normal form of RFC 3986, section 6.2.2, made total: an escape of an
// unreserved character becomes the character, other escapes have upper-case digits, a byte that is
// neither reserved nor unreserved becomes an escape, and so does a '%' that begins none. Without
// the last rule "%%34%31" would become "%41", which is not in normal form.
void AppendPercentNormalized(std::string_view text, std::string& out);

}  // namespace escalona::url_internal

#endif  // ESCALONA_URL_PERCENT_H_

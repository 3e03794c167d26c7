// Percent-encoding: to encode by a set, to decode, to bring to normal form.
#include "url/percent.h"

namespace escalona::url_internal {
namespace {

void AppendEscape(char c, std::string& out) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  const auto byte = static_cast<uint8_t>(c);
  const char escape[3] = {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  out.append(escape, sizeof escape);
}

char Unescape(std::string_view text, size_t i) {
  return static_cast<char>(HexValue(text[i + 1]) * 16 + HexValue(text[i + 2]));
}

constexpr ByteSet kNormalAsItIs = kUnreserved.With(kReserved);

}  // namespace

void AppendPercentEncoded(std::string_view text, const ByteSet& set, std::string& out) {
  size_t plain = 0;  // begin of the bytes not yet appended, none of which is in the set
  for (size_t i = 0; i < text.size(); ++i) {
    if (!set.Has(text[i])) continue;
    out.append(text, plain, i - plain);
    AppendEscape(text[i], out);
    plain = i + 1;
  }
  out.append(text, plain);
}

std::string PercentDecoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsEscape(text, i)) {
      out.push_back(Unescape(text, i));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

void AppendPercentNormalized(std::string_view text, std::string& out) {
  size_t plain = 0;  // begin of the bytes not yet appended, all of which stay as they are
  for (size_t i = 0; i < text.size(); ++i) {
    if (kNormalAsItIs.Has(text[i])) continue;
    out.append(text, plain, i - plain);
    char byte = text[i];
    if (IsEscape(text, i)) {
      byte = Unescape(text, i);
      i += 2;
    }
    if (kUnreserved.Has(byte)) {
      out.push_back(byte);
    } else {
      AppendEscape(byte, out);
    }
    plain = i + 1;
  }
  out.append(text, plain);
}

}  // namespace escalona::url_internal

// The fast path: URLs that are in normal form already, or nearly.
#include "url/fast_path.h"

#include <array>
#include <bit>
#include <cstring>

#include "url/char_sets.h"
#include "url/parser.h"
#include "url/scan.h"

namespace escalona::url_internal {
namespace {

constexpr uint64_t Word(std::array<char, 8> bytes) { return std::bit_cast<uint64_t>(bytes); }
constexpr uint64_t kHttp = Word({'h', 't', 't', 'p', ':', '/', '/', 0});
constexpr uint64_t kHttpCase = Word({0x20, 0x20, 0x20, 0x20, 0, 0, 0, 0});
constexpr uint64_t kHttpMask = Word({-1, -1, -1, -1, -1, -1, -1, 0});
constexpr uint64_t kHttps = Word({'h', 't', 't', 'p', 's', ':', '/', '/'});
constexpr uint64_t kHttpsCase = Word({0x20, 0x20, 0x20, 0x20, 0x20, 0, 0, 0});

// Puts the scheme in lower case; size of "http://" or "https://", 0 when there is none.
uint32_t TakeScheme(std::string& href) {
  uint64_t head = 0;
  std::memcpy(&head, href.data(), sizeof head);
  if ((head | kHttpsCase) == kHttps) {
    std::memcpy(href.data(), &kHttps, 8);
    return 8;
  }
  if (((head | kHttpCase) & kHttpMask) == kHttp) {
    std::memcpy(href.data(), &kHttp, 7);
    return 7;
  }
  return 0;
}

// Puts the host in lower case; its end, or 0 when it is empty, may be an IPv4 address or ends in a
// dot.
uint32_t TakeHost(std::string& href, uint32_t begin) {
  const auto end = static_cast<uint32_t>(LowerPlainHost(href, begin));
  uint32_t last_label = end;
  while (last_label > begin && href[last_label - 1] != '.') --last_label;
  return end == last_label || kDigit.Has(href[last_label]) ? 0 : end;
}

// The end of the port whose ':' stands at `colon`; 0 when it is not written as it is printed.
uint32_t TakePort(const std::string& href, uint32_t colon, UrlOffsets& at) {
  uint32_t port = 0;
  uint32_t end = colon + 1;
  for (; end - colon <= 5 && kDigit.Has(href[end]); ++end) port = port * 10 + HexValue(href[end]);
  if (end == colon + 1 || href[colon + 1] == '0' || port > 65535 || port == at.port) return 0;
  at.port = static_cast<uint16_t>(port);
  return end;
}

// Checks path and query from the slash at `begin` on, and cuts the fragment off.
bool FinishPlain(std::string& href, size_t begin, UrlOffsets& at) {
  size_t end = ScanPlainPath(href, begin);
  at.query_begin = static_cast<uint32_t>(end);
  if (end < href.size() && href[end] == '?') end = ScanPlainQuery(href, end + 1);
  if (end == href.size()) return true;
  if (href[end] != '#') return false;
  href.resize(end);
  return true;
}

constexpr ByteSet kNoFirstSegment = ByteSet().With("?#\\");

// What stands before a ':' may be a scheme.
bool HasColonInFirstSegment(std::string_view text) {
  for (char c : text) {
    if (c == ':') return true;
    if (c == '/') return false;
  }
  return false;
}

}  // namespace

bool ParsePlainUrl(std::string_view text, std::string& href, UrlOffsets& at) {
  text = Trimmed(text);
  if (text.size() < 8 || text.size() >= Url::kMaxLength) return false;
  href.assign(text);
  const uint32_t authority = TakeScheme(href);
  if (authority == 0) return false;
  const uint32_t host_end = TakeHost(href, authority);
  if (host_end == 0) return false;
  at = {
      authority, authority, authority, host_end, host_end, 0, uint16_t(authority == 8 ? 443 : 80)};
  if (href[host_end] == ':') {
    at.path_begin = TakePort(href, host_end, at);
    if (at.path_begin == 0) return false;
  }
  if (at.path_begin == href.size()) {
    href.push_back('/');
    at.query_begin = at.path_begin + 1;
    return true;
  }
  return href[at.path_begin] == '/' && FinishPlain(href, at.path_begin, at);
}

bool ParsePlainRelative(std::string_view text, const Url& base, std::string& href, UrlOffsets& at) {
  text = Trimmed(text);
  if (text.empty() || text.size() + base.href().size() > Url::kMaxLength) return false;
  at = base.offsets();
  size_t slash = at.path_begin;  // before the first segment of the text
  if (text[0] == '/') {
    if (text.size() > 1 && text[1] == '/') return false;
    text.remove_prefix(1);
  } else {
    if (kNoFirstSegment.Has(text[0]) || HasColonInFirstSegment(text)) return false;
    slash = base.href().rfind('/', at.query_begin - 1);
  }
  href.assign(base.href(), 0, slash);
  href.push_back('/');
  href.append(text);
  return FinishPlain(href, slash, at);
}

}  // namespace escalona::url_internal

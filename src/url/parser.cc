// The URL Standard's parser for http and https: any text, any base.
//
// The standard's state machine looks at one code point at a time. Here the same states are
// functions over the rest of the input; what each appends to the href is what the standard's
// serializer would print. Only "special" schemes without a file exist here, which removes a third
// of the states.
#include "url/parser.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "url/char_sets.h"
#include "url/host.h"
#include "url/percent.h"
#include "url/quote.h"

namespace escalona::url_internal {
namespace {

constexpr bool IsSlash(char c) { return c == '/' || c == '\\'; }

constexpr ByteSet kTabOrNewline = ByteSet().With("\t\n\r");
constexpr ByteSet kAuthorityEnd = ByteSet().With("/\\?#");
constexpr ByteSet kPathEnd = ByteSet().With("?#");

size_t FindFirst(std::string_view text, const ByteSet& set) {
  size_t i = 0;
  while (i < text.size() && !set.Has(text[i])) ++i;
  return i;
}

// Takes the first `size` bytes off `text` and returns them.
std::string_view Take(std::string_view& text, size_t size) {
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(size);
  return taken;
}

// Number of dots when the segment is a dot segment, with "%2e" as another way to write a dot; else
// 0.
int DotSegment(std::string_view segment) {
  int dots = 0;
  while (!segment.empty()) {
    const size_t size = segment[0] == '.'                               ? 1
                        : EqualsIgnoreCase(segment.substr(0, 3), "%2e") ? 3
                                                                        : 0;
    if (size == 0 || ++dots > 2) return 0;
    segment.remove_prefix(size);
  }
  return dots;
}

class Parser {
 public:
  Parser(std::string_view text, const Base& base, std::string& href, UrlOffsets& at)
      : rest_(text), base_(base), href_(href), at_(at) {}

  absl::Status Run() {
    href_.clear();
    at_ = {};
    const std::string_view scheme = SchemeOf(rest_);
    if (scheme.empty()) return RunWithoutScheme();
    const bool https = EqualsIgnoreCase(scheme, "https");
    if (!https && !EqualsIgnoreCase(scheme, "http")) {
      return absl::InvalidArgumentError(
          absl::StrCat("the scheme ", Quoted(scheme), " is not supported; use http or https"));
    }
    rest_.remove_prefix(scheme.size() + 1);
    // "http:x" is relative to a base of the same scheme, and means "http://x" otherwise.
    if (base_.url != nullptr && base_.url->scheme().size() == scheme.size() &&
        !rest_.starts_with("//")) {
      return RunRelative();
    }
    return RunAuthority(https);
  }

 private:
  absl::Status RunWithoutScheme() {
    if (base_.url != nullptr) return RunRelative();
    if (!base_.other_scheme.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("it is relative and the base is neither http nor https but ",
                       Quoted(base_.other_scheme), "; give an http or https base"));
    }
    return absl::InvalidArgumentError(
        "it has no scheme; begin with http:// or https://, or give the base it is relative to");
  }

  // What is not given is the base's: the relative and relative slash states.
  absl::Status RunRelative() {
    const Url& base = *base_.url;
    const bool https = base.scheme().size() == 5;
    if (!rest_.empty() && IsSlash(rest_[0])) {
      if (rest_.size() > 1 && IsSlash(rest_[1])) return RunAuthority(https);
      CopyFromBase(base.offsets().path_begin);
      AppendPath();
      AppendQuery();
      return absl::OkStatus();
    }
    if (rest_.empty() || rest_[0] == '#') {
      CopyFromBase(base.href().size());
      at_.query_begin = base.offsets().query_begin;
      return absl::OkStatus();
    }
    if (rest_[0] == '?') {
      CopyFromBase(base.offsets().query_begin);
    } else {
      CopyFromBase(base.href().rfind('/', base.offsets().query_begin - 1));
      AppendSegments();
    }
    AppendQuery();
    return absl::OkStatus();
  }

  void CopyFromBase(size_t size) {
    href_.assign(base_.url->href(), 0, size);
    at_ = base_.url->offsets();
  }

  absl::Status RunAuthority(bool https) {
    while (!rest_.empty() && IsSlash(rest_[0])) rest_.remove_prefix(1);
    href_.assign(https ? "https://" : "http://");
    at_.authority = Here();
    std::string_view authority = Take(rest_, FindFirst(rest_, kAuthorityEnd));
    const size_t at_sign = authority.rfind('@');
    at_.username_end = Here();
    if (at_sign != std::string_view::npos) {
      AppendCredentials(Take(authority, at_sign));
      authority.remove_prefix(1);
    }
    if (absl::Status status = AppendHostAndPort(authority, https); !status.ok()) return status;
    AppendPath();
    AppendQuery();
    return absl::OkStatus();
  }

  // Only what is not empty is written: ":@" disappears, "u:@" becomes "u@".
  void AppendCredentials(std::string_view text) {
    const size_t colon = std::min(text.find(':'), text.size());
    const std::string_view password = text.substr(std::min(colon + 1, text.size()));
    AppendPercentEncoded(text.substr(0, colon), kUserinfoSet, href_);
    at_.username_end = Here();
    if (!password.empty()) {
      href_.push_back(':');
      AppendPercentEncoded(password, kUserinfoSet, href_);
    }
    if (Here() > at_.authority) href_.push_back('@');
  }

  absl::Status AppendHostAndPort(std::string_view text, bool https) {
    // A ':' in brackets belongs to an IPv6 address.
    bool in_brackets = false;
    size_t colon = 0;
    for (; colon < text.size() && (in_brackets || text[colon] != ':'); ++colon) {
      if (text[colon] == '[') in_brackets = true;
      if (text[colon] == ']') in_brackets = false;
    }
    at_.host_begin = Here();
    if (colon == 0) {
      return absl::InvalidArgumentError("the host is empty; write a host such as example.com");
    }
    const absl::StatusOr<HostKind> kind = AppendHost(text.substr(0, colon), href_);
    if (!kind.ok()) return kind.status();
    at_.host_kind = *kind;
    at_.host_end = Here();
    return AppendPort(text.substr(std::min(colon + 1, text.size())), https ? 443 : 80);
  }

  absl::Status AppendPort(std::string_view text, uint16_t by_default) {
    unsigned port = 0;
    for (char c : text) {
      if (!kDigit.Has(c)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the port ", Quoted(text), " is not a number; write a number from 0 to 65535"));
      }
      port = std::min(port * 10 + HexValue(c), 65536u);
    }
    if (port > 65535) {
      return absl::InvalidArgumentError(
          absl::StrCat("the port ", Quoted(text), " is too large; write a number from 0 to 65535"));
    }
    at_.port = text.empty() ? by_default : static_cast<uint16_t>(port);
    if (at_.port != by_default) absl::StrAppend(&href_, ":", at_.port);
    at_.path_begin = Here();
    return absl::OkStatus();
  }

  void AppendPath() {
    if (!rest_.empty() && IsSlash(rest_[0])) rest_.remove_prefix(1);
    AppendSegments();
  }

  // Appends each segment with a '/' before it; a dot segment takes one back or stands for nothing.
  void AppendSegments() {
    std::string_view path = Take(rest_, FindFirst(rest_, kPathEnd));
    for (bool last = false; !last;) {
      const auto end = std::find_if(path.begin(), path.end(), IsSlash);
      const std::string_view segment = Take(path, static_cast<size_t>(end - path.begin()));
      last = path.empty();
      if (!last) path.remove_prefix(1);
      const int dots = DotSegment(segment);
      if (dots == 2) RemoveLastSegment();
      if (dots == 0) {
        href_.push_back('/');
        AppendPercentEncoded(segment, kPathSet, href_);
      } else if (last) {
        href_.push_back('/');
      }
    }
    at_.query_begin = Here();
  }

  void RemoveLastSegment() {
    if (href_.size() > at_.path_begin) href_.resize(href_.rfind('/'));
  }

  void AppendQuery() {
    at_.query_begin = Here();
    if (rest_.empty() || rest_[0] != '?') return;
    href_.push_back('?');
    AppendPercentEncoded(rest_.substr(1, rest_.find('#') - 1), kSpecialQuerySet, href_);
  }

  [[nodiscard]] uint32_t Here() const { return static_cast<uint32_t>(href_.size()); }

  std::string_view rest_;  // what is not yet parsed
  const Base& base_;
  std::string& href_;
  UrlOffsets& at_;
};

absl::Status TooLong(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("it is ", std::string(what), "longer than ",
                                                 Url::kMaxLength, " bytes; shorten it"));
}

}  // namespace

std::string_view Trimmed(std::string_view text) {
  const auto blank = [](char c) { return static_cast<uint8_t>(c) <= ' '; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view SchemeOf(std::string_view text) {
  if (text.empty() || !kAlpha.Has(text[0])) return {};
  size_t end = 1;
  while (end < text.size() && kSchemeByte.Has(text[end])) ++end;
  return end < text.size() && text[end] == ':' ? text.substr(0, end) : std::string_view();
}

absl::Status ParseUrl(std::string_view text, const Base& base, std::string& href, UrlOffsets& at) {
  text = Trimmed(text);
  if (text.size() > Url::kMaxLength) return TooLong("");
  std::string cleaned;
  if (FindFirst(text, kTabOrNewline) < text.size()) {
    cleaned.reserve(text.size());
    std::copy_if(text.begin(), text.end(), std::back_inserter(cleaned),
                 [](char c) { return !kTabOrNewline.Has(c); });
    text = cleaned;
  }
  if (absl::Status status = Parser(text, base, href, at).Run(); !status.ok()) return status;
  return href.size() > Url::kMaxLength ? TooLong("in its normal form ") : absl::OkStatus();
}

}  // namespace escalona::url_internal

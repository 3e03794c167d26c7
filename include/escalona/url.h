// Url: an http or https URL in the normal form of the WHATWG URL Standard, as a crawler needs it.
//
// Text goes in, the normal form comes out: schemes and hosts in lower case, default ports and the
// fragment dropped, dot segments resolved, percent-encoding as the standard asks, host names in
// ASCII (IDNA), every way to write an IPv4 or IPv6 address brought to one. docs/url.md has the
// rules.
//
//   absl::StatusOr<escalona::Url> url = escalona::Url::Parse("HTTP://Example.COM:80/a/../b#top");
//   url->href();  // "http://example.com/b"
#ifndef ESCALONA_URL_H_
#define ESCALONA_URL_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace escalona {

// How much two URLs may differ and still be "already known". Each profile includes the ones above
// it.
enum class DedupProfile : uint8_t {
  kExact,      // the normal form itself
  kStandard,   // percent-encoding in normal form, no dot at the end of the host
  kAggressive  // sorted query; no session ids, tracking parameters, `www.`, last slash
};

// What the host of a URL is.
enum class HostKind : uint8_t {
  kDomain,  // a name, in lower-case ASCII
  kIpv4,    // four decimal numbers
  kIpv6     // an address in brackets, compressed
};

// Where the parts of a URL stand in its href:
//
//   https://user:pass@example.com:1234/foo/bar?baz
//           |   |     |          |    |       |
//           |   |     |          |    |       query_begin (at the '?'; size of the href when none)
//           |   |     |          |    path_begin (always a '/')
//           |   |     host_begin host_end
//           |   username_end
//           authority (7 for http, 8 for https)
struct UrlOffsets {
  uint32_t authority = 0;
  uint32_t username_end = 0;
  uint32_t host_begin = 0;
  uint32_t host_end = 0;
  uint32_t path_begin = 0;
  uint32_t query_begin = 0;
  uint16_t port = 0;  // the port to connect to, also when the href does not show it
  HostKind host_kind = HostKind::kDomain;
};

// A URL to fetch. Invariant: href() is empty (a default-constructed or moved-from Url, or one whose
// Assign failed) or is an http or https URL without a fragment that parses to itself.
//
// Views returned by the accessors point into the Url; they are valid until it is assigned, moved or
// destroyed. An accessor costs O(1) unless it says otherwise. Const members may be called from
// several threads at once.
class Url {
 public:
  // A longer text, and a text whose normal form is longer, is refused; browsers have the same
  // limit.
  static constexpr size_t kMaxLength = size_t{2} << 20;

  Url() = default;
  Url(const Url&) = default;
  Url& operator=(const Url&) = default;
  Url(Url&& other) noexcept
      : href_(std::exchange(other.href_, {})), at_(std::exchange(other.at_, {})) {}
  Url& operator=(Url&& other) noexcept {
    href_ = std::exchange(other.href_, {});
    at_ = std::exchange(other.at_, {});
    return *this;
  }
  ~Url() = default;

  // The URL that `text` means. InvalidArgument, with what is wrong and what would be right, when it
  // has no scheme, another scheme than http and https, or is none by the standard. `text` is UTF-8;
  // a byte that is not is percent-encoded as it is in path and query, and refused in the host.
  [[nodiscard]] static absl::StatusOr<Url> Parse(std::string_view text);

  // The URL that `text`, absolute or relative, means on the page `base`. An empty base is no base.
  [[nodiscard]] static absl::StatusOr<Url> Parse(std::string_view text, const Url& base);

  // The same for a base of any scheme, given as text. Against a base that is not http or https only
  // an absolute `text` has a meaning here; a relative one is refused. A base that is itself no URL
  // is refused; of another scheme's base only the scheme is looked at.
  [[nodiscard]] static absl::StatusOr<Url> ParseWithBase(std::string_view text,
                                                         std::string_view base);

  // Parses into this object and reuses its memory: no allocation when the normal form fits into
  // what an earlier one needed, unless the text holds tabs or newlines, or the host percent-escapes
  // or other letters than ASCII. `text` may point into this object and `base` may be this object;
  // both then cost a copy. On failure this Url is empty.
  [[nodiscard]] absl::Status Assign(std::string_view text);
  [[nodiscard]] absl::Status Assign(std::string_view text, const Url& base);

  [[nodiscard]] bool empty() const { return href_.empty(); }

  // The normal form, without fragment: what is fetched, printed, stored.
  [[nodiscard]] const std::string& href() const& { return href_; }
  [[nodiscard]] std::string href() && {
    at_ = {};
    return std::exchange(href_, {});
  }

  // "http" or "https".
  [[nodiscard]] std::string_view scheme() const { return Part(0, empty() ? 0 : at_.authority - 3); }
  // As they stand in the href, percent-encoded; empty when there is none.
  [[nodiscard]] std::string_view username() const { return Part(at_.authority, at_.username_end); }
  [[nodiscard]] std::string_view password() const {
    return at_.host_begin > at_.username_end + 1 ? Part(at_.username_end + 1, at_.host_begin - 1)
                                                 : std::string_view();
  }
  // "example.com", "192.0.2.1", "[2001:db8::1]"; never empty in a URL.
  [[nodiscard]] std::string_view host() const { return Part(at_.host_begin, at_.host_end); }
  [[nodiscard]] HostKind host_kind() const { return at_.host_kind; }
  // The port to connect to: the one written, else 80 or 443. 0 when the Url is empty.
  [[nodiscard]] uint16_t port() const { return at_.port; }
  // Whether the href shows the port, that is, whether it is not the scheme's default.
  [[nodiscard]] bool has_port() const { return at_.path_begin > at_.host_end; }
  // Begins with '/'.
  [[nodiscard]] std::string_view path() const { return Part(at_.path_begin, at_.query_begin); }
  // Without the '?'. `http://a/?` has a query, and it is empty.
  [[nodiscard]] std::string_view query() const {
    return has_query() ? Part(at_.query_begin + 1, href_.size()) : std::string_view();
  }
  [[nodiscard]] bool has_query() const { return at_.query_begin < href_.size(); }
  // What a request asks the host for: path, '?' and query.
  [[nodiscard]] std::string_view request_target() const {
    return Part(at_.path_begin, href_.size());
  }
  [[nodiscard]] const UrlOffsets& offsets() const { return at_; }

  // Number of '/' in the path, slashes at the very end of the URL left out: http://a.com/ has depth
  // 0, http://a.com/x/ has 1, http://a.com/?q has 1, http://a.com//x has 2. Slashes in the query do
  // not count. O(length of the path).
  [[nodiscard]] size_t Depth() const;

  // What a queue is keyed by: the host without the dot that may end it. The port is left out, since
  // politeness is owed to the machine; so is the scheme.
  [[nodiscard]] std::string_view HostKey() const;

  // The domain somebody registered, by the public suffix list: "example.co.uk" for
  // "www.example.co.uk". Empty for an address, a public suffix itself, a name without a dot
  // or with an empty label ("a..com"). O(length of the host); the list is loaded by the first call.
  [[nodiscard]] std::string_view RegistrableDomain() const;

  // The string by which "already known" is decided. Never fetch it: the aggressive profile leaves
  // out what the server may need. A key parses, and has itself as its key (unless escapes made it
  // longer than kMaxLength). O(length), and O(p log p) for p parameters in the aggressive profile.
  [[nodiscard]] std::string DedupKey(DedupProfile profile) const;
  // Appends the key to `out`; in the first two profiles without an allocation when `out` has room.
  void AppendDedupKey(DedupProfile profile, std::string& out) const;

  friend bool operator==(const Url& a, const Url& b) { return a.href_ == b.href_; }
  friend auto operator<=>(const Url& a, const Url& b) { return a.href_ <=> b.href_; }
  template <typename H>
  friend H AbslHashValue(H state, const Url& url) {
    return H::combine(std::move(state), url.href_);
  }

 private:
  [[nodiscard]] std::string_view Part(size_t begin, size_t end) const {
    return std::string_view(href_.data() + begin, end - begin);
  }
  absl::Status AssignAgainst(std::string_view text, const Url* base, std::string_view other_scheme);

  std::string href_;
  UrlOffsets at_;
};

}  // namespace escalona

#endif  // ESCALONA_URL_H_

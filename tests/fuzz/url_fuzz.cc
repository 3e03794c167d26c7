// Fuzzes Url. The first line of the input is the text, the rest the base.
//
// What must hold for every input: the normal form parses to itself, with the same parts; it is
// ASCII without blanks, and not longer than encoding each byte allows; the fast path and the
// general parser agree; each dedup key parses and is its own key.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "escalona/url.h"
#include "url/fast_path.h"
#include "url/parser.h"

namespace escalona {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void RequireSound(const Url& url) {
  const UrlOffsets& at = url.offsets();
  Require(url.scheme() == "http" || url.scheme() == "https");
  Require(at.authority <= at.username_end && at.username_end <= at.host_begin);
  Require(at.host_begin < at.host_end && at.host_end <= at.path_begin);
  Require(at.path_begin < at.query_begin && at.query_begin <= url.href().size());
  Require(url.path().front() == '/');
  Require(url.Depth() <= url.path().size());
  Require(url.host().ends_with(url.HostKey()) || url.host().ends_with('.'));
  Require(url.HostKey().ends_with(url.RegistrableDomain()));
  for (char c : url.href()) Require(c > ' ' && c < 0x7f && c != '#');
}

void RequireStable(const Url& url) {
  const absl::StatusOr<Url> again = Url::Parse(url.href());
  Require(again.ok() && *again == url);
  Require(again->host() == url.host() && again->path() == url.path());
  Require(again->port() == url.port() && again->username() == url.username());
  for (DedupProfile profile :
       {DedupProfile::kExact, DedupProfile::kStandard, DedupProfile::kAggressive}) {
    const std::string key = url.DedupKey(profile);
    Require(key.size() <= 3 * url.href().size());
    const absl::StatusOr<Url> of_key = Url::Parse(key);
    Require(of_key.ok() && of_key->DedupKey(profile) == key);
  }
}

void RequireFastPathAgrees(std::string_view text) {
  std::string fast_href, href;
  UrlOffsets fast_at, at;
  if (!url_internal::ParsePlainUrl(text, fast_href, fast_at)) return;
  Require(url_internal::ParseUrl(text, {}, href, at).ok());
  Require(href == fast_href && at.host_end == fast_at.host_end && at.port == fast_at.port);
  Require(at.path_begin == fast_at.path_begin && at.query_begin == fast_at.query_begin);
}

void RequireRelativeFastPathAgrees(std::string_view text, const absl::StatusOr<Url>& base) {
  std::string fast_href, href;
  UrlOffsets fast_at, at;
  if (!base.ok() || !url_internal::ParsePlainRelative(text, *base, fast_href, fast_at)) return;
  Require(url_internal::ParseUrl(text, {&*base, {}}, href, at).ok());
  Require(href == fast_href && at.query_begin == fast_at.query_begin);
}

// A code point of a host may map to 18 letters; everything else is at most tripled.
size_t LongestResult(size_t size) { return 64 + 18 * size; }

void Check(std::string_view text, std::string_view base_text) {
  RequireFastPathAgrees(text);
  const absl::StatusOr<Url> url = Url::Parse(text);
  if (url.ok()) {
    Require(url->href().size() <= LongestResult(text.size()));
    RequireSound(*url);
    RequireStable(*url);
  }
  RequireRelativeFastPathAgrees(text, Url::Parse(base_text));
  const absl::StatusOr<Url> on_base = Url::ParseWithBase(text, base_text);
  if (!on_base.ok()) return;
  Require(on_base->href().size() <= LongestResult(text.size() + base_text.size()));
  RequireSound(*on_base);
  RequireStable(*on_base);
}

}  // namespace
}  // namespace escalona

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line_end = std::min(input.find('\n'), input.size());
  escalona::Check(input.substr(0, line_end), input.substr(std::min(line_end + 1, input.size())));
  return 0;
}

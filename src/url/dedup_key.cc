// The dedup key of a URL: what "already known" is decided by.
#include <algorithm>
#include <iterator>
#include <string>

#include "absl/container/inlined_vector.h"
#include "escalona/url.h"
#include "url/char_sets.h"
#include "url/percent.h"

namespace escalona {
namespace {

using url_internal::EqualsIgnoreCase;

// Parameters that name a visit, not a page. In lower case; '*' at the end stands for any end.
constexpr std::string_view kSessionParameters[] = {
    "aspsessionid*", "cfid",      "cftoken",    "jsessionid", "oscsid", "phpsessid",
    "sessid",        "sessionid", "session_id", "sid",        "zenid"};

// Parameters that say where the visitor came from. In lower case; '*' as above.
constexpr std::string_view kTrackingParameters[] = {
    "__hsfp",     "__hssc",    "__hstc",  "_ga",      "_gl",    "_hsenc",
    "_hsmi",      "_openstat", "dclid",   "epik",     "fbclid", "gad_source",
    "gbraid",     "gclid",     "gclsrc",  "igsh",     "igshid", "li_fat_id",
    "mc_cid",     "mc_eid",    "mkt_tok", "msclkid",  "mtm_*",  "oly_anon_id",
    "oly_enc_id", "pk_*",      "s_cid",   "srsltid",  "ttclid", "twclid",
    "utm_*",      "vero_id",   "wbraid",  "wickedid", "yclid",  "ysclid"};

bool Matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return EqualsIgnoreCase(name, pattern);
  pattern.remove_suffix(1);
  return EqualsIgnoreCase(name.substr(0, pattern.size()), pattern);
}

std::string_view NameOf(std::string_view parameter) {
  return parameter.substr(0, parameter.find('='));
}

bool IsSession(std::string_view parameter) {
  const std::string_view name = NameOf(parameter);
  return std::any_of(std::begin(kSessionParameters), std::end(kSessionParameters),
                     [&](std::string_view pattern) { return Matches(name, pattern); });
}

bool IsTracking(std::string_view parameter) {
  const std::string_view name = NameOf(parameter);
  return std::any_of(std::begin(kTrackingParameters), std::end(kTrackingParameters),
                     [&](std::string_view pattern) { return Matches(name, pattern); });
}

// Calls `use` for each piece of `text` between separators; an empty text is one empty piece.
template <typename Use>
void ForEachPiece(std::string_view text, char separator, Use use) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    use(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

// `www.example.com` and `example.com` are one; `www.com` is a domain of its own.
std::string_view WithoutWww(std::string_view host) {
  while (host.starts_with("www.") && host.find('.', 4) != std::string_view::npos) {
    host.remove_prefix(4);
  }
  return host;
}

// Takes `;jsessionid=...` and its like out of each segment of the path that ends `key`.
void RemovePathSessions(std::string& key, size_t path_begin) {
  if (key.find(';', path_begin) == std::string::npos) return;
  const std::string path = key.substr(path_begin + 1);
  key.resize(path_begin);
  ForEachPiece(path, '/', [&key](std::string_view segment) {
    key.push_back('/');
    const size_t name_end = std::min(segment.find(';'), segment.size());
    const std::string_view name = segment.substr(0, name_end);
    key.append(name);
    if (name_end == segment.size()) return;
    // "..;sid=1" without its parameter would become a dot segment, which means another path.
    const bool keep = name == "." || name == "..";
    ForEachPiece(segment.substr(name_end + 1), ';', [&key, keep](std::string_view parameter) {
      if (keep || !IsSession(parameter)) key.append(";").append(parameter);
    });
  });
}

// Sorts by name and keeps the order of equal names, where it may have a meaning. All parameters are
// parts of `query`, so their addresses tell their order.
void AppendSortedQuery(std::string_view query, std::string& key) {
  absl::InlinedVector<std::string_view, 16> kept;
  ForEachPiece(query, '&', [&kept](std::string_view parameter) {
    if (!parameter.empty() && !IsSession(parameter) && !IsTracking(parameter)) {
      kept.push_back(parameter);
    }
  });
  std::sort(kept.begin(), kept.end(), [](std::string_view a, std::string_view b) {
    const int order = NameOf(a).compare(NameOf(b));
    return order != 0 ? order < 0 : a.data() < b.data();
  });
  char separator = '?';
  for (std::string_view parameter : kept) {
    key.push_back(separator);
    key.append(parameter);
    separator = '&';
  }
}

}  // namespace

void Url::AppendDedupKey(DedupProfile profile, std::string& out) const {
  if (profile == DedupProfile::kExact || empty()) {
    out.append(href_);
    return;
  }
  const bool aggressive = profile == DedupProfile::kAggressive;
  out.append(href_, 0, at_.authority);
  url_internal::AppendPercentNormalized(Part(at_.authority, at_.host_begin), out);
  out.append(aggressive ? WithoutWww(HostKey()) : HostKey());
  out.append(href_, at_.host_end, at_.path_begin - at_.host_end);
  const size_t path_begin = out.size();
  url_internal::AppendPercentNormalized(path(), out);
  if (!aggressive) {
    url_internal::AppendPercentNormalized(Part(at_.query_begin, href_.size()), out);
    return;
  }
  RemovePathSessions(out, path_begin);
  while (out.size() > path_begin && out.back() == '/') out.pop_back();
  if (!has_query()) return;
  std::string query;
  url_internal::AppendPercentNormalized(this->query(), query);
  AppendSortedQuery(query, out);
}

}  // namespace escalona

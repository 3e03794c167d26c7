// Url: how text becomes one, and what is computed from its parts.
#include "escalona/url.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "url/char_sets.h"
#include "url/fast_path.h"
#include "url/parser.h"

namespace escalona {
namespace {

bool SharesMemory(std::string_view text, const std::string& memory) {
  const std::less<> before;
  return !before(text.data(), memory.data()) &&
         !before(memory.data() + memory.capacity(), text.data());
}

}  // namespace

absl::StatusOr<Url> Url::Parse(std::string_view text) {
  Url url;
  if (absl::Status status = url.Assign(text); !status.ok()) return status;
  return url;
}

absl::StatusOr<Url> Url::Parse(std::string_view text, const Url& base) {
  Url url;
  if (absl::Status status = url.Assign(text, base); !status.ok()) return status;
  return url;
}

absl::StatusOr<Url> Url::ParseWithBase(std::string_view text, std::string_view base) {
  absl::StatusOr<Url> parsed_base = Parse(base);
  if (parsed_base.ok()) return Parse(text, *parsed_base);
  const std::string_view scheme = url_internal::SchemeOf(url_internal::Trimmed(base));
  const bool ours = url_internal::EqualsIgnoreCase(scheme, "http") ||
                    url_internal::EqualsIgnoreCase(scheme, "https");
  if (scheme.empty() || ours) {
    return absl::InvalidArgumentError(
        absl::StrCat("the base cannot be used: ", parsed_base.status().message()));
  }
  Url url;
  if (absl::Status status = url.AssignAgainst(text, nullptr, scheme); !status.ok()) return status;
  return url;
}

absl::Status Url::Assign(std::string_view text) { return AssignAgainst(text, nullptr, {}); }

absl::Status Url::Assign(std::string_view text, const Url& base) {
  if (&base != this) return AssignAgainst(text, base.empty() ? nullptr : &base, {});
  const Url copy = base;
  return AssignAgainst(text, copy.empty() ? nullptr : &copy, {});
}

absl::Status Url::AssignAgainst(std::string_view text, const Url* base,
                                std::string_view other_scheme) {
  std::string copy;
  if (SharesMemory(text, href_)) {
    copy = text;
    text = copy;
  }
  if (url_internal::ParsePlainUrl(text, href_, at_)) return absl::OkStatus();
  if (base != nullptr && url_internal::ParsePlainRelative(text, *base, href_, at_)) {
    return absl::OkStatus();
  }
  const url_internal::Base against = {base, other_scheme};
  absl::Status status = url_internal::ParseUrl(text, against, href_, at_);
  if (!status.ok()) {
    href_.clear();
    at_ = {};
  }
  return status;
}

size_t Url::Depth() const {
  std::string_view counted = path();
  if (!has_query()) {
    while (counted.ends_with('/')) counted.remove_suffix(1);
  }
  return static_cast<size_t>(std::count(counted.begin(), counted.end(), '/'));
}

std::string_view Url::HostKey() const {
  std::string_view key = host();
  // "a.." has an empty label, which no dot at the end explains; it is another name than "a".
  if (key.size() > 1 && key.ends_with('.') && key[key.size() - 2] != '.') key.remove_suffix(1);
  return key;
}

std::string Url::DedupKey(DedupProfile profile) const {
  std::string key;
  AppendDedupKey(profile, key);
  return key;
}

}  // namespace escalona

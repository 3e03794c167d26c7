#include "cli/item_line.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/utf8.h"
#include "escalona/frontier.h"
#include "escalona/url.h"
#include "url/quote.h"

namespace escalona::cli {
namespace {

std::string_view Trimmed(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = line.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlank) + 1 - begin);
}

absl::Status ParseJson(std::string_view line, urlfrontier::URLItem& item) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // of a later release
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(line.data(), line.size()), &item, options);
  if (!status.ok()) {
    const std::string reason(status.message());  // more lines may show the place
    return absl::InvalidArgumentError(absl::StrCat(
        "no URLItem in JSON: ", absl::StripSuffix(reason.substr(0, reason.find('\n')), ".")));
  }
  if (item.item_case() == urlfrontier::URLItem::ITEM_NOT_SET) {
    return absl::InvalidArgumentError(
        R"(a URLItem must have "discovered" or "known", such as {"discovered":{"info":{"url":"..."}}})");
  }
  return absl::OkStatus();
}

// True if it starts with a scheme and "://".
bool IsAbsolute(std::string_view url) {
  const std::string_view scheme = url.substr(0, url.find("://"));
  return scheme.size() < url.size() && !scheme.empty() && absl::ascii_isalpha(scheme.front()) &&
         std::all_of(scheme.begin(), scheme.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '+' || c == '-' || c == '.';
         });
}

// What was meant by a URL that is not absolute, if it starts with the name of a host; else an
// example.
std::string Meant(std::string_view url) {
  constexpr size_t kMost = 120;
  if (url.starts_with("//")) url.remove_prefix(2);
  const std::string_view host = url.substr(0, url.find_first_of(":/?#"));
  if (!host.empty() && absl::ascii_isalnum(host.front()) &&
      host.find('.') != std::string_view::npos) {
    const absl::StatusOr<Url> meant = Url::Parse("https://" + std::string(url));
    if (meant.ok() && meant->href().size() <= kMost) return std::string(meant->href());
  }
  return "one such as https://example.org/a, or a URLItem with a key";
}

// An item without a key goes into the queue of its host. Servers derive that from any text: of
// "example.org" it is what was meant, of "page.html" or "mailto:..." a queue nobody would look for.
absl::Status CheckHost(std::string_view url) {
  if (!IsAbsolute(url)) {
    return absl::InvalidArgumentError(
        absl::StrCat(url_internal::Quoted(url), " is not an absolute URL; write ", Meant(url)));
  }
  if (!DeriveQueueKey(url).empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(url_internal::Quoted(url), " names no host; write ", Meant({})));
}

}  // namespace

absl::StatusOr<bool> ParseItemLine(std::string_view line, const std::string& crawl,
                                   urlfrontier::URLItem& item) {
  item.Clear();
  line = Trimmed(line);
  if (line.empty() || line.front() == '#') return false;
  if (!IsUtf8(line)) return absl::InvalidArgumentError("the line is no UTF-8");
  if (line.front() == '{') {
    if (absl::Status status = ParseJson(line, item); !status.ok()) return status;
  } else {
    item.mutable_discovered()->mutable_info()->set_url(std::string(line));
  }
  urlfrontier::URLInfo* info = item.has_known() ? item.mutable_known()->mutable_info()
                                                : item.mutable_discovered()->mutable_info();
  if (info->key().empty()) {
    if (absl::Status status = CheckHost(info->url()); !status.ok()) return status;
  }
  if (info->crawlid().empty()) info->set_crawlid(crawl);
  return true;
}

}  // namespace escalona::cli

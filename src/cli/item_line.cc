#include "cli/item_line.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"

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
    return absl::InvalidArgumentError(
        absl::StrCat("no URLItem in JSON: ", reason.substr(0, reason.find('\n'))));
  }
  if (item.item_case() == urlfrontier::URLItem::ITEM_NOT_SET) {
    return absl::InvalidArgumentError(
        R"(a URLItem must have "discovered" or "known", such as {"discovered":{"info":{"url":"..."}}})");
  }
  return absl::OkStatus();
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
  if (info->crawlid().empty()) info->set_crawlid(crawl);
  return true;
}

}  // namespace escalona::cli

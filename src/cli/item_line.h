// A line of a file of URLs: a URL, or a URLItem as JSON.
#ifndef ESCALONA_CLI_ITEM_LINE_H_
#define ESCALONA_CLI_ITEM_LINE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/urlfrontier.pb.h"

namespace escalona::cli {

// False for a line that holds nothing: blank, or a comment that starts with '#'. A line that starts
// with '{' is a URLItem in the JSON of protobuf, anything else a discovered URL; blanks around it
// do not count. An item without a key must have a URL with a scheme, any one, and a host. An item
// without a crawl gets `crawl`. InvalidArgument says what is wrong.
absl::StatusOr<bool> ParseItemLine(std::string_view line, const std::string& crawl,
                                   urlfrontier::URLItem& item);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_ITEM_LINE_H_

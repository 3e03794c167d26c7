// HOST:PORT as people write it: 127.0.0.1:8080, localhost:0, [::1]:8080.
#ifndef ESCALONA_CLI_ADDRESS_H_
#define ESCALONA_CLI_ADDRESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace escalona::cli {

struct Address {
  std::string host;  // without brackets
  uint16_t port = 0;
};

// InvalidArgument says what would be right.
absl::StatusOr<Address> ParseAddress(std::string_view text);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_ADDRESS_H_

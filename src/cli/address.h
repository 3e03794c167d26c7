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

// One of the two addresses `serve` listens on.
struct Listener {
  const char* protocol;
  const char* flag;   // that changes it
  const char* usual;  // where it listens, and is looked for, unless told otherwise
};
inline constexpr Listener kHttpListener = {"HTTP", "--http", "127.0.0.1:8080"};
inline constexpr Listener kGrpcListener = {"gRPC", "--grpc", "127.0.0.1:7071"};

// InvalidArgument says what would be right, with the usual port.
absl::StatusOr<Address> ParseAddress(std::string_view text, const Listener& listener);

// What to look at when nobody who speaks its protocol answers.
std::string WhereItListens(const Listener& listener);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_ADDRESS_H_

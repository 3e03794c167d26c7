// Where `escalona assoc` does its work: a server, or a data folder that no server uses.
#ifndef ESCALONA_CLI_ASSOC_TARGET_H_
#define ESCALONA_CLI_ASSOC_TARGET_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "server/http_client.h"

namespace escalona::cli {

// Both speak the server's API: what a request means is decided in one place.
class AssocTarget {
 public:
  using Next = absl::FunctionRef<absl::StatusOr<bool>(std::string&)>;
  using Taker = absl::FunctionRef<absl::Status(std::string_view)>;

  virtual ~AssocTarget() = default;
  virtual absl::StatusOr<server::ClientResponse> Ask(const server::ClientRequest& request) = 0;
  virtual absl::StatusOr<server::ClientResponse> Upload(const server::ClientRequest& request,
                                                        Next next) = 0;
  virtual absl::StatusOr<server::ClientResponse> Download(const server::ClientRequest& request,
                                                          Taker take) = 0;
};

// `server` is HOST:PORT, with or without http:// before it; if `data` is not empty, it is the
// folder.
absl::StatusOr<std::unique_ptr<AssocTarget>> OpenAssocTarget(const std::string& server,
                                                             const std::string& data);

// What to tell of an error: where nobody answered, also where a server listens.
std::string MessageOf(const absl::Status& error);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_ASSOC_TARGET_H_

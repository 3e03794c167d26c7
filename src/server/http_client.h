// A blocking HTTP client for the command line: one connection, one request at a time.
#ifndef ESCALONA_SERVER_HTTP_CLIENT_H_
#define ESCALONA_SERVER_HTTP_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/http_message.h"

namespace escalona::server {

struct ClientRequest {
  Method method = Method::kGet;
  std::string target;  // path and query, encoded
  std::string_view content_type = "application/json";
  std::string_view body;
};

struct ClientResponse {
  int status = 0;
  std::string body;
};

// Connects when it is first used, and again when the server has closed. Not thread safe. Errors are
// those of the connection (Unavailable); what the server says is in the response.
class HttpClient {
 public:
  HttpClient(std::string host, uint16_t port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  absl::StatusOr<ClientResponse> Ask(const ClientRequest& request);
  // Sends the pieces that `next` appends, until it returns false. Ends early if the server answers.
  absl::StatusOr<ClientResponse> Upload(const ClientRequest& request,
                                        absl::FunctionRef<absl::StatusOr<bool>(std::string&)> next);
  // Gives the body of a 200 to `take`, piece by piece; the body of another answer is in the
  // response.
  absl::StatusOr<ClientResponse> Download(const ClientRequest& request,
                                          absl::FunctionRef<absl::Status(std::string_view)> take);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_HTTP_CLIENT_H_

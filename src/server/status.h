// Errors of the frontier as gRPC tells them.
#ifndef ESCALONA_SERVER_STATUS_H_
#define ESCALONA_SERVER_STATUS_H_

#include <grpcpp/support/status.h>
#include <spdlog/spdlog.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace escalona::server {

// The codes of both have the same numbers.
inline grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

inline bool IsMistakeOfTheClient(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsInvalidArgument(status);
}

// The same, and a line in the log if it is not the client's mistake.
inline grpc::Status Report(std::string_view call, const absl::Status& status) {
  if (!status.ok() && !IsMistakeOfTheClient(status)) {
    spdlog::error("{} failed: {}", call, status.ToString());
  }
  return ToGrpc(status);
}

inline grpc::Status Malformed() {
  return {grpc::StatusCode::INVALID_ARGUMENT, "the request is no message of this call"};
}

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_STATUS_H_

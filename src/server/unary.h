// Answers of unary calls, at once or from a worker.
#ifndef ESCALONA_SERVER_UNARY_H_
#define ESCALONA_SERVER_UNARY_H_

#include <grpcpp/support/server_callback.h>

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "server/status.h"
#include "server/worker_pool.h"

namespace escalona::server {

inline grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                        const grpc::Status& status = grpc::Status::OK) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

// Runs `work`, which returns an absl::Status, in a worker; request and reply stay until it returns.
template <class Work>
grpc::ServerUnaryReactor* Later(grpc::CallbackServerContext* context, WorkerPool& workers,
                                std::string_view call, Work work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  workers.Post([reactor, call, work = std::move(work)] { reactor->Finish(Report(call, work())); });
  return reactor;
}

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_UNARY_H_

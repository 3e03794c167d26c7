// The gRPC side of the server: ports, services, start and end.
#ifndef ESCALONA_SERVER_GRPC_SERVER_H_
#define ESCALONA_SERVER_GRPC_SERVER_H_

#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/admin_service.h"
#include "server/frontier_service.h"
#include "server/wakefulness.h"

namespace escalona::server {

struct GrpcOptions {
  std::string address = "127.0.0.1:7071";  // port 0: any that is free
  std::string node;                        // HOST:PORT that ListNodes tells; empty: the address
  int max_message_bytes = 64 << 20;
  absl::Duration list_patience = absl::Minutes(5);  // with readers of ListURLs that take nothing
};

// Listens from Start() on; calls run in threads of gRPC. The others outlive it.
class GrpcServer {
 public:
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const GrpcOptions& options,
                                                           Frontier& frontier, const Clock& clock,
                                                           Metrics& metrics);
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;
  ~GrpcServer();

  const std::string& address() const { return address_; }  // with the port it listens on

  // The port is closed first, so that a client whose stream ends cannot come back before the
  // server does. What was read is put and acknowledged, then streams end with UNAVAILABLE; calls
  // that are not over within `patience` are cancelled.
  void Shutdown(absl::Duration patience);

 private:
  class Port;

  GrpcServer(const GrpcOptions& options, Frontier& frontier, const Clock& clock, Metrics& metrics);

  FrontierService service_;
  AdminService admin_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Port> port_;
  std::unique_ptr<Wakefulness> awake_;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_GRPC_SERVER_H_

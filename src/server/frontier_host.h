// The frontier and its gRPC side as parts of the server process.
#ifndef ESCALONA_SERVER_FRONTIER_HOST_H_
#define ESCALONA_SERVER_FRONTIER_HOST_H_

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "escalona/clock.h"
#include "escalona/frontier.h"
#include "server/grpc_server.h"
#include "server/metrics.h"
#include "server/router.h"
#include "server/service.h"

namespace escalona::server {

// Opens the frontier; syncs it once a second where its durability is an interval, and when it
// stops. Adds GET /metrics.
class FrontierHost final : public Service {
 public:
  // Without a folder everything is kept in memory.
  FrontierHost(std::optional<std::string> folder, const FrontierOptions& options,
               const Clock& clock, Router& router);

  std::string name() const override { return "frontier"; }
  std::string detail() const override;
  absl::Status Start() override;
  void Stop() override;

  Frontier& frontier() { return *frontier_; }  // after Start
  const Clock& clock() const { return clock_; }
  Metrics& metrics() { return metrics_; }

 private:
  void SyncOften();

  const std::optional<std::string> folder_;
  const FrontierOptions options_;
  const Clock& clock_;
  Metrics metrics_;
  std::unique_ptr<Frontier> frontier_;
  absl::Notification stopping_;
  std::thread syncing_;
};

// Listens for gRPC.
class GrpcService final : public Service {
 public:
  GrpcService(GrpcOptions options, FrontierHost& host)
      : options_(std::move(options)), host_(host) {}

  std::string name() const override { return "grpc"; }
  std::string detail() const override { return "on " + server_->address(); }
  absl::Status Start() override;
  void Stop() override;

 private:
  const GrpcOptions options_;
  FrontierHost& host_;
  std::unique_ptr<GrpcServer> server_;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_FRONTIER_HOST_H_

#include "server/grpc_server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <netdb.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace escalona::server {
namespace {

// HOST of HOST:PORT, with its colon.
std::string HostPart(const std::string& address) {
  return address.substr(0, address.rfind(':') + 1);
}

void Configure(const GrpcOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  builder.SetMaxSendMessageSize(-1);
  // Two servers must not share a port unnoticed.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Streams of a client that vanished without a word end some time.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 300'000);
  // Clients may look after their connections as they like.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
}

// What is wrong with a message is in its answer; a line for each would let a client fill the log.
void LogOfProtobuf(google::protobuf::LogLevel level, const char*, int, const std::string& message) {
  const bool fatal = level == google::protobuf::LOGLEVEL_FATAL;
  spdlog::log(fatal ? spdlog::level::critical : spdlog::level::debug, "protobuf: {}", message);
}

bool Listens(const addrinfo& address) {
  const int probe = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  const bool connected = connect(probe, address.ai_addr, address.ai_addrlen) == 0;
  close(probe);
  return connected;
}

// gRPC closes its port in a thread of its own.
void WaitForClosedPort(const std::string& address) {
  const std::string host = HostPart(address);
  std::string_view name = std::string_view(host).substr(0, host.empty() ? 0 : host.size() - 1);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(std::string(name).c_str(), address.substr(host.size()).c_str(), &hints, &found) !=
      0) {
    return;
  }
  const absl::Time deadline = absl::Now() + absl::Milliseconds(500);
  while (Listens(*found) && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(1));
  freeaddrinfo(found);
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcOptions& options,
                                                              Frontier& frontier,
                                                              const Clock& clock,
                                                              Metrics& metrics) {
  // Before the builder is made: it takes the plugins registered so far.
  static const bool plugins = [] {
    google::protobuf::SetLogHandler(LogOfProtobuf);
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  (void)plugins;
  std::unique_ptr<GrpcServer> made(new GrpcServer(frontier, clock, metrics));
  grpc::ServerBuilder builder;
  Configure(options, builder);
  int port = 0;
  builder.AddListeningPort(options.address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&made->service_);
  builder.RegisterService(&made->admin_);
  made->server_ = builder.BuildAndStart();
  if (!made->server_ || port == 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", options.address,
                     " for gRPC: the port is in use, or the address is not of this machine"));
  }
  made->address_ = absl::StrCat(HostPart(options.address), port);
  made->service_.SetNode(options.node.empty() ? made->address_ : options.node);
  for (const char* service : {"urlfrontier.URLFrontier", "escalona.Admin"}) {
    made->server_->GetHealthCheckService()->SetServingStatus(service, true);
  }
  made->awake_ = std::make_unique<Wakefulness>(*made->server_);
  return made;
}

void GrpcServer::Shutdown(absl::Duration patience) {
  if (!server_) return;
  awake_.reset();
  // Blocks until all calls are over, and closes the port before that.
  std::thread closing([&] { server_->Shutdown(absl::ToChronoTime(absl::Now() + patience)); });
  WaitForClosedPort(address_);
  service_.Drain();
  closing.join();
  server_->Wait();
  server_.reset();
}

}  // namespace escalona::server

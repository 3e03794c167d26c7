#include "server/grpc_server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/grpc.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <charconv>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/acceptor.h"

namespace escalona::server {
namespace {

// HOST of HOST:PORT, with its colon.
std::string HostPart(const std::string& address) {
  return address.substr(0, address.rfind(':') + 1);
}

void Configure(const GrpcOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  builder.SetMaxSendMessageSize(-1);
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

// As gRPC has it for connections that it accepts itself.
void Prepare(Acceptor::Socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  socket.native_non_blocking(true, ignored);
  const int unanswered_ms = 20'000;
  (void)setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms,
                   sizeof(unanswered_ms));
}

}  // namespace

// Accepts connections in gRPC's stead: gRPC 1.51 gives its port up for good when it cannot open a
// file for a connection.
class GrpcServer::Port {
 public:
  using Taker = grpc::experimental::ExternalConnectionAcceptor;

  // Only a thread that cannot be joined would throw, and there is no going on then.
  // NOLINTNEXTLINE(bugprone-exception-escape)
  ~Port() {
    boost::asio::post(io_, [this] { acceptor_.Close(); });
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Listen(const std::string& address) {
    const std::string before = HostPart(address);
    std::string_view host = std::string_view(before).substr(0, before.rfind(':'));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    uint16_t port = 0;
    std::from_chars(address.data() + before.size(), address.data() + address.size(), port);
    return acceptor_.Listen(std::string(host), port);
  }
  uint16_t number() const { return acceptor_.port(); }

  // Hands connections over from now on.
  void Open(std::unique_ptr<Taker> taker) {
    taker_ = std::move(taker);
    acceptor_.Start([this] {
      return Acceptor::Place{io_, [this](Acceptor::Socket socket) { Take(std::move(socket)); }};
    });
    thread_ = std::thread([this] { io_.run(); });
  }

 private:
  void Take(Acceptor::Socket socket) {
    Prepare(socket);
    Taker::NewConnectionParameters connection;
    boost::system::error_code error;
    connection.fd = socket.release(error);
    if (!error) taker_->HandleNewConnection(&connection);
  }

  boost::asio::io_context io_{1};
  Acceptor acceptor_{"gRPC", io_};
  std::unique_ptr<Taker> taker_;
  std::thread thread_;
};

GrpcServer::GrpcServer(const GrpcOptions& options, Frontier& frontier, const Clock& clock,
                       Metrics& metrics)
    : service_(frontier, clock, metrics, options.list_patience), admin_(frontier, clock) {}

GrpcServer::~GrpcServer() { Shutdown(absl::ZeroDuration()); }

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcOptions& options,
                                                              Frontier& frontier,
                                                              const Clock& clock,
                                                              Metrics& metrics) {
  // Before the builder is made: it takes the plugins registered so far.
  static const bool plugins = [] {
    // Never undone: the last grpc_shutdown() of a process waits, up to ten seconds, for a thread
    // that polls for connections whose readers were slow, also when those are closed.
    grpc_init();
    google::protobuf::SetLogHandler(LogOfProtobuf);
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  (void)plugins;
  std::unique_ptr<GrpcServer> made(new GrpcServer(options, frontier, clock, metrics));
  made->port_ = std::make_unique<Port>();
  if (absl::Status status = made->port_->Listen(options.address); !status.ok()) return status;
  grpc::ServerBuilder builder;
  Configure(options, builder);
  auto taker = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  builder.RegisterService(&made->service_);
  builder.RegisterService(&made->admin_);
  auto queue = builder.AddCompletionQueue();
  made->server_ = builder.BuildAndStart();
  if (!made->server_) return absl::InternalError("gRPC does not start");
  made->service_.Open(std::move(queue));
  made->address_ = absl::StrCat(HostPart(options.address), made->port_->number());
  made->service_.SetNode(options.node.empty() ? made->address_ : options.node);
  for (const char* service : {"urlfrontier.URLFrontier", "escalona.Admin"}) {
    made->server_->GetHealthCheckService()->SetServingStatus(service, true);
  }
  made->port_->Open(std::move(taker));
  made->awake_ = std::make_unique<Wakefulness>(*made->server_);
  return made;
}

void GrpcServer::Shutdown(absl::Duration patience) {
  if (!server_) return;
  awake_.reset();
  port_.reset();
  service_.Drain();
  server_->Shutdown(absl::ToChronoTime(absl::Now() + patience));
  server_->Wait();
  service_.Close();
  server_.reset();
}

}  // namespace escalona::server

// Listens and accepts.
#include "server/acceptor.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace escalona::server {
namespace {

using boost::asio::ip::tcp;

constexpr int kBacklog = 4096;
constexpr std::chrono::milliseconds kAcceptPause(50);
constexpr std::chrono::minutes kReportInterval(1);

}  // namespace

Acceptor::Acceptor(std::string protocol, boost::asio::io_context& io)
    : protocol_(std::move(protocol)), io_(io) {}

absl::Status Acceptor::Listen(const std::string& host, uint16_t port) {
  Error error;
  const auto found =
      tcp::resolver(io_).resolve(host, std::to_string(port), tcp::resolver::passive, error);
  if (error || found.empty()) {
    return absl::InvalidArgumentError("no address '" + host + "': " + error.message());
  }
  for (const auto& entry : found) {
    if (error = Open(entry.endpoint()); error == boost::asio::error::address_in_use) break;
  }
  // A machine need not have every kind of address that its name has.
  if (!ports_.empty() && error != boost::asio::error::address_in_use) return absl::OkStatus();
  ports_.clear();
  endpoint_ = found.begin()->endpoint();
  return absl::FailedPreconditionError("cannot listen on " + address() + ": " + error.message());
}

Acceptor::Error Acceptor::Open(tcp::endpoint endpoint) {
  if (!ports_.empty()) endpoint.port(endpoint_.port());  // the one that was free
  for (const Port& port : ports_) {
    if (port.acceptor.local_endpoint() == endpoint) return {};  // names may have an address twice
  }
  Error error;
  Port& port = ports_.emplace_back(io_);
  port.acceptor.open(endpoint.protocol(), error);
  if (!error) port.acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) port.acceptor.bind(endpoint, error);
  if (!error) port.acceptor.listen(kBacklog, error);
  if (error) {
    ports_.pop_back();
  } else if (ports_.size() == 1) {
    endpoint_ = port.acceptor.local_endpoint();
  }
  return error;
}

std::string Acceptor::address() const {
  const std::string host = endpoint_.address().to_string();
  return (endpoint_.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(port());
}

void Acceptor::Start(NextPlace next) {
  next_ = std::move(next);
  for (Port& port : ports_) Accept(port);
}

void Acceptor::Close() {
  for (Port& port : ports_) {
    Error ignored;
    port.acceptor.close(ignored);
    port.pause.cancel();
  }
}

void Acceptor::Accept(Port& port) {
  Place place = next_();
  port.acceptor.async_accept(
      place.io, [this, &port, take = std::move(place.take)](const Error& error, Socket socket) {
        if (!port.acceptor.is_open()) return;
        if (error) {
          Report(error);
          Pause(port);
          return;
        }
        take(std::move(socket));
        Accept(port);
      });
}

void Acceptor::Pause(Port& port) {
  port.pause.expires_after(kAcceptPause);
  port.pause.async_wait([this, &port](const Error& cancelled) {
    if (!cancelled && port.acceptor.is_open()) Accept(port);
  });
}

void Acceptor::Report(const Error& error) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_report_) return;
  next_report_ = now + kReportInterval;
  const bool files = error == boost::asio::error::no_descriptors;
  spdlog::error("{} cannot take new connections now, and tries on: {}{}", protocol_,
                error.message(), files ? "; `ulimit -n` allows more" : "");
}

}  // namespace escalona::server

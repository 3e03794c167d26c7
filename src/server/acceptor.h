// Takes connections off a port, for HTTP and gRPC alike.
#ifndef ESCALONA_SERVER_ACCEPTOR_H_
#define ESCALONA_SERVER_ACCEPTOR_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <string>

#include "absl/status/status.h"

namespace escalona::server {

// Where no more files can be opened, it says so in the log, once a minute at most, and tries again
// every 50 ms: who has connected meanwhile waits in the system's queue and is served then.
class Acceptor {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  // Where the next connection lives, and who takes it.
  struct Place {
    boost::asio::io_context& io;
    std::function<void(Socket)> take;
  };
  using NextPlace = std::function<Place()>;

  // `protocol` is for messages. `io` outlives it; what comes after Listen is called by its thread,
  // or before that runs.
  Acceptor(std::string protocol, boost::asio::io_context& io);

  // Listens on all addresses that the host has. Port 0 is any that is free. InvalidArgument: the
  // host is no address or name; FailedPrecondition: the port is taken or not allowed.
  [[nodiscard]] absl::Status Listen(const std::string& host, uint16_t port);
  void Start(NextPlace next);
  void Close();

  // After Listen.
  uint16_t port() const { return endpoint_.port(); }
  std::string address() const;  // HOST:PORT

 private:
  using Error = boost::system::error_code;
  struct Port {
    explicit Port(boost::asio::io_context& io) : acceptor(io), pause(io) {}
    boost::asio::ip::tcp::acceptor acceptor;
    boost::asio::steady_timer pause;
  };

  Error Open(boost::asio::ip::tcp::endpoint endpoint);
  void Accept(Port& port);
  void Pause(Port& port);
  void Report(const Error& error);

  const std::string protocol_;
  boost::asio::io_context& io_;
  NextPlace next_;
  std::list<Port> ports_;  // one for each address
  boost::asio::ip::tcp::endpoint endpoint_;
  std::chrono::steady_clock::time_point next_report_{};
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_ACCEPTOR_H_

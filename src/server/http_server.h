// The HTTP/1.1 server: sockets and threads in front of a Router.
#ifndef ESCALONA_SERVER_HTTP_SERVER_H_
#define ESCALONA_SERVER_HTTP_SERVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/router.h"

namespace escalona::server {

struct HttpOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;  // 0: any that is free
  size_t threads = 0;    // that serve connections; 0: one per processor, at least 2
  size_t workers = 32;   // that run what may wait
  // Beyond it, the connection that has been without a request (a whole header) longest is closed
  // for the new one; if all have one, the new one is answered 503. The limit on open files lowers
  // it.
  size_t max_connections = 20000;
  size_t max_header_bytes = 16 << 10;  // beyond it: 431

  std::chrono::milliseconds idle_timeout = std::chrono::minutes(5);     // between requests
  std::chrono::milliseconds header_timeout = std::chrono::seconds(10);  // for the whole header
  // A body, and a client that reads the answer, may pause this long and must keep up
  // min_bytes_per_second on the whole.
  std::chrono::milliseconds body_timeout = std::chrono::seconds(30);
  size_t min_bytes_per_second = 1024;
  std::chrono::milliseconds stop_timeout = std::chrono::seconds(10);  // for requests under way
};

struct HttpStats {
  uint64_t connections = 0;  // open now
  uint64_t accepted = 0;
  uint64_t requests = 0;  // answered
  uint64_t errors_4xx = 0;
  uint64_t errors_5xx = 0;
  uint64_t timeouts = 0;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
};

// Keep-alive and pipelining (answers in the order of the requests), chunked bodies both ways,
// `Expect: 100-continue`, HEAD. What is no HTTP is answered with a JSON error and closed.
//
// Each connection belongs to one thread, so nothing is locked on its way; blocking routes run in
// the workers meanwhile. Input is not read ahead of what is being answered, and a body source is
// asked when the piece before has left: a slow client costs memory for one piece.
class HttpServer {
 public:
  // The router outlives the server and does not change from Start on.
  HttpServer(const HttpOptions& options, const Router& router);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Listens and starts the threads. InvalidArgument: the host is no address or name;
  // FailedPrecondition: the port is taken or not allowed. Once only.
  [[nodiscard]] absl::Status Start();
  // Accepts no more, lets requests under way finish (up to stop_timeout), then closes. Returns when
  // all threads have ended. A second call does nothing.
  void Stop();

  // The port listened on, and the address as HOST:PORT; after Start.
  uint16_t port() const;
  std::string address() const;
  HttpStats Stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_HTTP_SERVER_H_

// One thread of the HTTP server with its connections.
#ifndef ESCALONA_SERVER_HTTP_LOOP_H_
#define ESCALONA_SERVER_HTTP_LOOP_H_

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "server/http_server.h"

namespace escalona::server {

class Connection;

// Written by one thread, read by any.
class Counter {
 public:
  void Add(uint64_t n) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_ = 0;
};

// Invariant: a connection is in exactly one of the two lists until it is closed; in `idle_` stand
// those that have sent no whole header, the longest idle first. Everything but the counters, Start,
// Stop, Abort and Join is called by the loop's own thread.
class HttpLoop {
 public:
  using Connections = std::list<std::shared_ptr<Connection>>;
  using Clock = std::chrono::steady_clock;

  HttpLoop(const HttpOptions& options, const Router& router, size_t max_connections,
           boost::asio::thread_pool* workers);
  ~HttpLoop();

  void Start();
  // Closes what is idle; the others are closed as they finish, and all at `Abort`.
  void Stop();
  void Abort();
  void Join();

  void Add(boost::asio::ip::tcp::socket socket);
  void Remove(Connections::iterator connection, bool is_idle);
  void MakeIdle(Connections::iterator connection) { idle_.splice(idle_.end(), busy_, connection); }
  void MakeBusy(Connections::iterator connection) { busy_.splice(busy_.end(), idle_, connection); }

  boost::asio::io_context& io() { return io_; }
  boost::asio::thread_pool* workers() { return workers_; }
  const HttpOptions& options() const { return options_; }
  const Router& router() const { return router_; }
  const std::string& date() const { return date_; }  // "Date: ...\r\n", a second old at most
  bool stopping() const { return stopping_; }
  uint64_t open() const { return open_.load(std::memory_order_relaxed); }

  struct Counters {
    Counter accepted, requests, errors_4xx, errors_5xx, timeouts, bytes_in, bytes_out;
  };
  Counters counters;

 private:
  void Run();
  void Tick();
  void CloseOldestIdle();

  const HttpOptions& options_;
  const Router& router_;
  const size_t max_connections_;
  boost::asio::thread_pool* const workers_;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  boost::asio::steady_timer timer_;
  std::thread thread_;
  Connections idle_;
  Connections busy_;
  std::string date_;
  bool stopping_ = false;
  bool aborted_ = false;
  std::atomic<uint64_t> open_ = 0;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_HTTP_LOOP_H_

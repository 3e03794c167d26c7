// Runs the connections of one thread, and looks after their time-outs.
#include "server/http_loop.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <ctime>
#include <utility>

#include "server/http_connection.h"

namespace escalona::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::string_view kFull =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 65\r\n"
    "Retry-After: 1\r\nConnection: close\r\n\r\n"
    R"({"code":"unavailable","message":"all connections are in use now"})";

// A loop looks so often for more before it sleeps, and lets others run in between: to sleep and be
// woken costs more than most requests ask for. The same for few connections as for many: one gains
// much, and with four it was faster in one hour and slower in another (docs/associations.md).
constexpr int kQuietLooks = 20;

std::string DateHeader() {
  const std::time_t now = std::time(nullptr);
  std::tm utc;
  gmtime_r(&now, &utc);
  char text[64];
  std::strftime(text, sizeof(text), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &utc);
  return text;
}

}  // namespace

HttpLoop::HttpLoop(const HttpOptions& options, const Router& router, size_t max_connections,
                   asio::thread_pool* workers)
    : options_(options),
      router_(router),
      max_connections_(max_connections),
      workers_(workers),
      io_(1),
      guard_(asio::make_work_guard(io_)),
      timer_(io_),
      date_(DateHeader()) {}

HttpLoop::~HttpLoop() { Join(); }

void HttpLoop::Start() {
  asio::post(io_, [this] { Tick(); });
  thread_ = std::thread([this] { Run(); });
}

void HttpLoop::Run() {
  int quiet = 0;  // looks in turn that found nothing
  while (!io_.stopped()) {
    const bool found = (quiet < kQuietLooks ? io_.poll() : io_.run_one()) > 0;
    quiet = found ? 0 : quiet + 1;
    if (!found) std::this_thread::yield();
  }
}

void HttpLoop::Stop() {
  asio::post(io_, [this] {
    stopping_ = true;
    for (auto at = idle_.begin(); at != idle_.end();) {
      const std::shared_ptr<Connection> connection = *at++;
      connection->StopIfIdle();
    }
  });
}

void HttpLoop::Abort() {
  asio::post(io_, [this] {
    while (!idle_.empty()) std::shared_ptr(idle_.front())->Close();
    while (!busy_.empty()) std::shared_ptr(busy_.front())->Close();
    aborted_ = true;
    timer_.cancel();
    guard_.reset();
  });
}

void HttpLoop::Join() {
  if (thread_.joinable()) thread_.join();
}

void HttpLoop::Add(asio::ip::tcp::socket socket) {
  counters.accepted.Add(1);
  if (stopping_) return;
  if (open() >= max_connections_) CloseOldestIdle();
  if (open() >= max_connections_) {
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(kFull.data(), kFull.size()), ignored);
    return;
  }
  open_.store(open() + 1, std::memory_order_relaxed);
  auto connection = std::make_shared<Connection>(*this, std::move(socket));
  busy_.push_back(connection);
  connection->Start(std::prev(busy_.end()));
}

void HttpLoop::Remove(Connections::iterator connection, bool is_idle) {
  (is_idle ? idle_ : busy_).erase(connection);
  open_.store(open() - 1, std::memory_order_relaxed);
}

void HttpLoop::CloseOldestIdle() {
  if (!idle_.empty()) std::shared_ptr(idle_.front())->Close();
}

void HttpLoop::Tick() {
  date_ = DateHeader();
  const auto now = Clock::now();
  for (Connections* list : {&idle_, &busy_}) {
    for (auto at = list->begin(); at != list->end();) {
      const std::shared_ptr<Connection> connection = *at++;
      connection->Tick(now);
    }
  }
  const auto shortest = std::min({options_.idle_timeout, options_.header_timeout,
                                  options_.body_timeout, std::chrono::milliseconds(4000)});
  timer_.expires_after(std::max(shortest / 4, std::chrono::milliseconds(10)));
  timer_.async_wait([this](const error_code& error) {
    // A cancel that comes between the timer's end and this call is not told by the error.
    if (!error && !aborted_) Tick();
  });
}

}  // namespace escalona::server

// Listens, and deals connections out to the loops.
#include "server/http_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "server/acceptor.h"
#include "server/http_loop.h"

namespace escalona::server {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds kStopPoll(5);

// Raises the limit on open files as far as we may, and says how many connections that allows.
size_t ConnectionsAllowed(size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  const size_t files = limit.rlim_cur;
  const size_t others = std::min<size_t>(files / 2, 1024);  // the stores' files
  return std::max<size_t>(std::min(wanted, files - others), 1);
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(HttpOptions options, const Router& router) : options_(std::move(options)), router_(router) {}
  // Only a thread that cannot be joined would throw, and there is no going on then.
  // NOLINTNEXTLINE(bugprone-exception-escape)
  ~Impl() { Stop(); }

  absl::Status Start() {
    const size_t threads = options_.threads != 0
                               ? options_.threads
                               : std::max(2U, std::thread::hardware_concurrency());
    workers_ = std::make_unique<asio::thread_pool>(options_.workers);
    const size_t most = ConnectionsAllowed(options_.max_connections);
    for (size_t i = 0; i < threads; ++i) {
      loops_.push_back(std::make_unique<HttpLoop>(
          options_, router_, std::max<size_t>(most / threads, 1), workers_.get()));
    }
    acceptor_ = std::make_unique<Acceptor>("HTTP", loops_[0]->io());
    if (absl::Status status = acceptor_->Listen(options_.host, options_.port); !status.ok()) {
      acceptor_.reset();  // before the loop it lives in
      loops_.clear();
      return status;
    }
    for (auto& loop : loops_) loop->Start();
    asio::post(loops_[0]->io(), [this] { acceptor_->Start([this] { return NextPlace(); }); });
    return absl::OkStatus();
  }

  void Stop() {
    if (loops_.empty() || std::exchange(stopped_, true)) return;
    asio::post(loops_[0]->io(), [this] { acceptor_->Close(); });
    for (auto& loop : loops_) loop->Stop();
    const auto deadline = std::chrono::steady_clock::now() + options_.stop_timeout;
    while (Stats().connections > 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kStopPoll);
    }
    for (auto& loop : loops_) loop->Abort();
    // Workers first: what they finish is posted to the loops, which must be there to drop it.
    workers_->join();
    for (auto& loop : loops_) loop->Join();
  }

  const Acceptor& acceptor() const { return *acceptor_; }

  HttpStats Stats() const {
    HttpStats stats;
    for (const auto& loop : loops_) {
      const HttpLoop::Counters& counters = loop->counters;
      stats.connections += loop->open();
      stats.accepted += counters.accepted.value();
      stats.requests += counters.requests.value();
      stats.errors_4xx += counters.errors_4xx.value();
      stats.errors_5xx += counters.errors_5xx.value();
      stats.timeouts += counters.timeouts.value();
      stats.bytes_in += counters.bytes_in.value();
      stats.bytes_out += counters.bytes_out.value();
    }
    return stats;
  }

 private:
  Acceptor::Place NextPlace() {
    HttpLoop& loop = *loops_[next_++ % loops_.size()];
    return {loop.io(), [&loop](Acceptor::Socket socket) {
              asio::post(loop.io(), [&loop, socket = std::move(socket)]() mutable {
                loop.Add(std::move(socket));
              });
            }};
  }

  const HttpOptions options_;
  const Router& router_;
  std::unique_ptr<asio::thread_pool> workers_;
  std::vector<std::unique_ptr<HttpLoop>> loops_;
  std::unique_ptr<Acceptor> acceptor_;  // in the first loop
  size_t next_ = 0;
  bool stopped_ = false;
};

HttpServer::HttpServer(const HttpOptions& options, const Router& router)
    : impl_(std::make_unique<Impl>(options, router)) {}
HttpServer::~HttpServer() = default;
absl::Status HttpServer::Start() { return impl_->Start(); }
void HttpServer::Stop() { impl_->Stop(); }
uint16_t HttpServer::port() const { return impl_->acceptor().port(); }
std::string HttpServer::address() const { return impl_->acceptor().address(); }
HttpStats HttpServer::Stats() const { return impl_->Stats(); }

}  // namespace escalona::server

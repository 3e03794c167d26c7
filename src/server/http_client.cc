// Speaks HTTP as a client.
#include "server/http_client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <limits>
#include <utility>

namespace escalona::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kSendBytes = 64 << 10;

}  // namespace

class HttpClient::Impl {
 public:
  using Next = absl::FunctionRef<absl::StatusOr<bool>(std::string&)>;
  using Taker = absl::FunctionRef<absl::Status(std::string_view)>;

  Impl(std::string host, uint16_t port) : host_(std::move(host)), port_(port), socket_(io_) {}

  absl::Status Connect() {
    if (socket_.is_open()) return absl::OkStatus();
    error_code error;
    tcp::resolver resolver(io_);
    const auto found = resolver.resolve(host_, std::to_string(port_), error);
    if (!error) asio::connect(socket_, found, error);
    if (error) return Failed("cannot connect", error);
    socket_.set_option(tcp::no_delay(true), error);
    return absl::OkStatus();
  }

  // The head of a request; a negative length is that of chunks.
  std::string Head(const ClientRequest& request, int64_t length) const {
    std::string head(MethodName(request.method));
    head +=
        " " + request.target + " HTTP/1.1\r\nHost: " + host_ + ":" + std::to_string(port_) + "\r\n";
    if (length != 0) head += "Content-Type: " + std::string(request.content_type) + "\r\n";
    head += length < 0 ? "Transfer-Encoding: chunked\r\n\r\n"
                       : "Content-Length: " + std::to_string(length) + "\r\n\r\n";
    return head;
  }

  absl::Status Send(std::string_view bytes) {
    error_code error;
    asio::write(socket_, asio::buffer(bytes.data(), bytes.size()), error);
    return error ? Failed("cannot send", error) : absl::OkStatus();
  }

  absl::StatusOr<ClientResponse> Ask(const ClientRequest& request, Taker take) {
    const bool fresh = !socket_.is_open();
    auto response = AskOnce(request, take);
    // A connection that was kept may have been closed by the server meanwhile.
    if (!response.ok() && !fresh && received_ == 0) response = AskOnce(request, take);
    return response;
  }

  absl::StatusOr<ClientResponse> Upload(const ClientRequest& request, Next next) {
    if (absl::Status status = Connect(); !status.ok()) return status;
    absl::Status sent = Send(Head(request, -1));
    std::string piece;
    for (bool more = true; more && sent.ok();) {
      piece.clear();
      const auto got = next(piece);
      if (!got.ok()) {
        Close();
        return got.status();
      }
      more = *got;
      if (!piece.empty()) sent = SendChunk(piece);
      if (socket_.available() > 0) break;  // the server has heard enough
      if (!more && sent.ok()) sent = Send("0\r\n\r\n");
    }
    auto response = Receive([](std::string_view) { return absl::OkStatus(); });
    if (!response.ok() && !sent.ok()) return sent;
    return response;
  }

 private:
  absl::StatusOr<ClientResponse> AskOnce(const ClientRequest& request, Taker take) {
    received_ = 0;
    if (absl::Status status = Connect(); !status.ok()) return status;
    const std::string bytes =
        Head(request, static_cast<int64_t>(request.body.size())) + std::string(request.body);
    if (absl::Status status = Send(bytes); !status.ok()) return status;
    return Receive(take);
  }

  absl::Status SendChunk(std::string_view piece) {
    char size[24];
    const int length = std::snprintf(size, sizeof(size), "%zx\r\n", piece.size());
    std::string chunk(size, static_cast<size_t>(length));
    chunk.append(piece).append("\r\n");
    return Send(chunk);
  }

  absl::StatusOr<ClientResponse> Receive(Taker take) {
    error_code error;
    http::response_parser<http::buffer_body> parser;
    parser.body_limit(std::numeric_limits<uint64_t>::max());
    received_ += http::read_header(socket_, buffer_, parser, error);
    if (error) return Failed("no answer", error);
    ClientResponse response;
    response.status = parser.get().result_int();
    std::string piece(kSendBytes, '\0');
    while (!parser.is_done()) {
      auto& body = parser.get().body();
      body.data = piece.data();
      body.size = piece.size();
      http::read_some(socket_, buffer_, parser, error);
      if (error && error != http::error::need_buffer) return Failed("the answer broke off", error);
      error = {};
      const std::string_view got(piece.data(), piece.size() - body.size);
      absl::Status taken = response.status == 200 ? take(got) : absl::OkStatus();
      if (!taken.ok()) {
        Close();
        return taken;
      }
      if (response.body.size() + got.size() <= kKeptBody) response.body.append(got);
    }
    if (!parser.keep_alive()) Close();
    return response;
  }

  void Close() {
    error_code ignored;
    socket_.close(ignored);
    buffer_.clear();
  }

  absl::Status Failed(const std::string& what, const error_code& error) {
    Close();
    return absl::UnavailableError(what + " (" + host_ + ":" + std::to_string(port_) +
                                  "): " + error.message());
  }

  static constexpr size_t kKeptBody = 16 << 20;

  const std::string host_;
  const uint16_t port_;
  asio::io_context io_;
  tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
  size_t received_ = 0;
};

HttpClient::HttpClient(std::string host, uint16_t port)
    : impl_(std::make_unique<Impl>(std::move(host), port)) {}
HttpClient::~HttpClient() = default;

absl::StatusOr<ClientResponse> HttpClient::Ask(const ClientRequest& request) {
  return impl_->Ask(request, [](std::string_view) { return absl::OkStatus(); });
}

absl::StatusOr<ClientResponse> HttpClient::Upload(
    const ClientRequest& request, absl::FunctionRef<absl::StatusOr<bool>(std::string&)> next) {
  return impl_->Upload(request, next);
}

absl::StatusOr<ClientResponse> HttpClient::Download(
    const ClientRequest& request, absl::FunctionRef<absl::Status(std::string_view)> take) {
  auto response = impl_->Ask(request, take);
  if (response.ok() && response->status == 200) response->body.clear();
  return response;
}

}  // namespace escalona::server

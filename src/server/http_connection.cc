// Reads requests, has them answered and writes the answers.
#include "server/http_connection.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/status.hpp>
#include <charconv>
#include <cstring>
#include <exception>
#include <limits>
#include <utility>

namespace escalona::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr size_t kFirstBuffer = 4 << 10;  // what an idle connection has
constexpr size_t kKeptBuffer = 16 << 10;  // a larger one is given back when idle
constexpr size_t kLargeBuffer = 256 << 10;
constexpr size_t kFlushBytes = 64 << 10;  // of answers to pipelined requests
constexpr std::chrono::seconds kLinger(2);

std::string_view ReasonOf(int status) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(status));
  return {reason.data(), reason.size()};
}

void AppendNumber(uint64_t number, std::string& text, int base = 10) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof(digits), number, base).ptr;
  text.append(digits, end);
}

bool HasBody(int status) { return status >= 200 && status != 204 && status != 304; }

}  // namespace

Connection::Connection(HttpLoop& loop, asio::ip::tcp::socket socket)
    : loop_(loop), socket_(std::move(socket)) {}

Connection::~Connection() = default;

void Connection::Start(HttpLoop::Connections::iterator place) {
  place_ = place;
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  Run();
}

void Connection::Run() {
  while (!writing_) {
    switch (state_) {
      case State::kReading:
        if (!ReadStep()) return;
        break;
      case State::kStreaming:
        if (!StreamStep()) return;
        break;
      case State::kClosing:
        if (Flush()) BeginLinger();
        return;
      default:
        return;
    }
  }
}

bool Connection::ReadStep() {
  if (out_.size() >= kFlushBytes && !Flush()) return false;
  if (begin_ < end_ && Parse()) return true;
  if (!Flush()) return false;
  if (!parser_.has_value()) {
    if (loop_.stopping()) {
      Close();
      return false;
    }
    BecomeIdle();
  }
  Read();
  return false;
}

void Connection::BecomeIdle() {
  if (in_size_ > kKeptBuffer) in_.reset();
  if (out_.capacity() > kKeptBuffer) out_.shrink_to_fit();
  if (parsed_.body.capacity() > kKeptBuffer) parsed_.body = std::string();
  if (response_.body.capacity() > kKeptBuffer) response_.body = std::string();
  deadline_ = Clock::now() + loop_.options().idle_timeout;
  if (!is_idle_) loop_.MakeIdle(place_);
  is_idle_ = true;
}

void Connection::MakeRoom() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (in_ == nullptr) {
    in_ = std::make_unique_for_overwrite<char[]>(kFirstBuffer);
    in_size_ = kFirstBuffer;
    return;
  }
  if (begin_ > 0) {
    std::memmove(in_.get(), in_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const bool long_body = header_seen_ && in_size_ < kLargeBuffer;
  if (end_ < in_size_ && !long_body) return;
  auto larger = std::make_unique_for_overwrite<char[]>(in_size_ * 2);
  std::memcpy(larger.get(), in_.get(), end_);
  in_ = std::move(larger);
  in_size_ *= 2;
}

void Connection::Read() {
  MakeRoom();
  socket_.async_read_some(asio::buffer(in_.get() + end_, in_size_ - end_),
                          [self = shared_from_this()](const error_code& error, size_t bytes) {
                            self->OnRead(error, bytes);
                          });
}

void Connection::OnRead(const error_code& error, size_t bytes) {
  if (state_ == State::kClosed) return;
  if (error) {
    Close();
    return;
  }
  loop_.counters.bytes_in.Add(bytes);
  if (state_ == State::kLingering) {
    end_ = begin_ = 0;
    Read();
    return;
  }
  if (state_ != State::kReading) return;  // a time-out is being answered
  end_ += bytes;
  if (header_seen_) {
    const auto now = Clock::now();
    const std::chrono::milliseconds earned(bytes * 1000 / loop_.options().min_bytes_per_second);
    deadline_ = std::min(now + loop_.options().body_timeout, deadline_ + earned);
  }
  Run();
}

bool Connection::Flush() {
  while (sent_ < out_.size()) {
    error_code error;
    const size_t bytes =
        socket_.write_some(asio::buffer(out_.data() + sent_, out_.size() - sent_), error);
    if (error == asio::error::would_block || error == asio::error::try_again) {
      writing_ = true;
      deadline_ = Clock::now() + loop_.options().body_timeout;
      WriteMore();
      return false;
    }
    if (error) {
      Close();
      return false;
    }
    OnSent(bytes);
  }
  out_.clear();
  sent_ = 0;
  return true;
}

void Connection::OnSent(size_t bytes) {
  sent_ += bytes;
  loop_.counters.bytes_out.Add(bytes);
}

void Connection::WriteMore() {
  socket_.async_write_some(asio::buffer(out_.data() + sent_, out_.size() - sent_),
                           [self = shared_from_this()](const error_code& error, size_t bytes) {
                             self->OnWritten(error, bytes);
                           });
}

void Connection::OnWritten(const error_code& error, size_t bytes) {
  if (state_ == State::kClosed) return;
  if (error) {
    Close();
    return;
  }
  OnSent(bytes);
  const std::chrono::milliseconds earned(bytes * 1000 / loop_.options().min_bytes_per_second);
  deadline_ = std::min(Clock::now() + loop_.options().body_timeout, deadline_ + earned);
  if (sent_ < out_.size()) {
    WriteMore();
    return;
  }
  writing_ = false;
  Run();
}

void Connection::BeginRequest() {
  parsed_.Clear();
  parser_.emplace(loop_.options().max_header_bytes, parsed_);
  header_seen_ = answered_ = false;
  response_.Clear();
  deadline_ = Clock::now() + loop_.options().header_timeout;
}

bool Connection::Parse() {
  if (!parser_.has_value()) BeginRequest();
  error_code error;
  const size_t used = parser_->put(asio::buffer(in_.get() + begin_, end_ - begin_), error);
  begin_ += used;
  const bool needs_more = error == http::error::need_more;
  if (error && !needs_more) {
    RefuseUnparsed(error);
    return true;
  }
  if (needs_more && end_ - begin_ > loop_.options().max_header_bytes + kLargeBuffer) {
    RefuseUnparsed(http::error::header_limit);  // an endless line between chunks
    return true;
  }
  if (!header_seen_ && parser_->is_header_done()) OnHeader();
  if (state_ != State::kReading) return true;
  const bool done = parser_->is_done();
  if (sink_ != nullptr && !parsed_.body.empty()) {
    FeedSink();
  } else if (done) {
    Dispatch();
  }
  return state_ != State::kReading || done || !needs_more;
}

void Connection::OnHeader() {
  header_seen_ = true;
  parsed_.frozen = true;
  if (is_idle_) loop_.MakeBusy(place_);
  is_idle_ = false;
  parsed_.Fill(request_);
  keep_alive_ = parser_->keep_alive() && !loop_.stopping();
  deadline_ = Clock::now() + loop_.options().body_timeout;
  FindRoute();
  if (!answered_ && !CheckLength()) answered_ = true;
  if (!answered_ && route_->upload) {
    sink_ = route_->upload(request_, response_);
    answered_ = sink_ == nullptr;
  }
  if (answered_) {
    if (!parser_->is_done()) RefuseRest();
    return;
  }
  parsed_.max_body_bytes =
      sink_ != nullptr ? std::numeric_limits<size_t>::max() : route_->options.max_body_bytes;
  if (!parser_->is_done() && begin_ == end_ && parsed_.version >= 11 &&
      EqualIgnoringCase(request_.Header("expect"), "100-continue")) {
    out_ += "HTTP/1.1 100 Continue\r\n\r\n";
  }
}

void Connection::FindRoute() {
  route_ = nullptr;
  answered_ = true;
  if (parsed_.hosts > 1 || (parsed_.version >= 11 && parsed_.hosts == 0)) {
    SetError(400, "invalid_argument", "a request of HTTP/1.1 has one Host header", "Host",
             response_);
    return;
  }
  const Router::Match match = loop_.router().Find(request_.method, request_.path, request_.params);
  if (match.route == nullptr && match.allowed.empty()) {
    SetError(404, "not_found", "there is nothing at this path", "", response_);
  } else if (match.route == nullptr) {
    SetError(405, "method_not_allowed", "this path is asked with " + match.allowed, "", response_);
    response_.headers.emplace_back("Allow", match.allowed);
  } else if (match.bad_encoding) {
    SetError(400, "invalid_argument", "a '%' in the path is followed by two hexadecimal digits",
             "path", response_);
  } else if (!IsPercentEncoded(request_.query)) {
    SetError(400, "invalid_argument", "a '%' in the query is followed by two hexadecimal digits",
             "query", response_);
  } else {
    route_ = match.route;
    answered_ = false;
  }
}

bool Connection::CheckLength() {
  const auto length = parser_->content_length();
  const size_t most = route_->options.max_body_bytes;
  if (route_->upload || !length.has_value() || *length <= most) return true;
  SetError(413, "too_large", "the body may have " + std::to_string(most) + " bytes", "body",
           response_);
  return false;
}

void Connection::RefuseRest() {
  keep_alive_ = false;
  Respond();
}

void Connection::RefuseUnparsed(const error_code& error) {
  keep_alive_ = false;
  if (!header_seen_) parsed_.is_head = false;
  if (error == http::error::body_limit) {
    SetError(413, "too_large",
             "the body may have " + std::to_string(parsed_.max_body_bytes) + " bytes", "body",
             response_);
  } else if (error == http::error::header_limit) {
    SetError(431, "too_large",
             "the header may have " + std::to_string(loop_.options().max_header_bytes) + " bytes",
             "header", response_);
  } else {
    SetError(400, "invalid_argument", "not HTTP/1.1: " + error.message(), "", response_);
  }
  Respond();
}

void Connection::FeedSink() {
  piece_.swap(parsed_.body);
  parsed_.body.clear();
  auto take = [this] {
    try {
      answered_ = !sink_->Take(piece_, response_);
    } catch (const std::exception& error) {
      SetError(500, "internal", error.what(), "", response_);
      answered_ = true;
    }
  };
  auto go_on = [this] {
    if (answered_) {
      RefuseRest();
    } else if (parser_->is_done()) {
      Dispatch();
    }
  };
  if (route_->options.blocking || sink_->MayWait()) {
    Offload(take, go_on);
  } else {
    take();
    go_on();
  }
}

void Connection::Dispatch() {
  request_.body = parsed_.body;
  if (!answered_) {
    request_.may_wait = route_->options.blocking || (sink_ != nullptr && sink_->MayWait());
    if (!request_.may_wait) Answer();
    if (response_.deferred) {
      response_.Clear();
      request_.may_wait = true;
    }
    if (request_.may_wait) {
      Offload([this] { Answer(); }, [this] { Respond(); });
      return;
    }
  }
  Respond();
}

void Connection::Answer() {
  try {
    if (sink_ != nullptr) {
      sink_->Finish(response_);
    } else {
      route_->handler(request_, response_);
    }
  } catch (const std::exception& error) {
    SetError(500, "internal", error.what(), "", response_);
  }
}

void Connection::Offload(std::function<void()> work, std::function<void()> then) {
  state_ = State::kWorking;
  deadline_ = Clock::time_point::max();
  asio::post(*loop_.workers(),
             [self = shared_from_this(), work = std::move(work), then = std::move(then)]() mutable {
               work();
               auto& io = self->loop_.io();
               asio::post(io, [self = std::move(self), then = std::move(then)] {
                 if (self->state_ == State::kClosed) return;
                 self->state_ = State::kReading;
                 self->deadline_ = Clock::now() + self->loop_.options().body_timeout;
                 then();
                 self->Run();
               });
             });
}

void Connection::AppendHead() {
  out_ += "HTTP/1.1 ";
  AppendNumber(static_cast<uint64_t>(response_.status), out_);
  out_ += ' ';
  out_ += ReasonOf(response_.status);
  out_ += "\r\n";
  out_ += loop_.date();
  const bool has_body = response_.source != nullptr || !response_.body.empty();
  if (has_body) {
    out_ += "Content-Type: ";
    out_ += response_.content_type;
    out_ += "\r\n";
  }
  if (response_.source != nullptr) {
    if (chunked_) out_ += "Transfer-Encoding: chunked\r\n";
  } else if (HasBody(response_.status)) {
    out_ += "Content-Length: ";
    AppendNumber(response_.body.size(), out_);
    out_ += "\r\n";
  }
  if (!keep_alive_) {
    out_ += "Connection: close\r\n";
  } else if (parsed_.version < 11) {
    out_ += "Connection: keep-alive\r\n";
  }
  for (const auto& [name, value] : response_.headers) {
    out_.append(name).append(": ").append(value).append("\r\n");
  }
  out_ += "\r\n";
}

void Connection::Respond() {
  loop_.counters.requests.Add(1);
  if (response_.status >= 500) {
    loop_.counters.errors_5xx.Add(1);
    spdlog::error("{} {}: {} {}", MethodName(parsed_.method),
                  std::string_view(parsed_.text).substr(0, parsed_.target_size), response_.status,
                  response_.body);
  } else if (response_.status >= 400) {
    loop_.counters.errors_4xx.Add(1);
  }
  if (loop_.stopping()) keep_alive_ = false;
  chunked_ = response_.source != nullptr && parsed_.version >= 11;
  if (response_.source != nullptr && !chunked_) keep_alive_ = false;
  AppendHead();
  if (response_.source != nullptr && !parsed_.is_head) {
    more_ = true;
    state_ = State::kStreaming;
    return;
  }
  if (!parsed_.is_head) out_ += response_.body;
  EndRequest();
}

bool Connection::StreamStep() {
  if (!Flush()) return false;
  if (!more_.ok()) {
    spdlog::error("{}: {}", request_.path, more_.status().ToString());
    Close();
    return false;
  }
  if (!*more_) {
    EndRequest();
    return true;
  }
  piece_.clear();
  auto next = [this] {
    try {
      more_ = response_.source->Next(piece_);
    } catch (const std::exception& error) {
      more_ = absl::InternalError(error.what());
    }
  };
  if (route_->options.blocking) {
    Offload(next, [this] { AppendPiece(); });
    return false;
  }
  next();
  AppendPiece();
  return true;
}

void Connection::AppendPiece() {
  state_ = State::kStreaming;
  if (!more_.ok()) return;
  if (!piece_.empty()) {
    if (chunked_) {
      AppendNumber(piece_.size(), out_, 16);
      out_ += "\r\n";
    }
    out_ += piece_;
    if (chunked_) out_ += "\r\n";
  }
  if (!*more_ && chunked_) out_ += "0\r\n\r\n";
}

void Connection::EndRequest() {
  // After a refusal, more of the request may be on its way: it has to be read before closing, or
  // the client's side of the connection throws away the answer.
  const bool unread = !parser_->is_done();
  parser_.reset();
  sink_.reset();
  response_.source.reset();
  header_seen_ = unread;
  state_ = keep_alive_ ? State::kReading : State::kClosing;
}

void Connection::BeginLinger() {
  if (!header_seen_) {
    Close();
    return;
  }
  error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  state_ = State::kLingering;
  deadline_ = Clock::now() + kLinger;
  begin_ = end_ = 0;
  header_seen_ = false;
  Read();
}

void Connection::Tick(Clock::time_point now) {
  if (now < deadline_) return;
  loop_.counters.timeouts.Add(1);
  if (state_ != State::kReading || writing_ || !parser_.has_value()) {
    Close();
    return;
  }
  // A read is under way; it ends when the connection is closed after the answer.
  SetError(408, "deadline_exceeded", "the request came too slowly", "", response_);
  keep_alive_ = false;
  Respond();
  header_seen_ = false;
  if (Flush()) Close();
}

void Connection::StopIfIdle() {
  error_code error;
  if (is_idle_ && socket_.available(error) == 0) Close();
}

void Connection::Close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  error_code ignored;
  socket_.close(ignored);
  loop_.Remove(place_, is_idle_);
}

}  // namespace escalona::server

// One connection of the HTTP server.
#ifndef ESCALONA_SERVER_HTTP_CONNECTION_H_
#define ESCALONA_SERVER_HTTP_CONNECTION_H_

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/http_loop.h"
#include "server/http_parser.h"

namespace escalona::server {

// A machine that goes on (Run) until it has to wait: for input, for room in the socket, or for a
// worker; each of these calls Run again. At most one read and one write are under way. Belongs to
// the thread of its loop; while a worker runs a handler, the loop leaves request and response
// alone.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = HttpLoop::Clock;

  Connection(HttpLoop& loop, boost::asio::ip::tcp::socket socket);
  ~Connection();

  // `place` is where it stands among the loop's busy connections.
  void Start(HttpLoop::Connections::iterator place);
  // Acts if its time is up.
  void Tick(Clock::time_point now);
  // Closes it if nothing has come for it since its last answer.
  void StopIfIdle();
  void Close();

 private:
  enum class State : uint8_t { kReading, kWorking, kStreaming, kClosing, kLingering, kClosed };

  void Run();
  bool ReadStep();    // false: it waits
  bool StreamStep();  // the same

  void Read();
  void OnRead(const boost::system::error_code& error, size_t bytes);
  void MakeRoom();
  void BecomeIdle();
  // Sends what is in `out_`. False: not all has gone yet (Run will be called), or it is closed.
  bool Flush();
  void WriteMore();
  void OnWritten(const boost::system::error_code& error, size_t bytes);
  void OnSent(size_t bytes);

  void BeginRequest();
  // Feeds the parser; false if it needs more input.
  bool Parse();
  void OnHeader();
  void FindRoute();
  bool CheckLength();
  void FeedSink();
  void Dispatch();
  void Answer();
  // Answers with the error in `response_` before the request was read to its end.
  void RefuseRest();
  void RefuseUnparsed(const boost::system::error_code& error);
  // Runs `work` in a worker, then `then` here, then Run.
  void Offload(std::function<void()> work, std::function<void()> then);

  void Respond();
  void AppendHead();
  void AppendPiece();
  void EndRequest();
  void BeginLinger();

  HttpLoop& loop_;
  boost::asio::ip::tcp::socket socket_;
  HttpLoop::Connections::iterator place_;
  State state_ = State::kReading;
  bool is_idle_ = false;
  bool writing_ = false;
  Clock::time_point deadline_;

  // Input: [begin_, end_) of in_ has been read and not parsed.
  std::unique_ptr<char[]> in_;
  size_t in_size_ = 0;
  size_t begin_ = 0;
  size_t end_ = 0;
  std::string out_;
  size_t sent_ = 0;  // of out_

  // The request under way, if parser_ is set.
  std::optional<RequestParser> parser_;
  ParsedRequest parsed_;
  Request request_;
  Response response_;
  const Route* route_ = nullptr;
  std::unique_ptr<BodySink> sink_;
  bool header_seen_ = false;
  bool answered_ = false;  // before the body was read
  bool keep_alive_ = true;
  bool chunked_ = false;               // the answer
  absl::StatusOr<bool> more_ = false;  // of the source
  std::string piece_;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_HTTP_CONNECTION_H_

// What a handler sees of a request, and what it fills in as the answer.
#ifndef ESCALONA_SERVER_HTTP_MESSAGE_H_
#define ESCALONA_SERVER_HTTP_MESSAGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace escalona::server {

enum class Method : uint8_t { kGet, kPost, kPut, kPatch, kDelete, kOther };
inline constexpr size_t kRoutedMethods = 5;  // all but kOther

std::string_view MethodName(Method method);

// Of ASCII letters.
bool EqualIgnoringCase(std::string_view a, std::string_view b);

// A request. The views are valid until the handler, or the sink or source it made, is done.
struct Request {
  Method method = Method::kOther;
  std::string_view path;            // as sent, without the query
  std::string_view query;           // as sent, without the '?'
  std::vector<std::string> params;  // of the pattern, decoded, in its order
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  bool may_wait = false;  // whether it runs in a worker
  std::string_view body;  // empty where a sink takes it

  // The first header of that name (ASCII case does not matter); empty if there is none.
  std::string_view Header(std::string_view name) const;
  // The first value of that name in the query, decoded ('+' is a blank); nothing if there is none,
  // or if it is not percent-encoded properly.
  std::optional<std::string> Query(std::string_view name) const;
  // The media type, without its parameters.
  std::string_view ContentType() const;
};

// Gives a body that is too long to be held, in pieces, each when the one before was sent.
class BodySource {
 public:
  virtual ~BodySource() = default;
  // Appends a piece (64 KiB or so are good) to `piece`; false if that was the last one. An error
  // ends the connection before the body's end, so that the client can tell.
  virtual absl::StatusOr<bool> Next(std::string& piece) = 0;
};

struct Response {
  int status = 200;
  std::string_view content_type = "application/json";  // of a constant; sent if there is a body
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::unique_ptr<BodySource> source;  // instead of body, if set
  // Set by the handler of a route that is not blocking, when answering this request would take it
  // long: it is called again in a worker (may_wait), with an empty response.
  bool deferred = false;

  // Keeps what was allocated for the body.
  void Clear();
};

// Takes a body that is too long to be held, in pieces, as they come.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // Whether the next Take or Finish may take long: it is then called in a worker.
  virtual bool MayWait() const { return false; }
  // False: enough; `response` has been filled in, and the connection will be closed.
  virtual bool Take(std::string_view piece, Response& response) = 0;
  // The body is complete. Not called if the client left before its end.
  virtual void Finish(Response& response) = 0;
};

// An error as every client gets it: {"code": ..., "message": ..., "field": ...}; `field` names
// what in the request is wrong, and is left out if empty.
void SetError(int status, std::string_view code, std::string_view message, std::string_view field,
              Response& response);
void SetError(const absl::Status& error, std::string_view field, Response& response);

// The status an error is answered with, and its name in "code".
int HttpStatusOf(absl::StatusCode code);
std::string_view CodeName(absl::StatusCode code);

// Text in quotes, as JSON has it. Bytes that are no UTF-8 become U+FFFD.
void AppendJsonString(std::string_view text, std::string& json);

// Undoes percent-encoding; false if a '%' is not followed by two hexadecimal digits.
bool PercentDecode(std::string_view text, bool plus_is_blank, std::string& decoded);
// Whether that can be done.
bool IsPercentEncoded(std::string_view text);
// Encodes everything but unreserved characters.
void AppendPercentEncoded(std::string_view text, std::string& encoded);

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_HTTP_MESSAGE_H_

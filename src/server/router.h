// Finds the handler of a request: method and path pattern.
#ifndef ESCALONA_SERVER_ROUTER_H_
#define ESCALONA_SERVER_ROUTER_H_

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/http_message.h"

namespace escalona::server {

// Answers a request whose body, if any, has been read.
using Handler = std::function<void(const Request& request, Response& response)>;
// Looks at the headers and gives the sink that the body goes to; null if it has answered already.
using UploadHandler =
    std::function<std::unique_ptr<BodySink>(const Request& request, Response& response)>;

struct RouteOptions {
  // The handler, its sink or its source may wait (for the disk, say): it runs in a thread of the
  // pool of workers, where it holds up nobody else. Others must be quick: they run in the thread
  // that serves the connection, which is faster.
  bool blocking = false;
  // A longer body is refused with 413. Does not bind a sink.
  size_t max_body_bytes = 1 << 20;
};

struct Route {
  std::string pattern;
  RouteOptions options;
  Handler handler;
  UploadHandler upload;  // one of the two
};

// Patterns are paths such as "/ns/{namespace}/associations/{key}": a segment in braces stands for
// any one segment (an empty one too), which the handler gets decoded; "{rest...}" at the end stands
// for all that is left, as sent. Of several patterns that fit, the one with a literal segment where
// the others have braces is taken, if it has the method. HEAD is GET without the body.
//
// Owners add their routes before the server starts; after that it is read only, by any thread.
class Router {
 public:
  Router();
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  // A pattern that is added twice with a method, or is none, ends the program: it is a mistake in
  // it.
  void Add(Method method, std::string_view pattern, Handler handler, RouteOptions options = {});
  void AddUpload(Method method, std::string_view pattern, UploadHandler handler,
                 RouteOptions options = {});

  struct Match {
    const Route* route = nullptr;  // null: see `allowed`
    bool bad_encoding = false;     // a '%' without two hexadecimal digits
    std::string allowed;           // what else the path can be asked with: for 405; empty: 404
  };
  // Fills in `params`.
  Match Find(Method method, std::string_view path, std::vector<std::string>& params) const;

  // "GET /associations/{key}", in the order of Add: what there is, for documents and tests.
  std::vector<std::string> List() const;

 private:
  struct Node;
  void Insert(Method method, std::string_view pattern, Route route);
  struct Walk;

  std::unique_ptr<Node> root_;
  std::vector<std::string> list_;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_ROUTER_H_

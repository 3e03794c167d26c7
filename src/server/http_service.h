// The HTTP server as a part of the process, with the routes that belong to nobody else.
#ifndef ESCALONA_SERVER_HTTP_SERVICE_H_
#define ESCALONA_SERVER_HTTP_SERVICE_H_

#include <string>

#include "server/http_server.h"
#include "server/service.h"

namespace escalona::server {

// Adds GET /health, which is answered as long as the process serves.
class HttpService : public Service {
 public:
  HttpService(const HttpOptions& options, Router& router);

  std::string name() const override { return "http"; }
  std::string detail() const override { return "on http://" + server_.address(); }
  absl::Status Start() override { return server_.Start(); }
  void Stop() override { server_.Stop(); }
  HttpStats Stats() const { return server_.Stats(); }

 private:
  HttpServer server_;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_HTTP_SERVICE_H_

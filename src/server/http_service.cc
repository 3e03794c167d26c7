// Starts HTTP after everything that answers it.
#include "server/http_service.h"

namespace escalona::server {

HttpService::HttpService(const HttpOptions& options, Router& router) : server_(options, router) {
  router.Add(Method::kGet, "/health",
             [](const Request&, Response& response) { response.body = R"({"status":"ok"})"; });
}

}  // namespace escalona::server

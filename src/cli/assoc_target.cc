// Requests over a connection, and requests to the routes in this process.
#include "cli/assoc_target.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_join.h"
#include "cli/address.h"
#include "escalona/clock.h"
#include "server/association_service.h"
#include "server/router.h"
#include "store/data_directory.h"

namespace escalona::cli {
namespace {

using server::ClientRequest;
using server::ClientResponse;

class ServerTarget : public AssocTarget {
 public:
  explicit ServerTarget(const Address& address) : client_(address.host, address.port) {}

  absl::StatusOr<ClientResponse> Ask(const ClientRequest& request) override {
    return client_.Ask(request);
  }
  absl::StatusOr<ClientResponse> Upload(const ClientRequest& request, Next next) override {
    return client_.Upload(request, next);
  }
  absl::StatusOr<ClientResponse> Download(const ClientRequest& request, Taker take) override {
    return client_.Download(request, take);
  }

 private:
  server::HttpClient client_;
};

class DataTarget : public AssocTarget {
 public:
  explicit DataTarget(store::DataDirectory data)
      : data_(std::move(data)),
        // Without a log: everything is written when the service stops. There is no server whose
        // clients would have to share.
        service_({.folder = data_.associations(),
                  .durability = assoc::Durability::kNone,
                  .limit_rate = false},
                 clock_, router_) {}
  ~DataTarget() override {
    if (started_) service_.Stop();
  }

  absl::Status Start() {
    absl::Status status = service_.Start();
    started_ = status.ok();
    if (started_) status = data_.NoteStores();
    // What a crash left in the log is in the totals then.
    return status.ok() ? service_.namespaces().Checkpoint() : status;
  }

  absl::StatusOr<ClientResponse> Ask(const ClientRequest& asked) override {
    return Answer(
        asked, [](std::string&) { return false; },
        [](std::string_view) { return absl::OkStatus(); });
  }
  absl::StatusOr<ClientResponse> Upload(const ClientRequest& asked, Next next) override {
    return Answer(asked, next, [](std::string_view) { return absl::OkStatus(); });
  }
  absl::StatusOr<ClientResponse> Download(const ClientRequest& asked, Taker take) override {
    return Answer(
        asked, [](std::string&) { return false; }, take);
  }

 private:
  absl::StatusOr<ClientResponse> Answer(const ClientRequest& asked, Next next, Taker take) {
    server::Request request;
    server::Response response;
    const std::string_view target = asked.target;
    const size_t question = std::min(target.find('?'), target.size());
    request.method = asked.method;
    request.path = target.substr(0, question);
    request.query = question < target.size() ? target.substr(question + 1) : "";
    request.headers = {{"Content-Type", asked.content_type}};
    request.body = asked.body;
    request.may_wait = true;
    const auto match = router_.Find(request.method, request.path, request.params);
    if (match.route == nullptr || match.bad_encoding) {
      return absl::InternalError("no route for " + asked.target);
    }
    if (service_.namespaces().Find(request.params[0]) == nullptr) {
      return absl::NotFoundError("the folder has no namespace '" + request.params[0] +
                                 "'; it has " + absl::StrJoin(service_.namespaces().Names(), ", "));
    }
    if (match.route->upload) {
      if (absl::Status status = Feed(*match.route, request, next, response); !status.ok()) {
        return status;
      }
    } else {
      match.route->handler(request, response);
    }
    if (absl::Status status = Drain(response, take); !status.ok()) return status;
    // What is said to be done is on the disk.
    if (request.method != server::Method::kGet) {
      if (absl::Status status = service_.namespaces().Checkpoint(); !status.ok()) return status;
      if (absl::Status status = service_.namespaces().Sync(); !status.ok()) return status;
    }
    return ClientResponse{response.status, std::move(response.body)};
  }

  static absl::Status Feed(const server::Route& route, const server::Request& request, Next next,
                           server::Response& response) {
    const auto sink = route.upload(request, response);
    if (sink == nullptr) return absl::OkStatus();
    std::string piece(request.body);
    while (true) {
      if (!piece.empty() && !sink->Take(piece, response)) return absl::OkStatus();
      piece.clear();
      const auto more = next(piece);
      if (!more.ok()) return more.status();
      if (!*more && piece.empty()) break;
    }
    sink->Finish(response);
    return absl::OkStatus();
  }

  static absl::Status Drain(server::Response& response, Taker take) {
    if (response.source == nullptr) return absl::OkStatus();
    std::string piece;
    while (true) {
      piece.clear();
      const auto more = response.source->Next(piece);
      if (!more.ok()) return more.status();
      if (absl::Status status = take(piece); !status.ok()) return status;
      if (!*more) return absl::OkStatus();
    }
  }

  store::DataDirectory data_;
  SystemClock clock_;
  server::Router router_;
  server::AssociationService service_;
  bool started_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AssocTarget>> OpenAssocTarget(const std::string& server,
                                                             const std::string& data) {
  if (data.empty()) {
    std::string_view text = server;
    if (text.starts_with("http://")) text.remove_prefix(7);
    while (text.ends_with('/')) text.remove_suffix(1);
    const auto address = ParseAddress(text, kHttpListener);
    if (!address.ok()) {
      return absl::InvalidArgumentError("--server: " + std::string(address.status().message()));
    }
    return std::make_unique<ServerTarget>(*address);
  }
  if (!std::filesystem::exists(data)) {
    return absl::NotFoundError("no folder " + data);  // a mistyped name should not make one
  }
  auto directory = store::DataDirectory::Open(data);
  if (!directory.ok()) return directory.status();
  // Standard output is for what was asked.
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "escalona", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  auto target = std::make_unique<DataTarget>(*std::move(directory));
  if (absl::Status status = target->Start(); !status.ok()) return status;
  return target;
}

std::string MessageOf(const absl::Status& error) {
  std::string message(error.message());
  if (absl::IsUnavailable(error)) message += "; " + WhereItListens(kHttpListener);
  return message;
}

}  // namespace escalona::cli

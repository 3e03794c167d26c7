// `escalona serve`: the server.
//
// The process is a list of services (server/service.h) around one Router: each service takes what
// it needs in its constructor and adds its routes there; the ones that take requests come last.
#include <pthread.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/address.h"
#include "cli/command.h"
#include "cli/serve_frontier.h"
#include "cli/units.h"
#include "cli/version.h"
#include "escalona/clock.h"
#include "server/association_service.h"
#include "server/frontier_host.h"
#include "server/http_service.h"
#include "server/router.h"
#include "server/service.h"
#include "store/data_directory.h"

namespace escalona::cli {
namespace {

struct ServeOptions {
  std::string data = "./escalona-data";
  std::string http = kHttpListener.usual;
  std::string durability = "interval";
  std::string assoc_memory;
  FrontierFlags frontier;
  bool routes = false;
};

// The signals that end the server. Blocked before any thread starts, so that they are taken here
// and nowhere else.
sigset_t EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

void WaitForEnd(const sigset_t& signals) {
  int signal = 0;
  sigwait(&signals, &signal);
  spdlog::info("{}: stopping", signal == SIGINT ? "SIGINT" : "SIGTERM");
  // A second one ends the process at once.
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void LogToStandardError() {
  auto logger = std::make_shared<spdlog::logger>("escalona",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  spdlog::set_default_logger(std::move(logger));
}

absl::Status AddAssociations(const ServeOptions& options, const std::string& folder,
                             const Clock& clock, server::Router& router,
                             server::ServiceList& services) {
  server::AssociationServiceOptions service;
  service.folder = folder;
  service.durability = options.durability == "sync"   ? assoc::Durability::kSync
                       : options.durability == "none" ? assoc::Durability::kNone
                                                      : assoc::Durability::kInterval;
  if (!options.assoc_memory.empty()) {
    const auto bytes = ParseSize(options.assoc_memory);
    if (!bytes.ok()) {
      return absl::InvalidArgumentError("--assoc-memory: " + std::string(bytes.status().message()));
    }
    service.memory_bytes = *bytes;
  }
  services.Add(std::make_unique<server::AssociationService>(service, clock, router));
  return absl::OkStatus();
}

absl::Status AddHttp(const ServeOptions& options, server::Router& router,
                     server::ServiceList& services) {
  const auto address = ParseAddress(options.http, kHttpListener);
  if (!address.ok()) {
    return absl::InvalidArgumentError("--http: " + std::string(address.status().message()));
  }
  server::HttpOptions http;
  http.host = address->host;
  http.port = address->port;
  services.Add(std::make_unique<server::HttpService>(http, router));
  return absl::OkStatus();
}

// Adds the frontier, whose side of gRPC is added last.
absl::StatusOr<server::FrontierHost*> AddFrontier(const ServeOptions& options,
                                                  const std::string& folder, const Clock& clock,
                                                  server::Router& router,
                                                  server::ServiceList& services) {
  const absl::StatusOr<FrontierOptions> frontier =
      FrontierOptionsOf(options.frontier, options.durability);
  if (!frontier.ok()) return frontier.status();
  const bool in_memory = options.frontier.store == "memory";
  auto host = std::make_unique<server::FrontierHost>(
      in_memory ? std::nullopt : std::optional<std::string>(folder), *frontier, clock, router);
  server::FrontierHost* added = host.get();
  services.Add(std::move(host));
  return added;
}

// Everything that serves, in the order it starts.
absl::Status AddServices(const ServeOptions& options, const std::string& associations,
                         const std::string& frontier, const Clock& clock, server::Router& router,
                         server::ServiceList& services) {
  const absl::StatusOr<server::GrpcOptions> grpc = GrpcOptionsOf(options.frontier);
  if (!grpc.ok()) return grpc.status();
  absl::Status added = AddAssociations(options, associations, clock, router, services);
  if (!added.ok()) return added;
  const auto host = AddFrontier(options, frontier, clock, router, services);
  if (!host.ok()) return host.status();
  added = AddHttp(options, router, services);
  if (!added.ok()) return added;
  services.Add(std::make_unique<server::GrpcService>(*grpc, **host));
  return absl::OkStatus();
}

absl::Status PrintRoutes(const ServeOptions& options) {
  const SystemClock clock;
  server::Router router;
  server::ServiceList services;
  if (absl::Status status = AddServices(options, "", "", clock, router, services); !status.ok()) {
    return status;
  }
  for (const std::string& route : router.List()) std::printf("%s\n", route.c_str());
  return absl::OkStatus();
}

// Says what is wrong with the options, before anything is made.
absl::Status CheckOptions(const ServeOptions& options) {
  const SystemClock clock;
  server::Router router;
  server::ServiceList services;
  return AddServices(options, "", "", clock, router, services);
}

absl::Status Run(ServeOptions options) {
  const sigset_t signals = EndingSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  LogToStandardError();
  if (absl::Status status = ApplySettings(options.frontier, options.data, options.http);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  spdlog::info("escalona {} (commit {}), data in {}", kVersion, kCommit, options.data);
  const auto data = store::DataDirectory::Open(options.data);
  if (!data.ok()) return data.status();

  const SystemClock clock;
  server::Router router;
  server::ServiceList services;
  absl::Status status =
      AddServices(options, data->associations(), data->frontier(), clock, router, services);
  if (status.ok()) status = services.Start();
  if (status.ok()) status = data->NoteStores();
  if (!status.ok()) return status;
  WaitForEnd(signals);
  services.Stop();
  return absl::OkStatus();
}

int Serve(const ServeOptions& options) {
  (void)setenv("GRPC_VERBOSITY", "NONE",
               0);  // what it would print is said by our messages, in one line
  const absl::Status done = options.routes ? PrintRoutes(options) : Run(options);
  if (done.ok()) return kDone;
  std::fprintf(stderr, "escalona serve: %s\n", std::string(done.message()).c_str());
  return kCouldNotBeDone;
}

}  // namespace

void AddServe(CLI::App& app, int& status) {
  CLI::App* serve = app.add_subcommand("serve", "Run the server");
  auto options = std::make_shared<ServeOptions>();
  serve->add_option("--data", options->data, "Folder of the server's state; made if missing")
      ->capture_default_str();
  serve->add_option("--http", options->http, "HOST:PORT for HTTP; port 0 is any that is free")
      ->capture_default_str();
  serve
      ->add_option("--durability", options->durability,
                   "When what is acknowledged is on disk: sync (at once), interval (a second "
                   "later), none (associations: at a checkpoint)")
      ->check(CLI::IsMember({"sync", "interval", "none"}))
      ->capture_default_str();
  serve->add_option("--assoc-memory", options->assoc_memory,
                    "Memory for associations, such as 4GiB; more than that stays in the store");
  AddFrontierFlags(*serve, options->frontier);
  serve->add_flag("--routes", options->routes, "Print the routes of HTTP and end");
  serve->footer(
      "Log lines go to standard error. SIGINT and SIGTERM stop the server when the requests under "
      "way are answered; a second one stops it at once.\n"
      "Exit status: 0 stopped as asked, 2 could not start.");
  serve->callback([options, &status] { status = Serve(*options); });
}

}  // namespace escalona::cli

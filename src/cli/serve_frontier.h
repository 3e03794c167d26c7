// The options of `escalona serve` that are about the frontier and its gRPC side.
#ifndef ESCALONA_CLI_SERVE_FRONTIER_H_
#define ESCALONA_CLI_SERVE_FRONTIER_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/address.h"
#include "escalona/frontier.h"
#include "server/grpc_server.h"

namespace escalona::cli {

// As the user wrote them.
struct FrontierFlags {
  std::optional<std::string> grpc;  // if given
  std::string node;
  std::string store = "rocksdb";
  std::string memory = "1GiB";
  std::string default_delay = "1s";
  std::string strategy = "breadth-first";
  std::string url_order = "date";
  std::string politeness = "queue";
  uint32_t max_in_process = 0;
  uint64_t max_urls_per_queue = 0;
  uint64_t max_urls_per_crawl = 0;
  std::optional<uint16_t> port;             // as the reference server has it: every interface
  std::optional<uint16_t> prometheus_port;  // the same for HTTP
  std::vector<std::string> settings;
};

void AddFrontierFlags(CLI::App& serve, FrontierFlags& flags);

// Takes `key=value` arguments of the reference server, -p and -s into the flags and into the
// addresses and folder that they are about. InvalidArgument names the argument.
absl::Status ApplySettings(FrontierFlags& flags, std::string& data, std::string& http);

// `durability` is sync, or else an interval.
absl::StatusOr<FrontierOptions> FrontierOptionsOf(const FrontierFlags& flags,
                                                  const std::string& durability);
absl::StatusOr<server::GrpcOptions> GrpcOptionsOf(const FrontierFlags& flags);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_SERVE_FRONTIER_H_

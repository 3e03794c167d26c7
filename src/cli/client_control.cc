// `escalona client delay|block|limit|active|log-level`: tells a server how to behave.
#include <cstdio>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/number_option.h"
#include "cli/units.h"

namespace escalona::cli {
namespace {

struct ControlOptions {
  std::string key;
  std::string crawl;
  std::string time;
  std::string until;
};

int Done(Client& server, const grpc::Status& status) {
  return status.ok() ? static_cast<int>(kDone) : server.Fail(status);
}

int SetDelay(Client& server, const ControlOptions& options) {
  const absl::StatusOr<uint32_t> delay = ParseWholeSeconds(options.time);
  if (!delay.ok()) return server.Fail("the delay " + std::string(delay.status().message()));
  urlfrontier::QueueDelayParams params;
  params.set_key(options.key);
  params.set_crawlid(options.crawl);
  params.set_delay_requestable(*delay);
  grpc::ClientContext context;
  urlfrontier::Empty empty;
  return Done(server, server.frontier().SetDelay(&context, params, &empty));
}

void AddDelay(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* delay = client.add_subcommand("delay", "Set the time between two servings of a queue");
  auto options = std::make_shared<ControlOptions>();
  delay->add_option("TIME", options->time, "Such as 5s")->required();
  delay->add_option("-k,--key", options->key, "The queue; without, the default of the server");
  AddCrawl(delay, options->crawl);
  OnCommand(delay, flags, status, [options](Client& server) { return SetDelay(server, *options); });
}

int Block(Client& server, const ControlOptions& options) {
  urlfrontier::BlockQueueParams params;
  params.set_key(options.key);
  params.set_crawlid(options.crawl);
  if (!options.until.empty()) {
    absl::Time until;
    std::string error;
    if (!absl::ParseTime(absl::RFC3339_full, options.until, &until, &error)) {
      return server.Fail("--until must be a time such as 2027-01-31T12:00:00Z");
    }
    params.set_time(static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixSeconds(until))));
  } else {
    const absl::StatusOr<double> time = ParseDuration(options.time);
    if (!time.ok()) return server.Fail("the time " + std::string(time.status().message()));
    if (*time > 0) {
      params.set_time(
          static_cast<uint64_t>(absl::ToUnixSeconds(absl::Now() + absl::Seconds(*time))));
    }
  }
  grpc::ClientContext context;
  urlfrontier::Empty empty;
  return Done(server, server.frontier().BlockQueueUntil(&context, params, &empty));
}

void AddBlock(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* block = client.add_subcommand("block", "Serve nothing of a queue for some time");
  auto options = std::make_shared<ControlOptions>();
  AddKey(block, options->key);
  CLI::Option* time = block->add_option("TIME", options->time, "Such as 1h; 0 unblocks");
  CLI::Option* until = block->add_option("--until", options->until, "Such as 2027-01-31T12:00:00Z");
  time->excludes(until);
  AddCrawl(block, options->crawl);
  OnCommand(block, flags, status, [options](Client& server) {
    if (options->time.empty() && options->until.empty()) {
      return server.Fail("for how long? Such as: block KEY 1h");
    }
    return Block(server, *options);
  });
}

void AddLimit(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* limit =
      client.add_subcommand("limit", "Stop serving a queue when it has so many completed URLs");
  auto options = std::make_shared<ControlOptions>();
  auto count = std::make_shared<uint32_t>(0);
  AddKey(limit, options->key);
  limit->add_option("COUNT", *count, "0: no limit")->required()->check(Fits(*count));
  AddCrawl(limit, options->crawl);
  OnCommand(limit, flags, status, [options, count](Client& server) {
    urlfrontier::CrawlLimitParams params;
    params.set_key(options->key);
    params.set_crawlid(options->crawl);
    params.set_limit(*count);
    grpc::ClientContext context;
    urlfrontier::Empty empty;
    return Done(server, server.frontier().SetCrawlLimit(&context, params, &empty));
  });
}

int ShowActive(Client& server) {
  grpc::ClientContext context;
  urlfrontier::Boolean reply;
  const grpc::Status done = server.frontier().GetActive(&context, {}, &reply);
  if (!done.ok()) return server.Fail(done);
  PrintLine(reply.state() ? "true" : "false");
  return kDone;
}

void AddActive(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* active = client.add_subcommand("active", "Show, or set, whether URLs are served");
  auto state = std::make_shared<std::string>();
  active->add_option("STATE", *state, "true or false; shown if unset")
      ->check(CLI::IsMember({"true", "false"}));
  OnCommand(active, flags, status, [state](Client& server) {
    if (state->empty()) return ShowActive(server);
    urlfrontier::Active params;
    params.set_state(*state == "true");
    grpc::ClientContext context;
    urlfrontier::Empty empty;
    return Done(server, server.frontier().SetActive(&context, params, &empty));
  });
}

void AddLogLevel(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* level = client.add_subcommand("log-level", "Set how much the server logs");
  auto name = std::make_shared<std::string>();
  auto package = std::make_shared<std::string>("ROOT");
  level->add_option("LEVEL", *name, "The least that is logged")
      ->transform(CLI::IsMember({"TRACE", "DEBUG", "INFO", "WARN", "ERROR"}, CLI::ignore_case))
      ->required();
  level->add_option("--package", *package, "Of the reference service; ours has one log")
      ->capture_default_str();
  OnCommand(level, flags, status, [name, package](Client& server) {
    urlfrontier::LogLevelParams params;
    urlfrontier::LogLevelParams::Level value = urlfrontier::LogLevelParams::INFO;
    urlfrontier::LogLevelParams::Level_Parse(*name, &value);
    params.set_level(value);
    params.set_package(*package);
    grpc::ClientContext context;
    urlfrontier::Empty empty;
    return Done(server, server.frontier().SetLogLevel(&context, params, &empty));
  });
}

}  // namespace

void AddClientControl(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  AddDelay(client, flags, status);
  AddBlock(client, flags, status);
  AddLimit(client, flags, status);
  AddActive(client, flags, status);
  AddLogLevel(client, flags, status);
}

}  // namespace escalona::cli

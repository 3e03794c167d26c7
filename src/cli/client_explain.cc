// `escalona client explain|strategy|address`: what only our server answers.
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/client.h"
#include "cli/command.h"

namespace escalona::cli {
namespace {

const char* Words(int reason) {
  switch (reason) {
    case ExplainReply::SERVABLE:
      return "it can be served now";
    case ExplainReply::UNKNOWN_URL:
      return "it is not known; it was not put, or into another queue or crawl";
    case ExplainReply::COMPLETED:
      return "it is completed; only a put with a date brings it back";
    case ExplainReply::INACTIVE:
      return "the server is told not to serve (`escalona client active true`)";
    case ExplainReply::BLOCKED:
      return "its queue is blocked";
    case ExplainReply::LIMIT_REACHED:
      return "its queue has as many completed URLs as its limit allows";
    case ExplainReply::NOT_DUE:
      return "its date has not come";
    case ExplainReply::LEASED:
      return "somebody has leased it";
    case ExplainReply::DELAY:
      return "its queue, or its politeness group, was served less than its delay ago";
    case ExplainReply::IN_PROCESS:
      return "its queue has as many leased URLs as it may";
    case ExplainReply::DAMAGED:
      return "its queue cannot be read and is put aside; the log of the server says why";
    default:
      return "a reason this program does not know";
  }
}

std::string Calendar(double seconds) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::UnixEpoch() + absl::Seconds(seconds),
                          absl::UTCTimeZone());
}

void Print(const ExplainReply& reply) {
  PrintLine("queue   " + reply.key());
  for (const int reason : reply.reasons()) PrintLine(absl::StrCat("reason  ", Words(reason)));
  const bool now = reply.reasons_size() == 1 && reply.reasons(0) == ExplainReply::SERVABLE;
  if (!now && reply.has_when()) {
    std::printf("when    %s at the earliest, in %.3f s\n", Calendar(reply.when()).c_str(),
                std::max(0.0, reply.when() - reply.now()));
  } else if (!now) {
    std::printf("when    not without a change\n");
  }
  if (reply.before() > 0) {
    std::printf("before  %llu URLs of its queue%s\n",
                static_cast<unsigned long long>(reply.before()),
                reply.before() >= 1000 ? ", or more" : "");
  }
}

void AddExplain(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* explain =
      client.add_subcommand("explain", "Why a URL is not served now, and when it will be");
  auto url = std::make_shared<std::string>();
  auto key = std::make_shared<std::string>();
  auto crawl = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  explain->add_option("URL", *url, "The URL, as it was put")->required();
  explain->add_option("-k,--key", *key, "Its queue; the host if unset");
  AddCrawl(explain, *crawl);
  explain->add_flag("--json", *json, "As JSON");
  OnCommand(explain, flags, status, [=](Client& server) -> int {
    ExplainRequest request;
    request.set_url(*url);
    request.set_key(*key);
    request.set_crawl(*crawl);
    grpc::ClientContext context;
    ExplainReply reply;
    const grpc::Status done = server.admin().Explain(&context, request, &reply);
    if (!done.ok()) return server.Fail(done);
    if (*json) {
      PrintLine(JsonOf(reply));
    } else {
      Print(reply);
    }
    return kDone;
  });
}

void AddStrategy(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* strategy =
      client.add_subcommand("strategy", "Set the order of queues and URLs of a crawl");
  auto name = std::make_shared<std::string>();
  auto order = std::make_shared<std::string>("date");
  auto crawl = std::make_shared<std::string>();
  strategy->add_option("STRATEGY", *name, "Order of the queues")
      ->check(CLI::IsMember({"breadth-first", "depth-first", "best-first"}))
      ->required();
  strategy->add_option("--url-order", *order, "Order within a queue")
      ->check(CLI::IsMember({"date", "depth"}))
      ->capture_default_str();
  AddCrawl(strategy, *crawl);
  OnCommand(strategy, flags, status, [=](Client& server) -> int {
    StrategyRequest request;
    request.set_crawl(*crawl);
    request.set_strategy(*name == "depth-first"  ? StrategyRequest::DEPTH_FIRST
                         : *name == "best-first" ? StrategyRequest::BEST_FIRST
                                                 : StrategyRequest::BREADTH_FIRST);
    request.set_url_order(*order == "depth" ? StrategyRequest::DEPTH : StrategyRequest::DATE);
    grpc::ClientContext context;
    StrategyReply reply;
    const grpc::Status done = server.admin().SetStrategy(&context, request, &reply);
    return done.ok() ? static_cast<int>(kDone) : server.Fail(done);
  });
}

void AddAddress(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* address =
      client.add_subcommand("address", "Tell the IP address of a queue (serve --politeness ip)");
  auto key = std::make_shared<std::string>();
  auto ip = std::make_shared<std::string>();
  auto crawl = std::make_shared<std::string>();
  AddKey(address, *key);
  address->add_option("IP", *ip, "Its address")->required();
  AddCrawl(address, *crawl);
  OnCommand(address, flags, status, [=](Client& server) -> int {
    AddressRequest request;
    request.set_crawl(*crawl);
    request.set_key(*key);
    request.set_ip(*ip);
    grpc::ClientContext context;
    AddressReply reply;
    const grpc::Status done = server.admin().SetQueueAddress(&context, request, &reply);
    return done.ok() ? static_cast<int>(kDone) : server.Fail(done);
  });
}

}  // namespace

void AddClientExplain(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  AddExplain(client, flags, status);
  AddStrategy(client, flags, status);
  AddAddress(client, flags, status);
}

}  // namespace escalona::cli

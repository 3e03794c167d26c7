// `escalona client get|urls|status|count|purge`: about URLs.
#include <cstdio>
#include <string>

#include "absl/time/time.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/number_option.h"
#include "cli/units.h"

namespace escalona::cli {
namespace {

struct GetOptions {
  std::string key;
  std::string crawl;
  std::string lease = "30s";
  uint32_t urls = 1;
  uint32_t queues = 1;
  bool json = false;
  bool tokens = false;
};

// Prints a line for each message that comes, until standard output cannot be written.
template <class Message, class LineOf>
int PrintAll(Client& client, grpc::ClientContext& context, grpc::ClientReader<Message>& reader,
             LineOf line_of) {
  Message message;
  bool printed = true;
  while (printed && reader.Read(&message)) printed = PrintLine(line_of(message));
  if (!printed) context.TryCancel();
  const grpc::Status status = reader.Finish();
  return status.ok() || !printed ? static_cast<int>(kDone) : client.Fail(status);
}

int Get(Client& client, const GetOptions& options, bool crawl_given) {
  const absl::StatusOr<uint32_t> lease = ParseWholeSeconds(options.lease);
  if (!lease.ok()) return client.Fail("--lease " + std::string(lease.status().message()));
  if (*lease == 0) return client.Fail("--lease must be 1s or more: servers take 0 for 30 s");
  urlfrontier::GetParams params;
  params.set_key(options.key);
  params.set_max_urls_per_queue(options.urls);
  params.set_max_queues(options.queues);
  params.set_delay_requestable(*lease);
  if (crawl_given || !options.key.empty()) {
    params.set_crawlid(options.crawl);
  } else {
    params.mutable_anycrawlid();
  }
  grpc::ClientContext context;
  if (options.tokens) context.AddMetadata("escalona-lease", "1");
  const auto reader = client.frontier().GetURLs(&context, params);
  return PrintAll(client, context, *reader, [&](const urlfrontier::URLInfo& info) {
    return options.json ? JsonOf(info) : info.url();
  });
}

void AddGet(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* get = client.add_subcommand("get", "Lease URLs that may be fetched now");
  auto options = std::make_shared<GetOptions>();
  CLI::Option* crawl =
      get->add_option("-c,--crawl", options->crawl, "Only of this crawl; of any if unset");
  get->add_option("-k,--key", options->key, "Only of this queue (of DEFAULT, without --crawl)");
  get->add_option("-n,--urls", options->urls, "URLs of a queue; 0: no limit")
      ->check(Fits(options->urls))
      ->capture_default_str();
  get->add_option("-q,--queues", options->queues, "Queues; 0: no limit")
      ->check(Fits(options->queues))
      ->capture_default_str();
  get->add_option("-l,--lease", options->lease,
                  "How long nobody else gets them: whole seconds, 1 at least")
      ->capture_default_str();
  get->add_flag("--json", options->json, "With key, crawl and metadata");
  get->add_flag("--tokens", options->tokens,
                "With lease tokens among the metadata, for fenced updates (our server)");
  OnCommand(get, flags, status,
            [options, crawl](Client& server) { return Get(server, *options, crawl->count() > 0); });
}

struct ListOptions {
  std::string key;
  std::string crawl;
  std::string filter;
  bool ignore_case = false;
  uint32_t start = 0;
  uint32_t size = 100;
  bool json = false;
};

void AddFilter(CLI::App* command, ListOptions& options) {
  AddCrawl(command, options.crawl);
  command->add_option("-k,--key", options.key, "Only of this queue");
  command->add_option("-f,--filter", options.filter, "Only URLs with this text in them");
  command->add_flag("-i,--ignore-case", options.ignore_case, "In the filter");
}

std::string When(uint64_t seconds) {
  if (seconds == 0) return "completed";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ",
                          absl::FromUnixSeconds(static_cast<int64_t>(seconds)),
                          absl::UTCTimeZone());
}

int List(Client& client, const ListOptions& options) {
  urlfrontier::ListUrlParams params;
  params.set_key(options.key);
  params.set_crawlid(options.crawl);
  params.set_start(options.start);
  params.set_size(options.size);
  if (!options.filter.empty()) params.set_filter(options.filter);
  if (options.ignore_case) params.set_ignorecase(true);
  grpc::ClientContext context;
  const auto reader = client.frontier().ListURLs(&context, params);
  return PrintAll(client, context, *reader, [&](const urlfrontier::URLItem& item) {
    if (options.json) return JsonOf(item);
    return item.known().info().url() + ";" + When(item.known().refetchable_from_date());
  });
}

void AddUrls(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* urls = client.add_subcommand("urls", "List URLs: URL;DATE, in whole seconds");
  auto options = std::make_shared<ListOptions>();
  AddFilter(urls, *options);
  urls->add_option("-s,--start", options->start, "Skip so many")
      ->check(Fits(options->start))
      ->capture_default_str();
  urls->add_option("-n,--size", options->size, "At most so many")
      ->check(Fits(options->size))
      ->capture_default_str();
  urls->add_flag("--json", options->json, "URLItems");
  OnCommand(urls, flags, status, [options](Client& server) { return List(server, *options); });
}

int CountUrls(Client& client, const ListOptions& options) {
  urlfrontier::CountUrlParams params;
  params.set_key(options.key);
  params.set_crawlid(options.crawl);
  if (!options.filter.empty()) params.set_filter(options.filter);
  if (options.ignore_case) params.set_ignorecase(true);
  grpc::ClientContext context;
  urlfrontier::Long reply;
  const grpc::Status status = client.frontier().CountURLs(&context, params, &reply);
  if (!status.ok()) return client.Fail(status);
  std::printf("%llu\n", static_cast<unsigned long long>(reply.value()));
  return kDone;
}

void AddCount(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* count = client.add_subcommand("count", "Count URLs, scheduled and completed");
  auto options = std::make_shared<ListOptions>();
  AddFilter(count, *options);
  OnCommand(count, flags, status,
            [options](Client& server) { return CountUrls(server, *options); });
}

int Status(Client& client, const std::string& url, const ListOptions& options) {
  urlfrontier::URLStatusRequest request;
  request.set_url(url);
  request.set_key(options.key);
  request.set_crawlid(options.crawl);
  grpc::ClientContext context;
  urlfrontier::URLItem item;
  const grpc::Status status = client.frontier().GetURLStatus(&context, request, &item);
  if (!status.ok()) return client.Fail(status);
  if (options.json) {
    PrintLine(JsonOf(item));
    return kDone;
  }
  const urlfrontier::URLInfo& info = item.known().info();
  PrintLine("url      " + info.url());
  PrintLine("key      " + info.key());
  PrintLine("crawl    " + info.crawlid());
  PrintLine("due      " + When(item.known().refetchable_from_date()));
  PrintLine("created  " + (item.creation_date() == 0 ? "not told" : When(item.creation_date())));
  return kDone;
}

void AddStatus(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* command = client.add_subcommand("status", "What is known of a URL");
  auto options = std::make_shared<ListOptions>();
  auto url = std::make_shared<std::string>();
  command->add_option("URL", *url, "The URL, as it was put")->required();
  AddCrawl(command, options->crawl);
  command->add_option("-k,--key", options->key, "Its queue; the host if unset");
  command->add_flag("--json", options->json, "A URLItem");
  OnCommand(command, flags, status,
            [options, url](Client& server) { return Status(server, *url, *options); });
}

void AddPurge(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* purge = client.add_subcommand("purge", "Forget URLs that were created long ago");
  auto days = std::make_shared<uint32_t>(0);
  auto key = std::make_shared<std::string>();
  auto crawl = std::make_shared<std::string>();
  purge->add_option("-d,--days", *days, "Days ago; 0: everything created before this second")
      ->required()
      ->check(Fits(*days));
  AddCrawl(purge, *crawl);
  purge->add_option("-k,--key", *key, "Only of this queue");
  OnCommand(purge, flags, status, [days, key, crawl](Client& server) {
    urlfrontier::PurgeUrlParams request;
    request.set_days(*days);
    request.set_key(*key);
    request.set_crawlid(*crawl);
    grpc::ClientContext context;
    urlfrontier::Long reply;
    const grpc::Status done = server.frontier().PurgeURLs(&context, request, &reply);
    if (!done.ok()) return server.Fail(done);
    std::printf("%llu\n", static_cast<unsigned long long>(reply.value()));
    return static_cast<int>(kDone);
  });
}

}  // namespace

void AddClientUrls(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  AddGet(client, flags, status);
  AddUrls(client, flags, status);
  AddStatus(client, flags, status);
  AddCount(client, flags, status);
  AddPurge(client, flags, status);
}

}  // namespace escalona::cli

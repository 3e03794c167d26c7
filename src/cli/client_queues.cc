// `escalona client stats|queues|crawls|nodes|delete-queue|delete-crawl`: about queues and crawls.
#include <cstdio>
#include <string>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/number_option.h"

namespace escalona::cli {
namespace {

void Print(const char* name, uint64_t value) {
  std::printf("%-14s %llu\n", name, static_cast<unsigned long long>(value));
}

struct QueueNames {
  std::string key;
  std::string crawl;
  bool json = false;
};

void AddStats(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* stats = client.add_subcommand("stats", "Counts of a crawl or a queue");
  auto names = std::make_shared<QueueNames>();
  AddCrawl(stats, names->crawl);
  stats->add_option("-k,--key", names->key, "Only of this queue");
  stats->add_flag("--json", names->json, "As JSON");
  stats->footer("Leased URLs are scheduled ones too: those that wait are scheduled less leased.");
  OnCommand(stats, flags, status, [names](Client& server) -> int {
    urlfrontier::QueueWithinCrawlParams params;
    params.set_key(names->key);
    params.set_crawlid(names->crawl);
    grpc::ClientContext context;
    urlfrontier::Stats reply;
    const grpc::Status done = server.frontier().GetStats(&context, params, &reply);
    if (!done.ok()) return server.Fail(done);
    if (names->json) {
      PrintLine(JsonOf(reply));
      return kDone;
    }
    PrintLine("crawl          " + reply.crawlid());
    Print("scheduled", reply.size());
    Print("leased", reply.inprocess());
    for (const char* name : {"completed", "active_queues"}) {
      const auto found = reply.counts().find(name);
      if (found != reply.counts().end()) Print(name, found->second);
    }
    Print("queues", reply.numberofqueues());
    return kDone;
  });
}

void AddList(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* queues = client.add_subcommand("queues", "List the queues of a crawl");
  auto crawl = std::make_shared<std::string>();
  auto start = std::make_shared<uint32_t>(0);
  auto size = std::make_shared<uint32_t>(100);
  auto all = std::make_shared<bool>(false);
  AddCrawl(queues, *crawl);
  queues->add_option("-s,--start", *start, "Skip so many")
      ->check(Fits(*start))
      ->capture_default_str();
  queues->add_option("-n,--size", *size, "At most so many")
      ->check(Fits(*size))
      ->capture_default_str();
  queues->add_flag("-a,--all", *all, "Also blocked ones and those without a scheduled URL");
  OnCommand(queues, flags, status, [=](Client& server) -> int {
    urlfrontier::Pagination params;
    params.set_crawlid(*crawl);
    params.set_start(*start);
    params.set_size(*size);
    params.set_include_inactive(*all);
    grpc::ClientContext context;
    urlfrontier::QueueList reply;
    const grpc::Status done = server.frontier().ListQueues(&context, params, &reply);
    if (!done.ok()) return server.Fail(done);
    for (const std::string& key : reply.values()) PrintLine(key);
    return kDone;
  });
}

int PrintList(Client& server, const grpc::Status& done, const urlfrontier::StringList& list) {
  if (!done.ok()) return server.Fail(done);
  for (const std::string& value : list.values()) PrintLine(value);
  return kDone;
}

void AddCrawlsAndNodes(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  OnCommand(client.add_subcommand("crawls", "List the crawls"), flags, status, [](Client& server) {
    grpc::ClientContext context;
    urlfrontier::StringList list;
    return PrintList(server, server.frontier().ListCrawls(&context, {}, &list), list);
  });
  OnCommand(client.add_subcommand("nodes", "List the nodes of the service"), flags, status,
            [](Client& server) {
              grpc::ClientContext context;
              urlfrontier::StringList list;
              return PrintList(server, server.frontier().ListNodes(&context, {}, &list), list);
            });
}

int PrintLong(Client& server, const grpc::Status& done, const urlfrontier::Long& reply) {
  if (!done.ok()) return server.Fail(done);
  std::printf("%llu\n", static_cast<unsigned long long>(reply.value()));
  return kDone;
}

// Of a script whose variable is empty, servers would delete the crawl DEFAULT.
CLI::Validator NotBlank() {
  return {[](const std::string& text) {
            return text.find_first_not_of(" \t\n\v\f\r") == std::string::npos
                       ? "it is empty; write DEFAULT if you mean that one"
                       : "";
          },
          ""};
}

void AddDelete(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  auto names = std::make_shared<QueueNames>();
  CLI::App* queue =
      client.add_subcommand("delete-queue", "Forget a queue; prints how many URLs it had");
  AddKey(queue, names->key);
  AddCrawl(queue, names->crawl);
  OnCommand(queue, flags, status, [names](Client& server) {
    urlfrontier::QueueWithinCrawlParams params;
    params.set_key(names->key);
    params.set_crawlid(names->crawl);
    grpc::ClientContext context;
    urlfrontier::Long reply;
    return PrintLong(server, server.frontier().DeleteQueue(&context, params, &reply), reply);
  });
  auto crawl = std::make_shared<std::string>();
  CLI::App* all =
      client.add_subcommand("delete-crawl", "Forget a crawl; prints how many URLs it had");
  all->add_option("CRAWL", *crawl, "The crawl")->required()->check(NotBlank());
  OnCommand(all, flags, status, [crawl](Client& server) {
    urlfrontier::DeleteCrawlMessage params;
    params.set_value(*crawl);
    grpc::ClientContext context;
    urlfrontier::Long reply;
    return PrintLong(server, server.frontier().DeleteCrawl(&context, params, &reply), reply);
  });
}

}  // namespace

void AddClientQueues(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  AddStats(client, flags, status);
  AddList(client, flags, status);
  AddCrawlsAndNodes(client, flags, status);
  AddDelete(client, flags, status);
}

}  // namespace escalona::cli

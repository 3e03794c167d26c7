// A crawler with the frontier inside it: no server, no gRPC. It crawls a small web that does not
// exist, on a clock that runs as fast as the program does. Kill it and start it again on the same
// folder: it goes on where it was.
//
//   crawler FOLDER
#include <escalona/clock.h>
#include <escalona/frontier.h>

#include <iostream>
#include <string>
#include <vector>

namespace {

constexpr size_t kHosts = 20;
constexpr size_t kPages = 50;  // of each host

std::string Page(size_t host, size_t page) {
  return "http://host" + std::to_string(host) + ".example/" + std::to_string(page);
}

// What a page links to: the next pages of its host, and one of another.
std::vector<std::string> Fetch(const std::string& url) {
  const size_t host = std::stoul(url.substr(11));
  const size_t page = std::stoul(url.substr(url.rfind('/') + 1));
  return {Page(host, (page + 1) % kPages), Page(host, (2 * page + 1) % kPages),
          Page((host + page + 1) % kHosts, page % 7)};
}

int Crawl(escalona::Frontier& frontier, escalona::VirtualClock& clock) {
  size_t fetched = 0;
  while (frontier.Stats(std::nullopt, std::nullopt).scheduled > 0) {
    struct Work {
      std::string url;
      uint64_t lease;
    };
    std::vector<Work> work;
    const auto got = frontier.Get({.max_urls_per_queue = 1, .max_queues = 10},
                                  [&](const escalona::LeasedUrl& url) {
                                    work.push_back({std::string(url.url), url.lease});
                                  });
    if (!got.ok()) {
      std::cerr << got.status() << '\n';
      return 2;
    }
    for (const Work& one : work) {
      const std::vector<std::string> links = Fetch(one.url);
      std::vector<escalona::FrontierPut> items;
      for (const std::string& link : links) items.push_back({.url = link});
      items.push_back({.url = one.url,
                       .kind = escalona::PutKind::kCompleted,
                       .lease = one.lease});  // if it took too long, somebody else has it by now
      absl::Status error;
      frontier.Put(items, &error);
      if (!error.ok()) {
        std::cerr << error << '\n';
        return 2;
      }
      ++fetched;
    }
    clock.Advance(absl::Milliseconds(100));  // each host waits a second; others have work
  }
  const escalona::FrontierStats stats = frontier.Stats(std::nullopt, std::nullopt);
  std::cout << fetched << " pages fetched, " << stats.completed << " known in " << stats.queues
            << " queues\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "crawler FOLDER\n";
    return 2;
  }
  escalona::VirtualClock clock(absl::FromUnixSeconds(1'700'000'000));
  auto frontier = escalona::Frontier::Open(argv[1], {}, clock);
  if (!frontier.ok()) {
    std::cerr << frontier.status() << '\n';
    return 2;
  }
  const std::string seed = Page(0, 0);
  const escalona::FrontierPut item = {.url = seed};
  (*frontier)->Put({&item, 1});  // skipped if it is known from an earlier run
  return Crawl(**frontier, clock);
}

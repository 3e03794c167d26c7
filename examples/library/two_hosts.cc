// The scheduler inside a program: a small crawl, one URL of each host in turn.
#include <escalona/scheduler.h>

#include <iostream>
#include <string_view>
#include <vector>

int main() {
  escalona::Scheduler scheduler(escalona::Strategy::kBreadthFirst);

  const std::vector<std::string_view> seeds = {
      "http://www.globo.com/videos/", "http://globo.com/", "http://uol.com.br/esporte",
      "http://GLOBO.com/videos#top",  // known already: same host, same path
      "https://globo.com/",           // discarded: the scheduler takes http only
  };
  const absl::StatusOr<size_t> accepted = scheduler.AddAll(seeds);
  if (!accepted.ok()) {
    std::cerr << accepted.status() << '\n';
    return 2;
  }
  std::cout << *accepted << " of " << seeds.size() << " URLs accepted, " << scheduler.host_count()
            << " hosts known\n";

  scheduler.Take(10, [](const escalona::ScheduledUrl& url) {
    std::cout << "fetch " << url.ToString() << '\n';
  });
}

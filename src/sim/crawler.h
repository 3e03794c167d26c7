// A crawler of the simulated web, on virtual time.
#ifndef ESCALONA_SIM_CRAWLER_H_
#define ESCALONA_SIM_CRAWLER_H_

#include <cstdint>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "escalona/frontier.h"
#include "sim/web.h"

namespace escalona::sim {

struct CrawlerOptions {
  uint32_t fetchers = 100;  // fetches at a time
  uint32_t max_urls_per_queue = 1;
  absl::Duration lease = absl::Minutes(5);
  absl::Duration retry = absl::Seconds(60);  // of a fetch that failed
  // After it a page is due again; infinite: a page is fetched once.
  absl::Duration revisit = absl::InfiniteDuration();
};

struct CrawlReport {
  uint64_t fetches = 0;
  uint64_t pages = 0;  // fetches that found a page
  uint64_t not_found = 0;
  uint64_t failures = 0;
  uint64_t changes = 0;  // of pages seen before
  absl::Duration duration;
};

// Asks the frontier for URLs whenever a fetcher is free, fetches them, puts the links it finds and
// what became of the URL. Time jumps from one event to the next.
class Crawler {
 public:
  Crawler(const Web& web, Frontier& frontier, VirtualClock& clock, const CrawlerOptions& options)
      : web_(web), frontier_(frontier), clock_(clock), options_(options) {}

  // Until nothing is left to do, or `end`. `fetch`, if given, sees every fetch when it begins.
  absl::Status Run(absl::Time end,
                   absl::FunctionRef<void(std::string_view url, absl::Time now)> fetch);
  const CrawlReport& report() const { return report_; }

 private:
  struct Fetch {
    absl::Time done;
    std::string url;
    std::string key;
    uint64_t lease;
    Fetched fetched;
  };
  struct Later {
    bool operator()(const Fetch& a, const Fetch& b) const {
      return a.done != b.done ? a.done > b.done : a.url > b.url;
    }
  };

  absl::Status Ask(absl::FunctionRef<void(std::string_view url, absl::Time now)> fetch);
  absl::Status Finish(const Fetch& fetch);

  const Web& web_;
  Frontier& frontier_;
  VirtualClock& clock_;
  const CrawlerOptions options_;
  std::priority_queue<Fetch, std::vector<Fetch>, Later> under_way_;
  absl::flat_hash_map<std::string, uint64_t> versions_;  // of pages that are visited again
  CrawlReport report_;
};

}  // namespace escalona::sim

#endif  // ESCALONA_SIM_CRAWLER_H_

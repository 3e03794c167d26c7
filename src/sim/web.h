// A web that does not exist: hosts, pages, links, latencies, failures and changes, all from a seed.
#ifndef ESCALONA_SIM_WEB_H_
#define ESCALONA_SIM_WEB_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace escalona::sim {

struct WebOptions {
  uint64_t seed = 1;
  uint64_t hosts = 1000;
  uint64_t smallest_host = 1;    // pages
  uint64_t largest_host = 1000;  // sizes follow a power law in between
  double tail = 1.0;             // its exponent: larger, fewer large hosts
  uint32_t links = 8;            // of a page
  double outlinks = 0.25;        // part of them that leads to other hosts
  double dead_links = 0.02;      // part of them that leads to no page
  double failures = 0.02;        // part of the fetches that fail, and succeed when tried again
  absl::Duration mean_latency = absl::Milliseconds(200);
  absl::Duration mean_change = absl::Hours(24 * 30);  // between two changes of a page
};

enum class Outcome : uint8_t { kOk, kNotFound, kFailed };

struct Fetched {
  Outcome outcome = Outcome::kNotFound;
  absl::Duration latency;
  uint64_t version = 0;            // of the page: grows by one with each change
  std::vector<std::string> links;  // of kOk
};

// Every answer follows from the seed, the URL and the moment, so that two runs are the same;
// nothing is kept but the sizes of hosts: 8 bytes per host, whatever the number of pages.
// Thread-safe.
class Web {
 public:
  explicit Web(const WebOptions& options);

  uint64_t hosts() const { return sizes_.size(); }
  uint64_t pages() const { return pages_; }
  uint64_t pages_of(uint64_t host) const { return sizes_[host]; }
  // Page 0 is the host's home page.
  std::string UrlOf(uint64_t host, uint64_t page) const;
  static std::string HostName(uint64_t host);

  // What a visit at this moment finds.
  Fetched Fetch(std::string_view url, absl::Time now) const;

 private:
  // False if the URL is none of this web.
  bool Find(std::string_view url, uint64_t& host, uint64_t& page) const;
  std::string LinkOf(uint64_t host, uint64_t page, uint32_t number) const;
  uint64_t VersionOf(uint64_t host, uint64_t page, absl::Time now) const;

  const WebOptions options_;
  std::vector<uint64_t> sizes_;
  uint64_t pages_ = 0;
};

}  // namespace escalona::sim

#endif  // ESCALONA_SIM_WEB_H_

#include "sim/web.h"

#include <charconv>
#include <cmath>

namespace escalona::sim {
namespace {

uint64_t Mix(uint64_t number) {
  number += 0x9E3779B97F4A7C15;
  number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9;
  number = (number ^ number >> 27) * 0x94D049BB133111EB;
  return number ^ number >> 31;
}

uint64_t Mix(uint64_t a, uint64_t b) { return Mix(Mix(a) ^ b); }

// What a number is drawn for, so that draws of one page are independent.
enum Purpose : uint64_t { kSize, kLink, kTarget, kLatency, kFailure, kChange, kPhase };

// In [0, 1).
double Unit(uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1p-53; }

constexpr std::string_view kScheme = "http://";
constexpr std::string_view kDomain = ".example";

bool TakeNumber(std::string_view& text, uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool TakeText(std::string_view& text, std::string_view start) {
  if (text.substr(0, start.size()) != start) return false;
  text.remove_prefix(start.size());
  return true;
}

}  // namespace

Web::Web(const WebOptions& options) : options_(options) {
  sizes_.reserve(options.hosts);
  const auto low = static_cast<double>(options.smallest_host);
  const auto high = static_cast<double>(options.largest_host);
  for (uint64_t host = 0; host < options.hosts; ++host) {
    const double u = Unit(Mix(Mix(options.seed, kSize), host));
    // The power law between both ends, by its inverse distribution function.
    const double ratio = std::pow(low / high, options.tail);
    const double size = low * std::pow(1 - u * (1 - ratio), -1 / options.tail);
    sizes_.push_back(std::max<uint64_t>(1, static_cast<uint64_t>(std::min(size, high))));
    pages_ += sizes_.back();
  }
}

std::string Web::HostName(uint64_t host) {
  return "host" + std::to_string(host) + std::string(kDomain);
}

// Pages form a tree of fan-out 10, so that they have depths.
std::string Web::UrlOf(uint64_t host, uint64_t page) const {
  std::string path;
  for (uint64_t at = page; at > 0; at = (at - 1) / 10) {
    path.insert(0, "/" + std::to_string((at - 1) % 10));
  }
  return std::string(kScheme) + HostName(host) + (path.empty() ? "/" : path);
}

bool Web::Find(std::string_view url, uint64_t& host, uint64_t& page) const {
  if (!TakeText(url, kScheme) || !TakeText(url, "host") || !TakeNumber(url, host) ||
      !TakeText(url, kDomain) || host >= sizes_.size()) {
    return false;
  }
  page = 0;
  if (url == "/") return true;
  while (!url.empty()) {
    uint64_t digit = 0;
    if (!TakeText(url, "/") || !TakeNumber(url, digit) || digit > 9) return false;
    page = page * 10 + digit + 1;
    if (page >= sizes_[host]) return false;
  }
  return true;
}

std::string Web::LinkOf(uint64_t host, uint64_t page, uint32_t number) const {
  const uint64_t draw = Mix(Mix(Mix(options_.seed, kLink), host), Mix(page, number));
  const uint64_t target = Mix(draw, kTarget);
  // The first links lead down the tree and home, so that every page can be reached.
  const uint64_t child = page * 10 + number + 1;
  if (number < 10 && child < sizes_[host]) return UrlOf(host, child);
  const double u = Unit(draw);
  if (u < options_.dead_links) return UrlOf(host, 0) + "gone/" + std::to_string(target % 1000);
  if (u < options_.dead_links + options_.outlinks) {
    const uint64_t other = target % sizes_.size();
    return UrlOf(other, Mix(target, 1) % 2 == 0 ? 0 : Mix(target, 2) % sizes_[other]);
  }
  return UrlOf(host, target % sizes_[host]);
}

uint64_t Web::VersionOf(uint64_t host, uint64_t page, absl::Time now) const {
  const uint64_t draw = Mix(Mix(Mix(options_.seed, kChange), host), page);
  // Intervals between a tenth and ten times the mean, and a phase of their own.
  const double interval =
      absl::ToDoubleSeconds(options_.mean_change) * std::pow(10, 2 * Unit(draw) - 1);
  const double phase = Unit(Mix(draw, kPhase));
  return static_cast<uint64_t>(absl::ToDoubleSeconds(now - absl::UnixEpoch()) / interval + phase);
}

Fetched Web::Fetch(std::string_view url, absl::Time now) const {
  Fetched fetched;
  uint64_t host = 0;
  uint64_t page = 0;
  const bool exists = Find(url, host, page);
  const uint64_t visit =
      Mix(Mix(options_.seed, static_cast<uint64_t>(absl::ToUnixMillis(now))), Mix(host, page));
  // In whole milliseconds: clocks do not tell more.
  fetched.latency =
      absl::Ceil(options_.mean_latency * (0.1 - 0.9 * std::log(1 - Unit(Mix(visit, kLatency)))),
                 absl::Milliseconds(1));
  if (!exists) return fetched;
  if (Unit(Mix(visit, kFailure)) < options_.failures) {
    fetched.outcome = Outcome::kFailed;
    return fetched;
  }
  fetched.outcome = Outcome::kOk;
  fetched.version = VersionOf(host, page, now);
  // A page with children links to all of them.
  const uint32_t links =
      page * 10 + 1 < sizes_[host] ? std::max(options_.links, 10U) : options_.links;
  for (uint32_t i = 0; i < links; ++i) fetched.links.push_back(LinkOf(host, page, i));
  return fetched;
}

}  // namespace escalona::sim

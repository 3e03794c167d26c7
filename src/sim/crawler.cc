#include "sim/crawler.h"

#include <algorithm>

namespace escalona::sim {

absl::Status Crawler::Ask(absl::FunctionRef<void(std::string_view url, absl::Time now)> fetch) {
  if (under_way_.size() >= options_.fetchers) return absl::OkStatus();
  const auto free = static_cast<uint32_t>(options_.fetchers - under_way_.size());
  const absl::Time now = clock_.Now();
  return frontier_
      .Get({.max_urls_per_queue = options_.max_urls_per_queue,
            .max_queues = std::max(1U, free / options_.max_urls_per_queue),
            .lease = options_.lease},
           [&](const LeasedUrl& url) {
             fetch(url.url, now);
             Fetch started = {now, std::string(url.url), std::string(url.key), url.lease,
                              web_.Fetch(url.url, now)};
             started.done += started.fetched.latency;
             under_way_.push(std::move(started));
           })
      .status();
}

absl::Status Crawler::Finish(const Fetch& fetch) {
  const absl::Time now = clock_.Now();
  ++report_.fetches;
  std::vector<FrontierPut> items;
  for (const std::string& link : fetch.fetched.links) items.push_back({.url = link});
  FrontierPut update = {.url = fetch.url, .key = fetch.key, .lease = fetch.lease};
  update.kind = PutKind::kCompleted;
  switch (fetch.fetched.outcome) {
    case Outcome::kOk:
      ++report_.pages;
      if (options_.revisit != absl::InfiniteDuration()) {
        update.kind = PutKind::kScheduled;
        update.date = now + options_.revisit;
        const auto [seen, is_new] = versions_.emplace(fetch.url, fetch.fetched.version);
        report_.changes += seen->second != fetch.fetched.version ? 1 : 0;
        seen->second = fetch.fetched.version;
      }
      break;
    case Outcome::kNotFound:
      ++report_.not_found;
      break;
    case Outcome::kFailed:
      ++report_.failures;
      update.kind = PutKind::kScheduled;
      update.date = now + options_.retry;
      break;
  }
  items.push_back(update);
  absl::Status error;
  frontier_.Put(items, &error);
  return error;
}

absl::Status Crawler::Run(absl::Time end,
                          absl::FunctionRef<void(std::string_view url, absl::Time now)> fetch) {
  const absl::Time start = clock_.Now();
  // Nothing tells when the frontier has work again, so it is asked each step; a crawl that has had
  // nothing for as long as a retry or a revisit takes is over.
  constexpr absl::Duration kStep = absl::Milliseconds(100);
  absl::Time busy = start;
  while (clock_.Now() < end) {
    absl::Status status = Ask(fetch);
    if (!status.ok()) return status;
    if (!under_way_.empty()) {
      busy = clock_.Now();
    } else if (frontier_.Stats(std::nullopt, std::nullopt).scheduled == 0) {
      break;
    }
    absl::Time next = clock_.Now() + kStep;
    if (!under_way_.empty()) next = std::min(next, under_way_.top().done);
    clock_.Set(std::max(next, clock_.Now()));
    while (!under_way_.empty() && under_way_.top().done <= clock_.Now()) {
      status = Finish(under_way_.top());
      if (!status.ok()) return status;
      under_way_.pop();
    }
  }
  report_.duration += busy - start;
  return absl::OkStatus();
}

}  // namespace escalona::sim

#include "server/metrics.h"

#include <prometheus/text_serializer.h>

#include <sstream>

namespace escalona::server {
namespace {

prometheus::Counter& Count(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Gauge& Gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

Metrics::Metrics()
    : discovered_(prometheus::BuildCounter()
                      .Name("frontier_putURLs_discovered_total")
                      .Help("URLs put, by whether they were discovered or fetched")
                      .Register(registry_)),
      urls_(prometheus::BuildGauge()
                .Name("frontier_urls")
                .Help("Known URLs by state; those waiting and those leased are scheduled")
                .Register(registry_)),
      get_calls(Count(registry_, "frontier_getURLs_calls_total", "Calls of GetURLs")),
      get_urls(Count(registry_, "frontier_getURLs_total", "URLs handed out")),
      get_latency(prometheus::BuildSummary()
                      .Name("frontier_getURLs_latency_seconds")
                      .Help("Time of GetURLs until its last URL was written")
                      .Register(registry_)
                      .Add({}, prometheus::Summary::Quantiles{})),
      put_calls(Count(registry_, "frontier_putURLs_calls_total", "Streams of PutURLs")),
      put_discovered_calls(
          Count(registry_, "frontier_putDiscovered_calls_total", "Streams of PutDiscovered")),
      put_urls(Count(registry_, "frontier_putURLs_total", "URLs put, by both calls")),
      put_discovered(discovered_.Add({{"discovered", "true"}})),
      put_known(discovered_.Add({{"discovered", "false"}})),
      put_ignored(Count(registry_, "frontier_putURLs_ignored_total",
                        "Discovered URLs that were known already, or could not be taken")),
      put_completed(Count(registry_, "frontier_putURLs_completed_total", "URLs completed")),
      put_failed(Count(registry_, "frontier_putURLs_failed_total", "URLs acknowledged as FAIL")),
      put_stale(Count(registry_, "frontier_putURLs_stale_total",
                      "Updates refused because their lease had ended")),
      open_put_streams(Gauge(registry_, "frontier_put_streams", "Open streams of both put calls")),
      crawls_(Gauge(registry_, "frontier_crawls", "Crawls that have a queue")),
      queues_(Gauge(registry_, "frontier_queues", "Queues")),
      active_queues_(Gauge(registry_, "frontier_active_queues", "Queues with a scheduled URL")),
      damaged_queues_(Gauge(registry_, "frontier_damaged_queues",
                            "Queues that could not be read and are put aside")),
      waiting_(urls_.Add({{"state", "waiting"}})),
      completed_(urls_.Add({{"state", "completed"}})),
      leased_(urls_.Add({{"state", "leased"}})),
      active_(Gauge(registry_, "frontier_active", "1 if URLs are served, 0 if SetActive said no")),
      store_bytes_(Gauge(registry_, "frontier_store_bytes", "Size of the store on disk")) {}

std::string Metrics::Text(const Frontier& frontier) {
  const FrontierStats stats = frontier.Stats(std::nullopt, std::nullopt);
  crawls_.Set(static_cast<double>(frontier.ListCrawls().size()));
  queues_.Set(static_cast<double>(stats.queues));
  active_queues_.Set(static_cast<double>(stats.active_queues));
  damaged_queues_.Set(static_cast<double>(stats.damaged_queues));
  waiting_.Set(static_cast<double>(stats.scheduled - stats.leased));
  completed_.Set(static_cast<double>(stats.completed));
  leased_.Set(static_cast<double>(stats.leased));
  active_.Set(frontier.active() ? 1 : 0);
  store_bytes_.Set(static_cast<double>(frontier.StoreBytes()));
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, registry_.Collect());
  return text.str();
}

}  // namespace escalona::server

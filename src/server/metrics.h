// What the server counts, in Prometheus' words and under the names of the reference service.
#ifndef ESCALONA_SERVER_METRICS_H_
#define ESCALONA_SERVER_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/summary.h>

#include <string>

#include "escalona/frontier.h"

namespace escalona::server {

// Thread-safe.
class Metrics {
 public:
  Metrics();

  // Everything in the text format of Prometheus; the gauges are asked from the frontier.
  std::string Text(const Frontier& frontier);

 private:
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& discovered_;
  prometheus::Family<prometheus::Gauge>& urls_;

 public:
  prometheus::Counter& get_calls;
  prometheus::Counter& get_urls;
  prometheus::Summary& get_latency;
  prometheus::Counter& put_calls;
  prometheus::Counter& put_discovered_calls;
  prometheus::Counter& put_urls;
  prometheus::Counter& put_discovered;  // items that were discovered
  prometheus::Counter& put_known;       // those that were not
  prometheus::Counter& put_ignored;
  prometheus::Counter& put_completed;
  prometheus::Counter& put_failed;
  prometheus::Counter& put_stale;
  prometheus::Gauge& open_put_streams;

 private:
  prometheus::Gauge& crawls_;
  prometheus::Gauge& queues_;
  prometheus::Gauge& active_queues_;
  prometheus::Gauge& damaged_queues_;
  prometheus::Gauge& waiting_;
  prometheus::Gauge& completed_;
  prometheus::Gauge& leased_;
  prometheus::Gauge& active_;
  prometheus::Gauge& store_bytes_;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_METRICS_H_

#include "server/frontier_service.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "server/status.h"
#include "server/unary.h"
#include "server/wire.h"

namespace escalona::server {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using urlfrontier::Empty;
using urlfrontier::Long;

constexpr size_t kWorkers = 4;
constexpr size_t kScans = 2;

std::optional<std::string> KeyOf(const std::string& key) {
  if (key.empty()) return std::nullopt;
  return key;
}

absl::Status Keep(const absl::StatusOr<uint64_t>& count, Long* reply) {
  if (count.ok()) reply->set_value(*count);
  return count.status();
}

spdlog::level::level_enum LevelOf(urlfrontier::LogLevelParams::Level level) {
  switch (level) {
    case urlfrontier::LogLevelParams::TRACE:
      return spdlog::level::trace;
    case urlfrontier::LogLevelParams::DEBUG:
      return spdlog::level::debug;
    case urlfrontier::LogLevelParams::WARN:
      return spdlog::level::warn;
    case urlfrontier::LogLevelParams::ERROR:
      return spdlog::level::err;
    default:
      return spdlog::level::info;
  }
}

void Fill(const FrontierStats& stats, urlfrontier::Stats* reply) {
  reply->set_size(stats.scheduled);
  reply->set_inprocess(static_cast<uint32_t>(
      std::min<uint64_t>(stats.leased, std::numeric_limits<uint32_t>::max())));
  (*reply->mutable_counts())["completed"] = stats.completed;
  (*reply->mutable_counts())["active_queues"] = stats.active_queues;
  reply->set_numberofqueues(stats.queues);
}

}  // namespace

FrontierService::FrontierService(Frontier& frontier, const Clock& clock, Metrics& metrics,
                                 absl::Duration list_patience)
    : frontier_(frontier),
      clock_(clock),
      metrics_(metrics),
      put_streams_(metrics),
      list_streams_(frontier, list_patience),
      writer_(frontier, metrics),
      get_streams_(
          frontier, metrics, writer_,
          [this](grpc::ServerContext* context, grpc::ByteBuffer* request,
                 GetStreams::Writer* writer, grpc::ServerCompletionQueue* queue,
                 void* tag) { RequestGetURLs(context, request, writer, queue, queue, tag); }),
      workers_(kWorkers),
      scans_(kScans) {}

void FrontierService::Drain() {
  put_streams_.Drain();
  list_streams_.Drain();
}

ServerUnaryReactor* FrontierService::ListNodes(CallbackServerContext* context, const Empty*,
                                               urlfrontier::StringList* reply) {
  reply->add_values(node_);
  return Answer(context);
}

ServerUnaryReactor* FrontierService::ListCrawls(CallbackServerContext* context,
                                                const urlfrontier::Local*,
                                                urlfrontier::StringList* reply) {
  return Later(context, workers_, "ListCrawls", [this, reply] {
    for (std::string& crawl : frontier_.ListCrawls()) reply->add_values(std::move(crawl));
    return absl::OkStatus();
  });
}

ServerUnaryReactor* FrontierService::DeleteCrawl(CallbackServerContext* context,
                                                 const urlfrontier::DeleteCrawlMessage* request,
                                                 Long* reply) {
  return Later(context, scans_, "DeleteCrawl", [this, request, reply] {
    return Keep(frontier_.DeleteCrawl(CrawlOf(request->value())), reply);
  });
}

ServerUnaryReactor* FrontierService::ListQueues(CallbackServerContext* context,
                                                const urlfrontier::Pagination* request,
                                                urlfrontier::QueueList* reply) {
  return Later(context, scans_, "ListQueues", [this, request, reply] {
    const std::string_view crawl = CrawlOf(request->crawlid());
    const uint32_t size = request->size() == 0 ? 100 : request->size();
    uint64_t total = 0;
    for (std::string& key :
         frontier_.ListQueues(crawl, request->include_inactive(), request->start(), size, &total)) {
      reply->add_values(std::move(key));
    }
    reply->set_total(total);
    reply->set_start(request->start());
    reply->set_size(static_cast<uint32_t>(reply->values_size()));
    reply->set_crawlid(std::string(crawl));
    return absl::OkStatus();
  });
}

ServerUnaryReactor* FrontierService::GetStats(CallbackServerContext* context,
                                              const urlfrontier::QueueWithinCrawlParams* request,
                                              urlfrontier::Stats* reply) {
  return Later(context, workers_, "GetStats", [this, request, reply] {
    const std::string crawl(CrawlOf(request->crawlid()));
    Fill(frontier_.Stats(crawl, KeyOf(request->key())), reply);
    reply->set_crawlid(crawl);
    return absl::OkStatus();
  });
}

ServerUnaryReactor* FrontierService::DeleteQueue(CallbackServerContext* context,
                                                 const urlfrontier::QueueWithinCrawlParams* request,
                                                 Long* reply) {
  return Later(context, scans_, "DeleteQueue", [this, request, reply] {
    return Keep(frontier_.DeleteQueue(CrawlOf(request->crawlid()), request->key()), reply);
  });
}

ServerUnaryReactor* FrontierService::BlockQueueUntil(CallbackServerContext* context,
                                                     const urlfrontier::BlockQueueParams* request,
                                                     Empty*) {
  return Later(context, workers_, "BlockQueueUntil", [this, request] {
    // The API counts in whole seconds, and the one that is named is still blocked.
    const absl::Duration rest =
        request->time() == 0 ? absl::ZeroDuration() : absl::Milliseconds(999);
    return frontier_.BlockQueueUntil(CrawlOf(request->crawlid()), request->key(),
                                     TimeOfSeconds(request->time()) + rest);
  });
}

ServerUnaryReactor* FrontierService::SetActive(CallbackServerContext* context,
                                               const urlfrontier::Active* request, Empty*) {
  return Later(context, workers_, "SetActive",
               [this, request] { return frontier_.SetActive(request->state()); });
}

ServerUnaryReactor* FrontierService::GetActive(CallbackServerContext* context,
                                               const urlfrontier::Local*,
                                               urlfrontier::Boolean* reply) {
  reply->set_state(frontier_.active());
  return Answer(context);
}

ServerUnaryReactor* FrontierService::SetDelay(CallbackServerContext* context,
                                              const urlfrontier::QueueDelayParams* request,
                                              Empty*) {
  return Later(context, workers_, "SetDelay", [this, request] {
    const absl::Duration delay = absl::Seconds(request->delay_requestable());
    if (request->key().empty()) return frontier_.SetDefaultDelay(delay);
    return frontier_.SetDelay(CrawlOf(request->crawlid()), request->key(), delay);
  });
}

ServerUnaryReactor* FrontierService::SetLogLevel(CallbackServerContext* context,
                                                 const urlfrontier::LogLevelParams* request,
                                                 Empty*) {
  spdlog::set_level(LevelOf(request->level()));
  return Answer(context);
}

ServerUnaryReactor* FrontierService::SetCrawlLimit(CallbackServerContext* context,
                                                   const urlfrontier::CrawlLimitParams* request,
                                                   Empty*) {
  return Later(context, workers_, "SetCrawlLimit", [this, request] {
    return frontier_.SetCrawlLimit(CrawlOf(request->crawlid()), request->key(), request->limit());
  });
}

ServerUnaryReactor* FrontierService::GetURLStatus(CallbackServerContext* context,
                                                  const urlfrontier::URLStatusRequest* request,
                                                  urlfrontier::URLItem* reply) {
  return Later(context, workers_, "GetURLStatus", [this, request, reply] {
    return frontier_.GetUrl(
        CrawlOf(request->crawlid()), request->key(), request->url(),
        [reply](const KnownUrl& known) { reply->ParseFromString(SerializeUrlItem(known)); });
  });
}

ServerUnaryReactor* FrontierService::CountURLs(CallbackServerContext* context,
                                               const urlfrontier::CountUrlParams* request,
                                               Long* reply) {
  return Later(context, scans_, "CountURLs", [this, context, request, reply] {
    UrlFilter filter =
        FilterOf(request->key(), request->crawlid(), request->filter(), request->ignorecase());
    if (filter.text.empty()) {
      const FrontierStats stats = frontier_.Stats(filter.crawl, filter.key);
      reply->set_value(stats.scheduled + stats.completed);
      return absl::OkStatus();
    }
    uint64_t seen = 0;
    const auto in_vain = [&] { return seen++ % 1024 == 0 && context->IsCancelled(); };
    filter.stop = in_vain;
    uint64_t count = 0;
    absl::Status status = frontier_.ListUrls(filter, [&](const KnownUrl&) {
      ++count;
      return !in_vain();
    });
    reply->set_value(count);
    return status;
  });
}

ServerUnaryReactor* FrontierService::PurgeURLs(CallbackServerContext* context,
                                               const urlfrontier::PurgeUrlParams* request,
                                               Long* reply) {
  return Later(context, scans_, "PurgeURLs", [this, request, reply] {
    // Dates of creation are whole seconds: one in this second is not strictly before it.
    const absl::Time second = absl::FromUnixSeconds(absl::ToUnixSeconds(clock_.Now()));
    const absl::Time before = second - absl::Hours(24) * int64_t{request->days()};
    return Keep(frontier_.Purge(CrawlOf(request->crawlid()), KeyOf(request->key()),
                                std::max(before, absl::UnixEpoch())),
                reply);
  });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* FrontierService::ListURLs(
    CallbackServerContext* context, const grpc::ByteBuffer* request) {
  return list_streams_.Start(context, request);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* FrontierService::PutURLs(
    CallbackServerContext*) {
  metrics_.put_calls.Increment();
  return new PutStream<UrlUnit>(writer_, put_streams_);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* FrontierService::PutDiscovered(
    CallbackServerContext*) {
  metrics_.put_discovered_calls.Increment();
  return new PutStream<BatchUnit>(writer_, put_streams_);
}

}  // namespace escalona::server

// The URLFrontier service on a frontier.
#ifndef ESCALONA_SERVER_FRONTIER_SERVICE_H_
#define ESCALONA_SERVER_FRONTIER_SERVICE_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "escalona/clock.h"
#include "escalona/frontier.h"
#include "server/metrics.h"
#include "server/put_stream.h"
#include "server/put_writer.h"
#include "server/url_streams.h"
#include "server/urlfrontier.grpc.pb.h"
#include "server/worker_pool.h"

namespace escalona::server {

using Api = urlfrontier::URLFrontier;
using UnaryCalls = Api::WithCallbackMethod_ListNodes<Api::WithCallbackMethod_ListCrawls<
    Api::WithCallbackMethod_DeleteCrawl<Api::WithCallbackMethod_ListQueues<
        Api::WithCallbackMethod_GetStats<Api::WithCallbackMethod_DeleteQueue<
            Api::WithCallbackMethod_BlockQueueUntil<Api::WithCallbackMethod_SetActive<
                Api::WithCallbackMethod_GetActive<Api::WithCallbackMethod_SetDelay<
                    Api::WithCallbackMethod_SetLogLevel<Api::WithCallbackMethod_SetCrawlLimit<
                        Api::WithCallbackMethod_GetURLStatus<Api::WithCallbackMethod_CountURLs<
                            Api::WithCallbackMethod_PurgeURLs<Api::Service>>>>>>>>>>>>>>>;
// Streams of URLs are handled as bytes: nothing is copied into messages only to be copied out.
using FrontierCalls = Api::WithRawMethod_GetURLs<Api::WithRawCallbackMethod_PutURLs<
    Api::WithRawCallbackMethod_PutDiscovered<Api::WithRawCallbackMethod_ListURLs<UnaryCalls>>>>;

// All 19 calls. gRPC's threads only move messages: puts go to the writer, GetURLs has threads of
// its own, what may wait for the store goes to workers, what walks over many URLs to others, so
// that it holds up nobody.
class FrontierService final : public FrontierCalls {
 public:
  FrontierService(Frontier& frontier, const Clock& clock, Metrics& metrics,
                  absl::Duration list_patience);

  // What ListNodes tells.
  void SetNode(std::string node) { node_ = std::move(node); }
  // GetURLs is served from now on. The queue is of a server that has started.
  void Open(std::unique_ptr<grpc::ServerCompletionQueue> queue) {
    get_streams_.Open(std::move(queue));
  }
  // Ends the streams that are open; what was read is put and acknowledged first.
  void Drain();
  // When the server has shut down.
  void Close() { get_streams_.Close(); }

  grpc::ServerUnaryReactor* ListNodes(grpc::CallbackServerContext*, const urlfrontier::Empty*,
                                      urlfrontier::StringList*) override;
  grpc::ServerUnaryReactor* ListCrawls(grpc::CallbackServerContext*, const urlfrontier::Local*,
                                       urlfrontier::StringList*) override;
  grpc::ServerUnaryReactor* DeleteCrawl(grpc::CallbackServerContext*,
                                        const urlfrontier::DeleteCrawlMessage*,
                                        urlfrontier::Long*) override;
  grpc::ServerUnaryReactor* ListQueues(grpc::CallbackServerContext*, const urlfrontier::Pagination*,
                                       urlfrontier::QueueList*) override;
  grpc::ServerUnaryReactor* GetStats(grpc::CallbackServerContext*,
                                     const urlfrontier::QueueWithinCrawlParams*,
                                     urlfrontier::Stats*) override;
  grpc::ServerUnaryReactor* DeleteQueue(grpc::CallbackServerContext*,
                                        const urlfrontier::QueueWithinCrawlParams*,
                                        urlfrontier::Long*) override;
  grpc::ServerUnaryReactor* BlockQueueUntil(grpc::CallbackServerContext*,
                                            const urlfrontier::BlockQueueParams*,
                                            urlfrontier::Empty*) override;
  grpc::ServerUnaryReactor* SetActive(grpc::CallbackServerContext*, const urlfrontier::Active*,
                                      urlfrontier::Empty*) override;
  grpc::ServerUnaryReactor* GetActive(grpc::CallbackServerContext*, const urlfrontier::Local*,
                                      urlfrontier::Boolean*) override;
  grpc::ServerUnaryReactor* SetDelay(grpc::CallbackServerContext*,
                                     const urlfrontier::QueueDelayParams*,
                                     urlfrontier::Empty*) override;
  grpc::ServerUnaryReactor* SetLogLevel(grpc::CallbackServerContext*,
                                        const urlfrontier::LogLevelParams*,
                                        urlfrontier::Empty*) override;
  grpc::ServerUnaryReactor* SetCrawlLimit(grpc::CallbackServerContext*,
                                          const urlfrontier::CrawlLimitParams*,
                                          urlfrontier::Empty*) override;
  grpc::ServerUnaryReactor* GetURLStatus(grpc::CallbackServerContext*,
                                         const urlfrontier::URLStatusRequest*,
                                         urlfrontier::URLItem*) override;
  grpc::ServerUnaryReactor* CountURLs(grpc::CallbackServerContext*,
                                      const urlfrontier::CountUrlParams*,
                                      urlfrontier::Long*) override;
  grpc::ServerUnaryReactor* PurgeURLs(grpc::CallbackServerContext*,
                                      const urlfrontier::PurgeUrlParams*,
                                      urlfrontier::Long*) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* ListURLs(grpc::CallbackServerContext*,
                                                       const grpc::ByteBuffer*) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* PutURLs(
      grpc::CallbackServerContext*) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* PutDiscovered(
      grpc::CallbackServerContext*) override;

 private:
  Frontier& frontier_;
  const Clock& clock_;
  Metrics& metrics_;
  std::string node_;
  PutStreams put_streams_;
  ListStreams list_streams_;
  PutWriter writer_;
  GetStreams get_streams_;
  WorkerPool workers_;
  WorkerPool scans_;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_FRONTIER_SERVICE_H_

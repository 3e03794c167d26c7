// The calls that answer with a stream of URLs: GetURLs and ListURLs.
#ifndef ESCALONA_SERVER_URL_STREAMS_H_
#define ESCALONA_SERVER_URL_STREAMS_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "escalona/frontier.h"
#include "server/metrics.h"
#include "server/put_writer.h"
#include "server/urlfrontier.pb.h"

namespace escalona::server {

// One call of GetURLs. Leases some URLs, writes them, and leases more when the client has taken
// those: a slow reader holds up itself only, and no more than kRoundUrls wait for it. Ends when the
// queues asked for were served, or nothing more can be, or as many were served as there were when
// the call came: it always ends. Deletes itself.
class GetStream;

// All calls of GetURLs, on a completion queue and threads of their own. gRPC's own threads, which
// run the callbacks of put streams, listen to sockets only when no callback is left to run: under a
// flood of puts a call that has just arrived would wait for them, and so would each of its writes.
class GetStreams {
 public:
  using Writer = grpc::ServerAsyncWriter<grpc::ByteBuffer>;
  // Asks gRPC for the next call: FrontierService::RequestGetURLs.
  using Request = std::function<void(grpc::ServerContext*, grpc::ByteBuffer*, Writer*,
                                     grpc::ServerCompletionQueue*, void* tag)>;

  // URLs of one queue that are leased at a time, also where the call set no limit.
  static constexpr uint32_t kRoundUrls = 16384;

  GetStreams(Frontier& frontier, Metrics& metrics, PutWriter& puts, Request request)
      : frontier_(frontier), metrics_(metrics), puts_(puts), request_(std::move(request)) {}
  GetStreams(const GetStreams&) = delete;
  GetStreams& operator=(const GetStreams&) = delete;
  ~GetStreams() { Close(); }

  // Takes calls from now on. The queue is of a server that has started.
  void Open(std::unique_ptr<grpc::ServerCompletionQueue> queue);
  // When the server has shut down: returns when the last call is over.
  void Close();

 private:
  friend class GetStream;
  static constexpr int kExpected = 16;  // calls that may arrive at once

  void Run();

  Frontier& frontier_;
  Metrics& metrics_;
  PutWriter& puts_;
  const Request request_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable none_left_;
  int streams_ = 0;
};

// One call of ListURLs: a thread walks over the URLs, waits when kBufferBytes are unread, and stays
// until everything is read. Deletes itself.
class ListStream;

// Starts them, counts them, ends them. Thread-safe.
class ListStreams {
 public:
  // A reader that takes nothing for `patience` is given up: a thread is held for it, and a
  // snapshot.
  ListStreams(const Frontier& frontier, absl::Duration patience)
      : frontier_(frontier), patience_(patience) {}
  ListStreams(const ListStreams&) = delete;
  ListStreams& operator=(const ListStreams&) = delete;
  ~ListStreams();  // when all have ended

  grpc::ServerWriteReactor<grpc::ByteBuffer>* Start(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request);
  // Those that are open end with an error.
  void Drain() { draining_ = true; }

 private:
  friend class ListStream;
  static constexpr int kMaxOpen = 64;

  const Frontier& frontier_;
  const absl::Duration patience_;
  std::atomic<bool> draining_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  int open_ = 0;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_URL_STREAMS_H_

// The calls that answer with a stream of URLs: GetURLs and ListURLs.
#ifndef ESCALONA_SERVER_URL_STREAMS_H_
#define ESCALONA_SERVER_URL_STREAMS_H_

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/time/time.h"
#include "escalona/frontier.h"
#include "server/metrics.h"
#include "server/urlfrontier.pb.h"
#include "server/worker_pool.h"

namespace escalona::server {

// One call of GetURLs. Leases some URLs, writes them, and leases more when the client has taken
// those: a slow reader holds up itself only, and no more than kRoundUrls wait for it. Ends when the
// queues asked for were served, or nothing more can be, or as many were served as there were when
// the call came: it always ends. Deletes itself.
class GetStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  // URLs of one queue that one call gets at most, also where it set no limit.
  static constexpr uint32_t kRoundUrls = 16384;

  // `request` may be malformed: then the call ends with an error.
  GetStream(Frontier& frontier, Metrics& metrics, WorkerPool& workers,
            grpc::CallbackServerContext* context, const grpc::ByteBuffer* request);

  void OnWriteDone(bool ok) override;
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override;

 private:
  void Start();
  void Round();  // leases the next URLs and begins to write them
  void Write();
  void End(const grpc::Status& status);

  Frontier& frontier_;
  Metrics& metrics_;
  WorkerPool& workers_;
  const absl::Time start_;
  bool with_lease_ = false;
  GetRequest request_;
  uint64_t queues_left_ = 0;
  std::vector<grpc::ByteBuffer> urls_;  // of this round
  size_t written_ = 0;
  bool more_ = false;  // rounds
  std::atomic<bool> cancelled_ = false;
};

// One call of ListURLs, or what a slow reader leaves of it: a thread walks over the URLs and waits
// when kBufferBytes are unread. Deletes itself.
class ListStream;

// Starts them, counts them, ends them. Thread-safe.
class ListStreams {
 public:
  explicit ListStreams(const Frontier& frontier) : frontier_(frontier) {}
  ListStreams(const ListStreams&) = delete;
  ListStreams& operator=(const ListStreams&) = delete;
  ~ListStreams();  // when all have ended

  grpc::ServerWriteReactor<grpc::ByteBuffer>* Start(const grpc::ByteBuffer* request);
  // Those that are open end with an error.
  void Drain() { draining_ = true; }

 private:
  friend class ListStream;
  static constexpr int kMaxOpen = 64;

  const Frontier& frontier_;
  std::atomic<bool> draining_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  int open_ = 0;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_URL_STREAMS_H_

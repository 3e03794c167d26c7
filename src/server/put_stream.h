// One call of PutURLs or PutDiscovered.
#ifndef ESCALONA_SERVER_PUT_STREAM_H_
#define ESCALONA_SERVER_PUT_STREAM_H_

#include <google/protobuf/arena.h>
#include <grpcpp/support/server_callback.h>

#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/metrics.h"
#include "server/put_writer.h"
#include "server/urlfrontier.pb.h"
#include "server/wire.h"

namespace escalona::server {

// A message of PutURLs: one item.
class UrlUnit : public PutUnit {
 public:
  static constexpr size_t kMaxInFlight = 128;
  static constexpr size_t kKept = 64;  // for the next messages of the stream

  // A message that is none becomes an item that is skipped.
  void Parse(const grpc::ByteBuffer& bytes);
  grpc::ByteBuffer Ack() const;
  bool is_small() const { return small_; }

 private:
  bool small_ = true;
  urlfrontier::URLItem item_;
  std::string metadata_;
  FrontierPut put_;
  PutStatus status_ = PutStatus::kFailed;
};

// A message of PutDiscovered: a batch.
class BatchUnit : public PutUnit {
 public:
  static constexpr size_t kMaxInFlight = 16;
  static constexpr size_t kKept = 0;  // batches may be large

  void Parse(const grpc::ByteBuffer& bytes);
  grpc::ByteBuffer Ack() const;
  static bool is_small() { return false; }

 private:
  google::protobuf::Arena arena_;
  urlfrontier::DiscoveredBatch* batch_ = nullptr;
  std::string metadata_;
  std::vector<FrontierPut> puts_;
  std::vector<PutStatus> statuses_;
};

class PutStreamBase {
 public:
  // No further message is read; the call ends when those that were are acknowledged.
  virtual void Drain() = 0;

 protected:
  ~PutStreamBase() = default;
};

// The open put streams, so that they can be ended. Thread-safe.
class PutStreams {
 public:
  explicit PutStreams(Metrics& metrics) : metrics_(metrics) {}

  using Place = std::list<PutStreamBase*>::iterator;
  Place Add(PutStreamBase* stream);
  void Remove(Place place);
  // Drains all that are open, and each that is opened from now on.
  void Drain();

 private:
  Metrics& metrics_;
  std::mutex mutex_;
  std::list<PutStreamBase*> open_;
  bool draining_ = false;
};

// Reads a message, hands it to the writer, writes its acknowledgement; kMaxInFlight messages at
// most are between the first and the last, so that a client that sends without reading is held up
// by its own flow control. Nothing a message says ends the stream. Deletes itself when the call is
// over and the writer has given everything back.
template <class Unit>
class PutStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                        public PutOwner,
                        public PutStreamBase {
 public:
  PutStream(PutWriter& writer, PutStreams& streams);
  ~PutStream() override = default;

  bool Take(PutUnit* unit) override;
  void SendAcks() override;
  void Drain() override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

 private:
  // What is to be done once the lock is released. While starting_reads_ or writing_ is set, or a
  // unit is with the writer, the call is not finished and so the stream not deleted.
  struct Next {
    bool read = false;
    bool write = false;
    bool flush = false;  // let the written one go out: nothing stands behind it
    bool finish = false;
    bool unavailable = false;  // finish before the client did
  };
  // With the lock held.
  Next Decide();
  void Do(Next next);
  // Decides, releases the lock and does it; after that the stream may be gone.
  void Proceed(std::unique_lock<std::mutex>& lock);
  // With the lock held.
  std::unique_ptr<Unit> NewUnit();
  void Recycle(std::unique_ptr<Unit> unit);

  PutWriter& writer_;
  PutStreams& streams_;
  PutStreams::Place place_;
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;

  std::mutex mutex_;  // for all that follows
  std::deque<std::unique_ptr<Unit>> acks_;
  std::vector<std::unique_ptr<Unit>> kept_;
  size_t in_flight_ = 0;  // read and not yet written
  size_t with_writer_ = 0;
  bool reading_ = true;
  int starting_reads_ = 0;  // the next may be decided on before StartRead has returned
  bool writing_ = false;
  bool reads_ended_ = false;
  bool headers_sent_ = false;
  bool draining_ = false;
  bool broken_ = false;  // nothing can be written any more
  bool finished_ = false;
};

extern template class PutStream<UrlUnit>;
extern template class PutStream<BatchUnit>;

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_PUT_STREAM_H_

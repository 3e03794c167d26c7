#include <deque>
#include <string>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "server/status.h"
#include "server/url_streams.h"
#include "server/wire.h"

namespace escalona::server {
namespace {

using Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;

// A reader that takes nothing for so long is given up: what it reads is held for it.
constexpr absl::Duration kPatience = absl::Minutes(5);

// Answers with an error.
class Refusal final : public Reactor {
 public:
  explicit Refusal(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

class ListStream final : public Reactor {
 public:
  ListStream(ListStreams& streams, const urlfrontier::ListUrlParams& params)
      : streams_(streams), skip_(params.start()), left_(params.size() == 0 ? 100 : params.size()) {
    filter_ = FilterOf(params.key(), params.crawlid(), params.filter(), params.ignorecase());
  }

  void Begin() {
    std::thread([this] { Walk(); }).detach();
  }

  void OnWriteDone(bool ok) override {
    absl::ReleasableMutexLock lock(&mutex_);
    bytes_ -= unread_.front().Length();
    unread_.pop_front();
    writing_ = false;
    gone_ = gone_ || !ok;
    Proceed(lock);
  }

  void OnCancel() override {
    absl::MutexLock lock(&mutex_);
    gone_ = true;
  }

  void OnDone() override {
    ListStreams& streams = streams_;
    delete this;
    absl::MutexLock lock(&streams.mutex_);
    --streams.open_;
  }

 private:
  static constexpr size_t kBufferBytes = size_t{1} << 20;

  void Walk() {
    const absl::Status walked =
        streams_.frontier_.ListUrls(filter_, [this](const KnownUrl& url) { return Visit(url); });
    absl::ReleasableMutexLock lock(&mutex_);
    if (status_.ok() && !walked.ok()) status_ = Report("ListURLs", walked);
    walked_ = true;
    Proceed(lock);
  }

  // False when enough was seen.
  bool Visit(const KnownUrl& url) {
    if (skip_ > 0) {
      --skip_;
      return true;
    }
    absl::ReleasableMutexLock lock(&mutex_);
    if (!WaitForRoom()) return false;
    unread_.push_back(EncodeUrlItem(url));
    bytes_ += unread_.back().Length();
    Proceed(lock);
    return --left_ > 0;
  }

  bool WaitForRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (bytes_ > kBufferBytes && !gone_ && !streams_.draining_ && absl::Now() < deadline) {
      mutex_.AwaitWithTimeout(absl::Condition(
                                  +[](ListStream* stream) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                    return stream->bytes_ <= kBufferBytes / 2 || stream->gone_;
                                  },
                                  this),
                              absl::Milliseconds(200));
    }
    if (gone_) status_ = grpc::Status::CANCELLED;
    if (streams_.draining_) {
      status_ = {grpc::StatusCode::UNAVAILABLE, "the server is shutting down"};
    } else if (bytes_ > kBufferBytes) {
      status_ = {grpc::StatusCode::DEADLINE_EXCEEDED, "the client has read nothing for 5 minutes"};
    }
    return status_.ok();
  }

  // Starts what comes next and releases the lock; after that the stream may be gone.
  void Proceed(absl::ReleasableMutexLock& lock) {
    if (writing_) return;
    if (!gone_ && status_.ok() && !unread_.empty()) {
      writing_ = true;
      const grpc::ByteBuffer& item = unread_.front();
      grpc::WriteOptions options;
      if (unread_.size() > 1) options.set_buffer_hint();
      lock.Release();
      StartWrite(&item, options);
    } else if (walked_) {
      const grpc::Status status = status_;
      lock.Release();
      Finish(status);
    }
  }

  ListStreams& streams_;
  UrlFilter filter_;
  uint64_t skip_;
  uint64_t left_;

  absl::Mutex mutex_;
  std::deque<grpc::ByteBuffer> unread_;
  size_t bytes_ = 0;
  bool writing_ = false;
  bool walked_ = false;
  bool gone_ = false;
  grpc::Status status_;
};

ListStreams::~ListStreams() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](ListStreams* streams) { return streams->open_ == 0; }, this));
}

Reactor* ListStreams::Start(const grpc::ByteBuffer* request) {
  urlfrontier::ListUrlParams params;
  if (!ParseMessage(*request, params)) return new Refusal(Malformed());
  {
    absl::MutexLock lock(&mutex_);
    if (open_ >= kMaxOpen) {
      return new Refusal({grpc::StatusCode::RESOURCE_EXHAUSTED,
                          "too many calls of ListURLs are open; try again later"});
    }
    ++open_;
  }
  auto* stream = new ListStream(*this, params);
  stream->Begin();
  return stream;
}

}  // namespace escalona::server

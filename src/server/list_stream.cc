#include <grpc/grpc.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/status.h"
#include "server/url_streams.h"
#include "server/wire.h"

namespace escalona::server {
namespace {

using Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;

// Answers with an error.
class Refusal final : public Reactor {
 public:
  explicit Refusal(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

class ListStream final : public Reactor {
 public:
  ListStream(ListStreams& streams, grpc::CallbackServerContext& context,
             const urlfrontier::ListUrlParams& params)
      : streams_(streams),
        context_(context),
        skip_(params.start()),
        left_(params.size() == 0 ? 100 : params.size()) {
    filter_ = FilterOf(params.key(), params.crawlid(), params.filter(), params.ignorecase());
    filter_.stop = [this] { return IsInVain(); };
  }

  void Begin() {
    std::thread([this] { Walk(); }).detach();
  }

  void OnWriteDone(bool ok) override {
    std::unique_lock lock(mutex_);
    bytes_ -= unread_.front().Length();
    unread_.pop_front();
    writing_ = false;
    if (!ok) gone_ = true;
    if (gone_ || bytes_ <= wake_at_) room_.notify_one();
    Proceed(lock);
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    room_.notify_one();
  }

  void OnDone() override {
    ListStreams& streams = streams_;
    delete this;
    const std::lock_guard lock(streams.mutex_);
    --streams.open_;
    streams.ended_.notify_one();
  }

 private:
  static constexpr size_t kBufferBytes = size_t{1} << 20;

  void Walk() {
    const absl::Status walked =
        streams_.frontier_.ListUrls(filter_, [this](const KnownUrl& url) { return Visit(url); });
    std::unique_lock lock(mutex_);
    if (status_.ok()) WaitForReader(lock, 0);
    if (status_.ok() && !walked.ok()) status_ = Report("ListURLs", walked);
    walked_ = true;
    Proceed(lock);
  }

  bool IsInVain() const { return gone_ || streams_.draining_; }

  // False when enough was seen.
  bool Visit(const KnownUrl& url) {
    if (skip_ > 0) {
      --skip_;
      return !IsInVain();
    }
    std::unique_lock lock(mutex_);
    if (!WaitForReader(lock, kBufferBytes)) return false;
    unread_.push_back(EncodeUrlItem(url));
    bytes_ += unread_.back().Length();
    Proceed(lock);
    return --left_ > 0;
  }

  // Until no more than `most` bytes are unread. False if there is nobody to wait for.
  bool WaitForReader(std::unique_lock<std::mutex>& lock, size_t most) {
    const auto is_late = [this] { return absl::Now() >= write_began_ + streams_.patience_; };
    wake_at_ = most / 2;
    while (bytes_ > most && !gone_ && !streams_.draining_ && !is_late()) {
      room_.wait_for(lock, std::chrono::milliseconds(200),
                     [this] { return bytes_ <= wake_at_ || gone_; });
    }
    if (gone_) {
      status_ = grpc::Status::CANCELLED;
    } else if (streams_.draining_) {
      status_ = {grpc::StatusCode::UNAVAILABLE, "the server is shutting down"};
    } else if (bytes_ > most) {
      GiveUp(lock);
    }
    return status_.ok();
  }

  // The write that is under way would not end before the client reads, and without that the call
  // cannot be finished.
  void GiveUp(std::unique_lock<std::mutex>& lock) {
    status_ = {grpc::StatusCode::DEADLINE_EXCEEDED,
               "the client has read nothing for " + absl::FormatDuration(streams_.patience_)};
    lock.unlock();
    grpc_call_cancel_with_status(context_.c_call(), GRPC_STATUS_DEADLINE_EXCEEDED,
                                 status_.error_message().c_str(), nullptr);
    lock.lock();
  }

  // Starts what comes next and releases the lock; after that the stream may be gone.
  void Proceed(std::unique_lock<std::mutex>& lock) {
    if (writing_) return;
    if (!gone_ && status_.ok() && !unread_.empty()) {
      writing_ = true;
      write_began_ = absl::Now();
      const grpc::ByteBuffer& item = unread_.front();
      grpc::WriteOptions options;
      // The first write carries the headers, and is not done before those have left.
      if (std::exchange(headers_sent_, true) && unread_.size() > 1) options.set_buffer_hint();
      lock.unlock();
      StartWrite(&item, options);
    } else if (walked_) {
      const grpc::Status status = status_;
      lock.unlock();
      Finish(status);
    }
  }

  ListStreams& streams_;
  grpc::CallbackServerContext& context_;
  UrlFilter filter_;
  uint64_t skip_;
  uint64_t left_;

  std::mutex mutex_;
  std::condition_variable room_;
  std::deque<grpc::ByteBuffer> unread_;
  size_t bytes_ = 0;
  size_t wake_at_ = 0;  // bytes, whoever waits
  bool writing_ = false;
  absl::Time write_began_;
  bool headers_sent_ = false;
  bool walked_ = false;
  std::atomic<bool> gone_ = false;
  grpc::Status status_;
};

ListStreams::~ListStreams() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return open_ == 0; });
}

Reactor* ListStreams::Start(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  urlfrontier::ListUrlParams params;
  if (!ParseMessage(*request, params)) return new Refusal(Malformed());
  {
    const std::lock_guard lock(mutex_);
    if (open_ >= kMaxOpen) {
      return new Refusal({grpc::StatusCode::RESOURCE_EXHAUSTED,
                          "too many calls of ListURLs are open; try again later"});
    }
    ++open_;
  }
  auto* stream = new ListStream(*this, *context, params);
  try {
    stream->Begin();
    return stream;
  } catch (const std::system_error& error) {
    stream->OnDone();
    return new Refusal(Report("ListURLs", absl::ResourceExhaustedError(absl::StrCat(
                                              "no thread for it: ", error.code().message()))));
  }
}

}  // namespace escalona::server

#include <grpcpp/server_context.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/status.h"
#include "server/url_streams.h"
#include "server/wire.h"

namespace escalona::server {
namespace {

bool WantsLeases(const grpc::ServerContext& context) {
  const auto& headers = context.client_metadata();
  const auto found = headers.find(grpc::string_ref(kLeaseKey.data(), kLeaseKey.size()));
  return found != headers.end() && found->second == "1";
}

GetRequest RequestOf(const urlfrontier::GetParams& params) {
  GetRequest request;
  request.max_urls_per_queue = params.max_urls_per_queue();
  request.max_urls_at_once = GetStreams::kRoundUrls;
  request.lease = absl::Seconds(params.delay_requestable());
  if (!params.key().empty()) request.key = params.key();
  if (params.item_case() == urlfrontier::GetParams::kCrawlID) {
    request.crawl = std::string(CrawlOf(params.crawlid()));
  }
  return request;
}

// With 0 for no limit, as in the request.
uint64_t QueuesPerRound(uint32_t max_urls_per_queue) {
  if (max_urls_per_queue == 0) return 1;
  return std::max(1U, GetStreams::kRoundUrls / max_urls_per_queue);
}

// Each that listens costs puts some of their speed. With three on two processors, GetURLs under a
// flood of puts is read in time.
unsigned ThreadsForGets() { return std::max(3U, std::thread::hardware_concurrency() / 2); }

}  // namespace

class GetStream {
 public:
  // Something that gRPC reports on the queue. The address of one is its tag.
  class Event {
   public:
    using Handler = void (GetStream::*)(bool ok);
    Event(GetStream* stream, Handler handler) : stream_(stream), handler_(handler) {}
    void Happened(bool ok) { (stream_->*handler_)(ok); }

   private:
    GetStream* const stream_;
    const Handler handler_;
  };

  // Expects a call.
  explicit GetStream(GetStreams& all) : all_(all) {
    {
      const std::lock_guard lock(all_.mutex_);
      ++all_.streams_;
    }
    context_.AsyncNotifyWhenDone(&over_);
    all_.request_(&context_, &bytes_, &writer_, all_.queue_.get(), &arrived_);
  }
  GetStream(const GetStream&) = delete;
  GetStream& operator=(const GetStream&) = delete;

 private:
  ~GetStream() {
    const std::lock_guard lock(all_.mutex_);
    if (--all_.streams_ == 0) all_.none_left_.notify_all();
  }

  void OnArrived(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void OnOver(bool ok);

  void Start();
  void Round();  // leases the next URLs and begins to write them
  void Write();
  void ObserveLatency();  // of a call that counts
  void End(const grpc::Status& status);
  // Once when it is finished and once when it is over, whichever comes first.
  void Leave() {
    if (--stays_ == 0) delete this;
  }

  GetStreams& all_;
  grpc::ServerContext context_;
  grpc::ByteBuffer bytes_;
  GetStreams::Writer writer_{&context_};
  Event arrived_{this, &GetStream::OnArrived};
  Event written_{this, &GetStream::OnWritten};
  Event finished_{this, &GetStream::OnFinished};
  Event over_{this, &GetStream::OnOver};
  std::atomic<int> stays_ = 2;
  std::atomic<bool> cancelled_ = false;

  absl::Time start_;
  bool counted_ = false;  // among the calls of GetURLs
  bool with_lease_ = false;
  GetRequest request_;
  uint64_t queues_left_ = 0;
  std::vector<grpc::ByteBuffer> urls_;  // of this round
  size_t next_ = 0;
  bool headers_sent_ = false;
  bool more_ = false;  // rounds
};

void GetStream::OnArrived(bool ok) {
  if (!ok) {  // the server is shutting down; nothing else will be reported
    delete this;
    return;
  }
  new GetStream(all_);
  start_ = absl::Now();
  urlfrontier::GetParams params;
  if (!ParseMessage(bytes_, params)) {
    End(Malformed());
    return;
  }
  with_lease_ = WantsLeases(context_);
  request_ = RequestOf(params);
  queues_left_ = params.max_queues() == 0 ? UINT64_MAX : params.max_queues();
  Start();
}

void GetStream::Start() {
  Frontier& frontier = all_.frontier_;
  if (!frontier.active()) {
    End(grpc::Status::OK);
    return;
  }
  counted_ = true;
  all_.metrics_.get_calls.Increment();
  if (request_.key && !request_.crawl) {
    End(grpc::Status::OK);
    return;
  }
  const uint64_t queues =
      request_.key ? 1 : frontier.Stats(request_.crawl, std::nullopt).active_queues;
  queues_left_ = std::min(queues_left_, queues);
  Round();
}

void GetStream::Round() {
  const uint64_t queues = std::min(queues_left_, QueuesPerRound(request_.max_urls_per_queue));
  urls_.clear();
  next_ = 0;
  if (queues == 0 || cancelled_) {  // nothing is leased for a client that has left
    End(grpc::Status::OK);
    return;
  }
  request_.max_queues = static_cast<uint32_t>(queues);
  all_.puts_.GiveWay();
  uint64_t served = 0;
  std::string crawl;
  std::string key;
  const absl::StatusOr<uint64_t> got = all_.frontier_.Get(request_, [&](const LeasedUrl& leased) {
    if (served == 0 || key != leased.key || crawl != leased.crawl) {
      ++served;
      key = leased.key;
      crawl = leased.crawl;
    }
    urls_.push_back(EncodeUrlInfo(leased, with_lease_));
  });
  if (!got.ok()) {
    End(Report("GetURLs", got.status()));
    return;
  }
  all_.metrics_.get_urls.Increment(static_cast<double>(urls_.size()));
  queues_left_ -= std::min(served, queues_left_);
  more_ = queues_left_ > 0 && served == queues;
  if (urls_.empty()) {
    End(grpc::Status::OK);
  } else {
    Write();
  }
}

void GetStream::Write() {
  const grpc::ByteBuffer& url = urls_[next_++];
  if (next_ == urls_.size() && !more_) {
    ObserveLatency();
    writer_.WriteAndFinish(url, grpc::WriteOptions(), grpc::Status::OK, &finished_);
    return;
  }
  grpc::WriteOptions options;
  // The first write carries the headers, and is not done before those have left.
  if (next_ < urls_.size() && headers_sent_) options.set_buffer_hint();
  headers_sent_ = true;
  writer_.Write(url, options, &written_);
}

void GetStream::OnWritten(bool ok) {
  if (!ok) {
    End(grpc::Status::CANCELLED);
  } else if (next_ < urls_.size()) {
    Write();
  } else {
    Round();
  }
}

void GetStream::ObserveLatency() {
  if (!counted_) return;
  all_.metrics_.get_latency.Observe(absl::ToDoubleSeconds(absl::Now() - start_));
}

void GetStream::End(const grpc::Status& status) {
  ObserveLatency();
  writer_.Finish(status, &finished_);
}

void GetStream::OnFinished(bool) { Leave(); }

void GetStream::OnOver(bool) {
  cancelled_ = context_.IsCancelled();
  Leave();
}

void GetStreams::Open(std::unique_ptr<grpc::ServerCompletionQueue> queue) {
  queue_ = std::move(queue);
  for (int i = 0; i < kExpected; ++i) new GetStream(*this);
  for (unsigned i = 0; i < ThreadsForGets(); ++i) threads_.emplace_back([this] { Run(); });
}

void GetStreams::Run() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) static_cast<GetStream::Event*>(tag)->Happened(ok);
}

void GetStreams::Close() {
  if (threads_.empty()) return;
  {
    std::unique_lock lock(mutex_);
    none_left_.wait(lock, [this] { return streams_ == 0; });
  }
  queue_->Shutdown();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace escalona::server

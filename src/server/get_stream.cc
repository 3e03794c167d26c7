#include <grpcpp/server_context.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "server/status.h"
#include "server/url_streams.h"
#include "server/wire.h"

namespace escalona::server {
namespace {

bool WantsLeases(const grpc::CallbackServerContext& context) {
  const auto& headers = context.client_metadata();
  const auto found = headers.find(grpc::string_ref(kLeaseKey.data(), kLeaseKey.size()));
  return found != headers.end() && found->second == "1";
}

GetRequest RequestOf(const urlfrontier::GetParams& params) {
  GetRequest request;
  const uint32_t most = GetStream::kRoundUrls;
  request.max_urls_per_queue =
      params.max_urls_per_queue() == 0 ? most : std::min(params.max_urls_per_queue(), most);
  request.lease = absl::Seconds(params.delay_requestable());
  if (!params.key().empty()) request.key = params.key();
  if (params.item_case() == urlfrontier::GetParams::kCrawlID) {
    request.crawl = std::string(CrawlOf(params.crawlid()));
  }
  return request;
}

}  // namespace

GetStream::GetStream(Frontier& frontier, Metrics& metrics, WorkerPool& workers,
                     grpc::CallbackServerContext* context, const grpc::ByteBuffer* request)
    : frontier_(frontier), metrics_(metrics), workers_(workers), start_(absl::Now()) {
  urlfrontier::GetParams params;
  if (!ParseMessage(*request, params)) {
    End(Malformed());
    return;
  }
  with_lease_ = WantsLeases(*context);
  request_ = RequestOf(params);
  queues_left_ = params.max_queues() == 0 ? UINT64_MAX : params.max_queues();
  StartSendInitialMetadata();  // now: a write that carries the headers waits until they have left
  workers_.Post([this] { Start(); });
}

void GetStream::Start() {
  if (!frontier_.active() || (request_.key && !request_.crawl)) {
    End(grpc::Status::OK);
    return;
  }
  metrics_.get_calls.Increment();
  const uint64_t queues =
      request_.key ? 1 : frontier_.Stats(request_.crawl, std::nullopt).active_queues;
  queues_left_ = std::min(queues_left_, queues);
  Round();
}

void GetStream::Round() {
  const uint64_t queues = std::min<uint64_t>(
      queues_left_, std::max<uint32_t>(1, kRoundUrls / request_.max_urls_per_queue));
  urls_.clear();
  written_ = 0;
  if (queues == 0 || cancelled_) {  // nothing is leased for a client that has left
    End(grpc::Status::OK);
    return;
  }
  request_.max_queues = static_cast<uint32_t>(queues);
  uint64_t served = 0;
  std::string crawl;
  std::string key;
  const absl::StatusOr<uint64_t> got = frontier_.Get(request_, [&](const LeasedUrl& leased) {
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
  metrics_.get_urls.Increment(static_cast<double>(urls_.size()));
  queues_left_ -= std::min(served, queues_left_);
  more_ = queues_left_ > 0 && served == queues;
  if (urls_.empty()) {
    End(grpc::Status::OK);
  } else {
    Write();
  }
}

void GetStream::Write() {
  const grpc::ByteBuffer& url = urls_[written_++];
  if (written_ < urls_.size()) {
    StartWrite(&url, grpc::WriteOptions().set_buffer_hint());
  } else if (more_) {
    StartWrite(&url);
  } else {
    metrics_.get_latency.Observe(absl::ToDoubleSeconds(absl::Now() - start_));
    StartWriteAndFinish(&url, grpc::WriteOptions(), grpc::Status::OK);
  }
}

void GetStream::OnWriteDone(bool ok) {
  if (!ok) {
    End(grpc::Status::CANCELLED);
  } else if (written_ < urls_.size()) {
    Write();
  } else {
    workers_.Post([this] { Round(); });
  }
}

void GetStream::End(const grpc::Status& status) {
  metrics_.get_latency.Observe(absl::ToDoubleSeconds(absl::Now() - start_));
  Finish(status);
}

void GetStream::OnDone() { delete this; }

}  // namespace escalona::server

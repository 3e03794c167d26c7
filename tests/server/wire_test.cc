// The service on a frontier in memory, called by a client in the same process.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "naive_frontier.h"
#include "server/grpc_server.h"
#include "server/metrics.h"
#include "server/wire.h"

namespace escalona::server {
namespace {

using urlfrontier::AckMessage;
using urlfrontier::URLFrontier;
using urlfrontier::URLInfo;
using urlfrontier::URLItem;

URLItem Discovered(const std::string& url) {
  URLItem item;
  item.mutable_discovered()->mutable_info()->set_url(url);
  return item;
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  EXPECT_TRUE(buffer.DumpToSingleSlice(&slice).ok());
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

TEST(Wire, EqualMetadataGivesEqualBytesInTheOrderOfKeys) {
  std::string bytes[2];
  for (int turn = 0; turn < 2; ++turn) {
    URLItem item = Discovered("http://a.com/");
    auto& metadata = *item.mutable_discovered()->mutable_info()->mutable_metadata();
    for (int i = 0; i < 50; ++i) {
      const int n = turn == 0 ? i : 49 - i;
      metadata["key" + std::to_string(n)].add_values("value" + std::to_string(n));
    }
    EXPECT_EQ(PutOf(item, bytes[turn]).metadata, bytes[turn]);
  }
  EXPECT_EQ(bytes[0], bytes[1]);
  URLInfo info;
  ASSERT_TRUE(info.ParseFromString(bytes[0]));
  EXPECT_EQ(info.metadata_size(), 50);
}

TEST(Wire, AnAnswerIsWhatProtobufWouldWrite) {
  const KnownUrl known = {"http://a.com/",
                          "a.com",
                          "c",
                          "",
                          UrlState::kScheduled,
                          TimeOfSeconds(123456),
                          TimeOfSeconds(77),
                          absl::InfinitePast()};
  URLItem wanted;
  URLInfo& info = *wanted.mutable_known()->mutable_info();
  info.set_url("http://a.com/");
  info.set_key("a.com");
  info.set_crawlid("c");
  wanted.mutable_known()->set_refetchable_from_date(123456);
  wanted.set_creation_date(77);
  EXPECT_EQ(SerializeUrlItem(known), wanted.SerializeAsString());
  EXPECT_EQ(BytesOf(EncodeUrlItem(known)), wanted.SerializeAsString());
  for (const PutStatus status :
       {PutStatus::kOk, PutStatus::kSkipped, PutStatus::kStale, PutStatus::kFailed}) {
    AckMessage ack;
    ack.set_id(std::string(300, 'x'));
    ack.set_status(AckOf(status));
    EXPECT_EQ(BytesOf(EncodeAck(ack.id(), status)), ack.SerializeAsString());
  }
}

TEST(Wire, DatesBeyondTheYear9999AreItsEnd) {
  EXPECT_EQ(TimeOfSeconds(~uint64_t{0}), TimeOfSeconds(253402300799));
  EXPECT_EQ(TimeOfSeconds(5), absl::FromUnixSeconds(5));
}

class Service {
 public:
  explicit Service(Frontier& frontier, GrpcOptions options = {}) {
    options.address = "127.0.0.1:0";
    auto started = GrpcServer::Start(options, frontier, clock_, metrics_);
    EXPECT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  std::unique_ptr<URLFrontier::Stub> Connect(grpc::ChannelArguments arguments = {}) {
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return URLFrontier::NewStub(grpc::CreateCustomChannel(
        server_->address(), grpc::InsecureChannelCredentials(), arguments));
  }
  GrpcServer& server() { return *server_; }

 private:
  SystemClock clock_;
  Metrics metrics_;
  std::unique_ptr<GrpcServer> server_;
};

// A stream that sends its items and, if told so, never half-closes. Shared counts, no threads.
class Sender final : public grpc::ClientBidiReactor<URLItem, AckMessage> {
 public:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    int acked[3] = {};
    int ended = 0;
    int All() const { return acked[0] + acked[1] + acked[2]; }
  };

  Sender(URLFrontier::Stub& stub, Shared& shared, std::deque<URLItem> items, bool half_close)
      : shared_(shared), items_(std::move(items)), half_close_(half_close) {
    stub.async()->PutURLs(&context_, this);
    AddHold();  // for Cancel
    StartRead(&ack_);
    Next();
    StartCall();
  }
  void OnWriteDone(bool ok) override {
    if (ok) Next();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    {
      const std::lock_guard lock(shared_.mutex);
      ++shared_.acked[ack_.status()];
      shared_.changed.notify_all();
    }
    StartRead(&ack_);
  }
  void OnDone(const grpc::Status&) override {
    const std::lock_guard lock(shared_.mutex);
    ++shared_.ended;
    shared_.changed.notify_all();
  }
  void Release() { RemoveHold(); }
  void Cancel() {
    context_.TryCancel();
    RemoveHold();
  }

 private:
  void Next() {
    if (!items_.empty()) {
      item_ = std::move(items_.front());
      items_.pop_front();
      StartWrite(&item_);
    } else if (half_close_) {
      StartWritesDone();
    }
  }

  Shared& shared_;
  std::deque<URLItem> items_;
  const bool half_close_;
  grpc::ClientContext context_;
  URLItem item_;
  AckMessage ack_;
};

using Senders = std::vector<std::unique_ptr<Sender>>;

bool WaitUntil(Sender::Shared& shared, const std::function<bool()>& holds) {
  std::unique_lock lock(shared.mutex);
  return shared.changed.wait_for(lock, std::chrono::seconds(100), holds);
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kStreams = 200;
constexpr int kMessages = 5'000;
constexpr absl::Duration kPatience = absl::Seconds(6);
#else
constexpr int kStreams = 10'000;
constexpr int kMessages = 100'000;
constexpr absl::Duration kPatience = absl::Seconds(2);
#endif

TEST(WireThreads, TenThousandStreamsThatAreNeverHalfClosed) {
  SystemClock clock;
  auto frontier = Frontier::OpenInMemory({}, clock);
  Service service(*frontier);
  auto stub = service.Connect();
  Sender::Shared shared;
  Senders senders;
  for (int i = 0; i < kStreams; ++i) {
    senders.push_back(std::make_unique<Sender>(
        *stub, shared,
        std::deque<URLItem>{
            Discovered("http://h" + std::to_string(i % 100) + ".com/" + std::to_string(i))},
        false));
  }
  ASSERT_TRUE(WaitUntil(shared, [&] { return shared.acked[AckMessage::OK] == kStreams; }))
      << shared.acked[AckMessage::OK];
  grpc::ClientContext context;
  urlfrontier::Stats stats;
  ASSERT_TRUE(service.Connect()->GetStats(&context, {}, &stats).ok());
  EXPECT_EQ(stats.size(), static_cast<uint64_t>(kStreams));
  for (auto& sender : senders) sender->Cancel();
  ASSERT_TRUE(WaitUntil(shared, [&] { return shared.ended == kStreams; }));
}

TEST(WireThreads, AHundredThousandMessagesInFlight) {
  SystemClock clock;
  auto frontier = Frontier::OpenInMemory({}, clock);
  Service service(*frontier);
  auto stub = service.Connect();
  Sender::Shared shared;
  std::deque<URLItem> items;
  for (int i = 0; i < kMessages; ++i) {
    items.push_back(Discovered("http://h" + std::to_string(i % 997) + ".com/" + std::to_string(i)));
  }
  Sender sender(*stub, shared, std::move(items), true);
  sender.Release();
  ASSERT_TRUE(WaitUntil(shared, [&] { return shared.ended == 1; }));
  EXPECT_EQ(shared.acked[AckMessage::OK], kMessages);
}

TEST(WireThreads, UpdatesOfOneUrlOnOneStreamKeepTheirOrder) {
  SystemClock clock;
  NaiveFrontier frontier(clock);
  Service service(frontier);
  Sender::Shared shared;
  Senders senders;
  std::vector<std::unique_ptr<URLFrontier::Stub>> stubs;
  constexpr int kUrls = 4;
  for (int s = 0; s < kUrls; ++s) {
    std::deque<URLItem> items;
    for (int i = 1; i <= kMessages / 4; ++i) {
      URLItem& item = items.emplace_back();
      item.mutable_known()->mutable_info()->set_url("http://h" + std::to_string(s) + ".com/");
      item.mutable_known()->set_refetchable_from_date(static_cast<uint64_t>(i));
    }
    stubs.push_back(service.Connect());
    senders.push_back(std::make_unique<Sender>(*stubs.back(), shared, std::move(items), true));
    senders.back()->Release();
  }
  ASSERT_TRUE(WaitUntil(shared, [&] { return shared.ended == kUrls; }));
  EXPECT_EQ(shared.acked[AckMessage::OK], kUrls * (kMessages / 4));
  EXPECT_EQ(frontier.set_back(), 0U);
}

// A store that fails: FAIL for each item, and the stream goes on.
TEST(WireThreads, AFailingStoreEndsNoStream) {
  SystemClock clock;
  NaiveFrontier frontier(clock);
  Service service(frontier);
  auto stub = service.Connect();
  grpc::ClientContext context;
  const auto stream = stub->PutURLs(&context);
  const auto put = [&](const std::string& url) {
    stream->Write(Discovered(url));
    AckMessage ack;
    EXPECT_TRUE(stream->Read(&ack));
    EXPECT_EQ(ack.id(), url);
    return ack.status();
  };
  EXPECT_EQ(put("http://a.com/1"), AckMessage::OK);
  frontier.FailWrites(true);
  EXPECT_EQ(put("http://a.com/2"), AckMessage::FAIL);
  frontier.FailWrites(false);
  EXPECT_EQ(put("http://a.com/2"), AckMessage::OK);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(WireThreads, WhatArrivesTogetherIsWrittenTogether) {
  SystemClock clock;
  NaiveFrontier frontier(clock);
  Service service(frontier);
  auto stub = service.Connect();
  Sender::Shared shared;
  Senders senders;
  for (int s = 0; s < 4; ++s) {
    std::deque<URLItem> items;
    for (int i = 0; i < 2000; ++i) {
      items.push_back(Discovered("http://h" + std::to_string(s) + ".com/" + std::to_string(i)));
    }
    senders.push_back(std::make_unique<Sender>(*stub, shared, std::move(items), true));
    senders.back()->Release();
  }
  ASSERT_TRUE(WaitUntil(shared, [&] { return shared.ended == 4; }));
  EXPECT_EQ(shared.acked[AckMessage::OK], 8000);
  EXPECT_LT(frontier.writes(), 8000U);
}

// A call that is stuck keeps its place only for as long as the server's patience lasts: one that
// has much more to say, and one whose rest is in the buffer.
void ExpectReadersAreGivenUp(Frontier& frontier, uint32_t size) {
  GrpcOptions options;
  options.list_patience = kPatience;
  Service service(frontier, options);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // the client takes little more than it reads
  auto stub = service.Connect(arguments);
  struct Call {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<URLItem>> urls;
    grpc::StatusCode Read() const {
      URLItem item;
      while (urls->Read(&item)) {
      }
      return urls->Finish().error_code();
    }
  };
  const auto start = [&](Call& call, uint32_t urls) {
    urlfrontier::ListUrlParams params;
    params.set_size(urls);
    call.urls = stub->ListURLs(&call.context, params);
  };
  const auto wait_for = [&](grpc::StatusCode wanted) {
    const absl::Time end = absl::Now() + absl::Seconds(30);
    while (absl::Now() < end) {
      Call call;
      start(call, 1);
      if (call.Read() == wanted) return true;
    }
    return false;
  };
  std::deque<Call> calls(70);  // some more than there are places
  for (Call& call : calls) start(call, size);
  for (Call& call : calls) call.urls->WaitForInitialMetadata();  // it has begun or was refused
  EXPECT_TRUE(wait_for(grpc::StatusCode::RESOURCE_EXHAUSTED));
  EXPECT_TRUE(wait_for(grpc::StatusCode::OK));
  std::vector<grpc::StatusCode> codes;  // some may be read in time after all
  for (const Call& call : calls) codes.push_back(call.Read());
  EXPECT_THAT(codes, testing::Contains(grpc::StatusCode::DEADLINE_EXCEEDED));
}

void PutLongUrls(Frontier& frontier, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string url = "http://a.com/" + std::string(2000, 'x') + std::to_string(i);
    frontier.Put({{{.url = url}}});
  }
}

TEST(WireThreads, ReadersOfListUrlsThatTakeNothingAreGivenUp) {
  SystemClock clock;
  auto frontier = Frontier::OpenInMemory({}, clock);
  PutLongUrls(*frontier, 1500);
  for (const uint32_t size : {1500, 200}) ExpectReadersAreGivenUp(*frontier, size);
}

TEST(WireThreads, ReadersOfAListThatFailsAreGivenUpToo) {
  SystemClock clock;
  NaiveFrontier frontier(clock);
  PutLongUrls(frontier, 200);
  frontier.DamageTheEnd();
  ExpectReadersAreGivenUp(frontier, 1500);
}

// What walks over URLs of which none matches holds up neither others nor the end of the server when
// its client has left.
TEST(WireThreads, AWalkEndsWithItsCall) {
  SystemClock clock;
  NaiveFrontier frontier(clock);
  frontier.WalkForEver();
  Service service(frontier);
  auto stub = service.Connect();
  const auto soon = [](grpc::ClientContext& context, int milliseconds) {
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(milliseconds));
  };
  for (int i = 0; i < 4; ++i) {
    grpc::ClientContext context;
    soon(context, 100);
    urlfrontier::CountUrlParams params;
    params.set_filter("x");
    urlfrontier::Long count;
    EXPECT_EQ(stub->CountURLs(&context, params, &count).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  {
    grpc::ClientContext context;
    soon(context, 20'000);
    urlfrontier::QueueList queues;
    EXPECT_TRUE(stub->ListQueues(&context, {}, &queues).ok());  // by the threads of CountURLs
  }
  grpc::ClientContext context;
  const auto urls = stub->ListURLs(&context, {});
  absl::SleepFor(absl::Milliseconds(100));
  const absl::Time start = absl::Now();
  service.server().Shutdown(absl::Seconds(10));
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
  URLItem item;
  EXPECT_FALSE(urls->Read(&item));
  EXPECT_EQ(urls->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

// Everything at once, cancelled calls among it, and a shutdown in the middle: nothing hangs,
// nothing acknowledged is missing.
TEST(WireThreads, LoadAndShutdown) {
  SystemClock clock;
  FrontierOptions options;
  options.default_delay = absl::ZeroDuration();
  auto frontier = Frontier::OpenInMemory(options, clock);
  Service service(*frontier);
  Sender::Shared shared;
  Senders senders;
  std::vector<std::unique_ptr<URLFrontier::Stub>> stubs;
  for (int s = 0; s < 6; ++s) {
    std::deque<URLItem> items;
    for (int i = 0; i < 3000; ++i) {
      items.push_back(Discovered("http://h" + std::to_string(i % 50) + ".com/" + std::to_string(s) +
                                 "/" + std::to_string(i)));
    }
    stubs.push_back(service.Connect());
    senders.push_back(
        std::make_unique<Sender>(*stubs.back(), shared, std::move(items), s % 2 == 0));
  }
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&, r] {
      auto stub = service.Connect();
      while (!stop) {
        grpc::ClientContext context;
        urlfrontier::GetParams params;
        params.set_max_queues(5);
        params.set_max_urls_per_queue(3);
        params.set_delay_requestable(1);
        auto urls = stub->GetURLs(&context, params);
        URLInfo info;
        while (urls->Read(&info)) {
          if (r == 2) context.TryCancel();
        }
        if (!urls->Finish().ok() && r != 2) break;
        grpc::ClientContext listing;
        urlfrontier::ListUrlParams list;
        list.set_size(200);
        auto items = stub->ListURLs(&listing, list);
        URLItem item;
        while (items->Read(&item)) {
        }
        if (!items->Finish().ok() && r != 2) break;
      }
    });
  }
  ASSERT_TRUE(WaitUntil(shared, [&] { return shared.All() >= 6000; }));
  service.server().Shutdown(absl::Seconds(2));
  stop = true;
  for (std::thread& reader : readers) reader.join();
  for (auto& sender : senders) sender->Release();
  ASSERT_TRUE(WaitUntil(shared, [&] { return shared.ended == 6; }));
  EXPECT_GE(frontier->Stats(std::nullopt, std::nullopt).scheduled,
            static_cast<uint64_t>(shared.acked[AckMessage::OK]));
}

}  // namespace
}  // namespace escalona::server

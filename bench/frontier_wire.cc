// The frontier server over its wire, beside an echo service on the same gRPC stack that only acks.
//
//   frontier_wire run PROGRAM DIR [SCALE] [REPEATS]    the table; PROGRAM is escalona, DIR for its
//   data frontier_wire echo HOST:PORT                       the echo service alone frontier_wire
//   put|batch|cycle|latency HOST:PORT    one load against a server that runs already
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "server/urlfrontier.grpc.pb.h"

namespace {

using Api = urlfrontier::URLFrontier;
using urlfrontier::AckMessage;
using urlfrontier::BatchAck;
using urlfrontier::DiscoveredBatch;
using urlfrontier::URLInfo;
using urlfrontier::URLItem;

constexpr uint64_t kQueues = 100'000;
constexpr int kBatch = 256;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// About 60 bytes.
void Fill(uint64_t number, URLInfo& info) {
  char text[96];
  const auto host = static_cast<unsigned long>(number % kQueues);
  std::snprintf(text, sizeof text, "host-%06lu.example.com", host);
  info.set_key(text);
  std::snprintf(text, sizeof text, "http://host-%06lu.example.com/articles/%018lu.html", host,
                static_cast<unsigned long>(number));
  info.set_url(text);
  info.set_crawlid("DEFAULT");
}

// ---- The floor: acknowledges what it reads, reading and writing at the same time.

template <class Message, class Ack>
class Echo final : public grpc::ServerBidiReactor<Message, Ack> {
 public:
  Echo() { this->StartRead(&message_); }

  void OnReadDone(bool ok) override {
    absl::ReleasableMutexLock lock(&mutex_);
    if (!ok) {
      ended_ = true;
      Proceed(lock);
      return;
    }
    acks_.push_back(AckTo(message_));
    Proceed(lock);
    this->StartRead(&message_);
  }
  void OnWriteDone(bool ok) override {
    absl::ReleasableMutexLock lock(&mutex_);
    writing_ = false;
    acks_.pop_front();
    if (!ok) acks_.clear();
    Proceed(lock);
  }
  void OnDone() override { delete this; }

 private:
  static AckMessage AckTo(const URLItem& item) {
    AckMessage ack;
    ack.set_id(item.id());
    return ack;
  }
  static BatchAck AckTo(const DiscoveredBatch& batch) {
    BatchAck ack;
    ack.set_id(batch.id());
    for (int i = 0; i < batch.items_size(); ++i) ack.add_statuses(AckMessage::OK);
    return ack;
  }
  void Proceed(absl::ReleasableMutexLock& lock) {
    if (writing_) return;
    if (acks_.empty()) {
      if (!ended_) return;
      lock.Release();
      this->Finish(grpc::Status::OK);
      return;
    }
    writing_ = true;
    const Ack& ack = acks_.front();
    grpc::WriteOptions options;
    if (acks_.size() > 1) options.set_buffer_hint();
    lock.Release();
    this->StartWrite(&ack, options);
  }

  Message message_;
  absl::Mutex mutex_;
  std::deque<Ack> acks_;
  bool writing_ = false;
  bool ended_ = false;
};

// Answers at once with as many URLs as were asked for.
class EchoGet final : public grpc::ServerWriteReactor<URLInfo> {
 public:
  explicit EchoGet(const urlfrontier::GetParams& params)
      : left_(uint64_t{params.max_queues()} * params.max_urls_per_queue()) {
    Fill(0, info_);
    StartSendInitialMetadata();  // a buffered write that carries the headers would wait for ever
    Next();
  }
  void OnWriteDone(bool ok) override {
    if (!ok) left_ = 0;
    Next();
  }
  void OnDone() override { delete this; }

 private:
  void Next() {
    if (left_ == 0) {
      Finish(grpc::Status::OK);
    } else if (--left_ > 0) {
      StartWrite(&info_, grpc::WriteOptions().set_buffer_hint());
    } else {
      StartWriteAndFinish(&info_, grpc::WriteOptions(), grpc::Status::OK);
    }
  }

  uint64_t left_;
  URLInfo info_;
};

class EchoService final : public Api::CallbackService {
  grpc::ServerBidiReactor<URLItem, AckMessage>* PutURLs(grpc::CallbackServerContext*) override {
    return new Echo<URLItem, AckMessage>;
  }
  grpc::ServerBidiReactor<DiscoveredBatch, BatchAck>* PutDiscovered(
      grpc::CallbackServerContext*) override {
    return new Echo<DiscoveredBatch, BatchAck>;
  }
  grpc::ServerWriteReactor<URLInfo>* GetURLs(grpc::CallbackServerContext*,
                                             const urlfrontier::GetParams* params) override {
    return new EchoGet(*params);
  }
};

int RunEcho(const std::string& address) {
  EchoService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 2;
  server->Wait();
  return 0;
}

// ---- Loads

std::unique_ptr<Api::Stub> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  auto channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20))) {
    std::fprintf(stderr, "frontier_wire: nobody answers at %s\n", address.c_str());
    std::exit(2);
  }
  return Api::NewStub(channel);
}

// Sends messages of `make`, which returns false when there are no more, with a bounded number in
// flight, and counts what comes back.
template <class Message, class Ack>
class Sender final : public grpc::ClientBidiReactor<Message, Ack> {
 public:
  static constexpr uint64_t kInFlight = 10'000;
  using Make = std::function<bool(Message&)>;
  using Start = std::function<void(grpc::ClientContext*, Sender*)>;

  Sender(const Start& start, Make make) : make_(std::move(make)) {
    start(&context_, this);
    this->StartRead(&ack_);
    Next();
    this->StartCall();
  }
  void OnWriteDone(bool ok) override {
    if (ok) Next();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    Count(ack_);
    bool resume = false;
    {
      absl::MutexLock lock(&mutex_);
      ++acked_;
      resume = paused_ && sent_ - acked_ < kInFlight / 2;
      if (resume) paused_ = false;
    }
    this->StartRead(&ack_);
    if (resume) Next();
  }
  void OnDone(const grpc::Status& status) override {
    absl::MutexLock lock(&mutex_);
    status_ = status;
    done_ = true;
  }
  void Wait() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&done_));
    if (!status_.ok()) {
      std::fprintf(stderr, "frontier_wire: %s\n", status_.error_message().c_str());
      std::exit(2);
    }
    if (failed_ > 0) std::fprintf(stderr, "frontier_wire: %lu FAIL acks\n", failed_);
  }

 private:
  void Count(const AckMessage& ack) { failed_ += ack.status() == AckMessage::FAIL ? 1 : 0; }
  void Count(const BatchAck& ack) {
    for (int status : ack.statuses()) failed_ += status == AckMessage::FAIL ? 1 : 0;
  }
  void Next() {
    {
      absl::MutexLock lock(&mutex_);
      if (sent_ - acked_ >= kInFlight) {
        paused_ = true;
        return;
      }
      ++sent_;
    }
    if (make_(message_)) {
      this->StartWrite(&message_);
    } else {
      this->StartWritesDone();
    }
  }

  grpc::ClientContext context_;
  const Make make_;
  Message message_;
  Ack ack_;
  unsigned long failed_ = 0;
  absl::Mutex mutex_;
  uint64_t sent_ = 0;
  uint64_t acked_ = 0;
  bool paused_ = false;
  bool done_ = false;
  grpc::Status status_;
};

// Numbers of URLs that no load of this program has used: each is new to the server.
std::atomic<uint64_t> next_url{0};

using UrlSender = Sender<URLItem, AckMessage>;
using BatchSender = Sender<DiscoveredBatch, BatchAck>;

std::unique_ptr<UrlSender> SendUrls(Api::Stub& stub, UrlSender::Make make) {
  return std::make_unique<UrlSender>(
      [&stub](grpc::ClientContext* context, UrlSender* sender) {
        stub.async()->PutURLs(context, sender);
      },
      std::move(make));
}

// URLs per second.
double PutUrls(const std::string& address, int streams, uint64_t count) {
  std::vector<std::unique_ptr<Api::Stub>> stubs;
  for (int i = 0; i < streams; ++i) stubs.push_back(Connect(address));
  const uint64_t end = next_url + count;
  const double start = Now();
  std::vector<std::unique_ptr<UrlSender>> senders;
  for (auto& stub : stubs) {
    senders.push_back(SendUrls(*stub, [end](URLItem& item) {
      const uint64_t number = next_url++;
      if (number >= end) return false;
      URLInfo& info = *item.mutable_discovered()->mutable_info();
      Fill(number, info);
      item.set_id(info.url());
      return true;
    }));
  }
  for (auto& sender : senders) sender->Wait();
  next_url = end + static_cast<uint64_t>(streams);
  return static_cast<double>(count) / (Now() - start);
}

double PutBatches(const std::string& address, uint64_t count) {
  std::unique_ptr<Api::Stub> stub = Connect(address);
  const uint64_t end = next_url + count;
  const double start = Now();
  BatchSender sender(
      [&stub](grpc::ClientContext* context, BatchSender* reactor) {
        stub->async()->PutDiscovered(context, reactor);
      },
      [end](DiscoveredBatch& batch) {
        if (next_url >= end) return false;
        batch.Clear();
        batch.set_id("batch");
        for (int i = 0; i < kBatch; ++i) Fill(next_url++, *batch.add_items());
        return true;
      });
  sender.Wait();
  return static_cast<double>(count) / (Now() - start);
}

void SetNoDelay(Api::Stub& stub) {
  grpc::ClientContext context;
  urlfrontier::QueueDelayParams delay;
  urlfrontier::Empty empty;
  (void)stub.SetDelay(&context, delay, &empty);
}

uint64_t GetOnce(Api::Stub& stub, uint32_t queues, uint32_t urls,
                 const std::function<void(URLInfo&&)>& take) {
  grpc::ClientContext context;
  urlfrontier::GetParams params;
  params.set_max_queues(queues);
  params.set_max_urls_per_queue(urls);
  params.set_crawlid("DEFAULT");
  auto reader = stub.GetURLs(&context, params);
  URLInfo info;
  uint64_t count = 0;
  while (reader->Read(&info)) {
    ++count;
    take(std::move(info));
  }
  if (!reader->Finish().ok()) std::exit(2);
  return count;
}

// A queue of URLs to complete, between the thread that gets and the stream that puts.
class Completions {
 public:
  void Add(URLInfo&& info) {
    absl::MutexLock lock(&mutex_);
    waiting_.push_back(std::move(info));
  }
  void End() {
    absl::MutexLock lock(&mutex_);
    ended_ = true;
  }
  bool Next(URLItem& item) {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](Completions* all) { return all->ended_ || !all->waiting_.empty(); }, this));
    if (waiting_.empty()) return false;
    item.Clear();
    *item.mutable_known()->mutable_info() = std::move(waiting_.front());
    item.set_id(item.known().info().url());
    waiting_.pop_front();
    return true;
  }

 private:
  absl::Mutex mutex_;
  std::deque<URLInfo> waiting_;
  bool ended_ = false;
};

// URLs that were got and completed, per second.
double Cycle(const std::string& address, uint64_t count) {
  std::unique_ptr<Api::Stub> getter = Connect(address);
  std::unique_ptr<Api::Stub> putter = Connect(address);
  SetNoDelay(*getter);
  Completions completions;
  grpc::ClientContext context;
  const double start = Now();
  auto stream = putter->PutURLs(&context);
  std::thread writer([&] {
    URLItem item;
    while (completions.Next(item)) stream->Write(item);
    stream->WritesDone();
  });
  std::thread reader([&] {
    AckMessage ack;
    while (stream->Read(&ack)) {
    }
  });
  uint64_t got = 0;
  while (got < count) {
    const uint64_t now =
        GetOnce(*getter, 100, 10, [&](URLInfo&& info) { completions.Add(std::move(info)); });
    if (now == 0) break;
    got += now;
  }
  completions.End();
  writer.join();
  reader.join();
  if (!stream->Finish().ok()) std::exit(2);
  return static_cast<double>(got) / (Now() - start);
}

// ---- The table

class Process {
 public:
  explicit Process(const std::vector<std::string>& words) {
    pid_ = fork();
    if (pid_ == 0) {
      std::vector<char*> arguments;
      for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      const int nowhere = open("/dev/null", O_WRONLY);
      dup2(nowhere, 1);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  // Ends it; seconds of processor time that it took.
  double Stop() {
    if (pid_ == 0) return 0;
    kill(pid_, SIGTERM);
    rusage used{};
    wait4(std::exchange(pid_, 0), nullptr, 0, &used);
    return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  }
  ~Process() { Stop(); }
  bool Runs() {
    if (pid_ != 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = 0;
    return pid_ != 0;
  }

 private:
  pid_t pid_ = 0;
};

struct Latency {
  double p50, p99, most;
  size_t calls;
};

// Of GetURLs for 10 queues x 10 URLs, in milliseconds, while four streams of another process put
// all they can: in one process both would wait for the same threads of the client.
Latency GetLatency(const std::string& address, uint64_t puts) {
  std::unique_ptr<Api::Stub> stub = Connect(address);
  SetNoDelay(*stub);
  Process load(
      {std::filesystem::read_symlink("/proc/self/exe"), "put4", address, std::to_string(puts)});
  std::vector<double> times;
  while (load.Runs()) {
    const double start = Now();
    GetOnce(*stub, 10, 10, [](URLInfo&&) {});
    times.push_back((Now() - start) * 1e3);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
  };
  return {at(0.5), at(0.99), times.back(), times.size()};
}

struct Figure {
  double rate;
  double server_us;  // of processor time of the server per URL
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Table {
 public:
  Table(std::string self, std::string program, std::string folder, double scale, int repeats)
      : self_(std::move(self)),
        program_(std::move(program)),
        folder_(std::move(folder)),
        scale_(scale),
        repeats_(repeats) {}

  void Run() {
    const uint64_t urls = Scaled(400'000);
    const uint64_t batched = Scaled(2'000'000) / kBatch * kBatch;
    std::vector<Figure> echo1, echo4, put1, put4, echo_batch, batch, cycle;
    std::vector<double> p50, p99, echo_p99;
    for (int i = 0; i < repeats_; ++i) {
      echo1.push_back(Echoed(urls, [&](auto& at) { return PutUrls(at, 1, urls); }));
      put1.push_back(Served(urls, 0, [&](auto& at) { return PutUrls(at, 1, urls); }));
      put4.push_back(Served(urls, 0, [&](auto& at) { return PutUrls(at, 4, urls); }));
      echo4.push_back(Echoed(urls, [&](auto& at) { return PutUrls(at, 4, urls); }));
      echo_batch.push_back(Echoed(batched, [&](auto& at) { return PutBatches(at, batched); }));
      batch.push_back(Served(batched, 0, [&](auto& at) { return PutBatches(at, batched); }));
      cycle.push_back(Served(urls, urls, [&](auto& at) { return Cycle(at, urls); }));
      Echoed(urls, [&](auto& at) { return echo_p99.emplace_back(GetLatency(at, urls).p99); });
      Served(urls, urls, [&](auto& at) {
        const Latency latency = GetLatency(at, urls);
        p50.push_back(latency.p50);
        p99.push_back(latency.p99);
        return 0.0;
      });
    }
    std::printf("%-34s %10s %10s %8s %8s %7s\n", "", "URLs/s", "floor", "ratio", "us/URL", "floor");
    Row("PutURLs, 1 stream", put1, echo1);
    Row("PutURLs, 4 streams", put4, echo4);
    Row("PutDiscovered, batches of 256", batch, echo_batch);
    Row("GetURLs and completing put", cycle, echo1);
    std::printf("PutURLs, 4 streams to 1:           %.2f\n", Rate(put4) / Rate(put1));
    std::printf("PutDiscovered to PutURLs, per URL: %.2f\n", Rate(batch) / Rate(put1));
    std::printf("GetURLs 10 x 10 under full put load: p50 %.2f ms, p99 %.2f ms, floor's %.2f ms\n",
                Median(p50), Median(p99), Median(echo_p99));
  }

 private:
  uint64_t Scaled(double count) const { return static_cast<uint64_t>(count * scale_); }
  static double Rate(const std::vector<Figure>& figures) {
    std::vector<double> rates;
    for (const Figure& figure : figures) rates.push_back(figure.rate);
    return Median(rates);
  }
  static double Cost(const std::vector<Figure>& figures) {
    std::vector<double> costs;
    for (const Figure& figure : figures) costs.push_back(figure.server_us);
    return Median(costs);
  }
  static void Row(const char* name, const std::vector<Figure>& ours,
                  const std::vector<Figure>& floor) {
    std::printf("%-34s %10.0f %10.0f %8.2f %8.2f %7.2f\n", name, Rate(ours), Rate(floor),
                Rate(ours) / Rate(floor), Cost(ours), Cost(floor));
    std::fflush(stdout);
  }

  template <class Load>
  Figure Echoed(uint64_t urls, Load load) {
    const std::string address = NextAddress();
    Process server({self_, "echo", address});
    const double rate = load(address);
    return {rate, server.Stop() * 1e6 / static_cast<double>(urls)};
  }
  // Our server, with `before` URLs put by batches first; their cost is in the processor time.
  template <class Load>
  Figure Served(uint64_t urls, uint64_t before, Load load) {
    const std::string address = NextAddress();
    std::filesystem::remove_all(folder_);
    Process server({program_, "serve", "--data", folder_, "--grpc", address, "--http",
                    "127.0.0.1:0", "--default-delay", "0"});
    if (before > 0) PutBatches(address, before);
    const double rate = load(address);
    const double used = server.Stop();
    std::filesystem::remove_all(folder_);
    return {rate, used * 1e6 / static_cast<double>(urls)};
  }
  std::string NextAddress() { return "127.0.0.1:" + std::to_string(port_++); }

  const std::string self_, program_, folder_;
  const double scale_;
  const int repeats_;
  int port_ = 17071;
};

int Usage() {
  std::fputs(
      "usage: frontier_wire run PROGRAM DIR [SCALE] [REPEATS]\n"
      "       frontier_wire echo|put|put4|batch|cycle|latency HOST:PORT [URLS]\n",
      stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return Usage();
  const std::string job = argv[1];
  const std::string where = argv[2];
  if (job == "echo") return RunEcho(where);
  if (job == "run") {
    if (argc < 4) return Usage();
    Table(std::filesystem::read_symlink("/proc/self/exe"), where, argv[3],
          argc > 4 ? std::atof(argv[4]) : 1, argc > 5 ? std::atoi(argv[5]) : 3)
        .Run();
    return 0;
  }
  next_url = static_cast<uint64_t>(getpid()) << 32;
  const uint64_t urls = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 200'000;
  if (job == "put" || job == "put4") {
    std::printf("%.0f URLs/s\n", PutUrls(where, job == "put" ? 1 : 4, urls));
  } else if (job == "batch") {
    std::printf("%.0f URLs/s\n", PutBatches(where, urls / kBatch * kBatch));
  } else if (job == "cycle") {
    std::printf("%.0f URLs/s\n", Cycle(where, urls));
  } else if (job == "latency") {
    const Latency latency = GetLatency(where, urls);
    std::printf("p50 %.2f ms, p99 %.2f ms, most %.2f ms of %zu calls\n", latency.p50, latency.p99,
                latency.most, latency.calls);
  } else {
    return Usage();
  }
  return 0;
}

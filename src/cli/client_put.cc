// `escalona client put` and `load`: files of URLs into a server.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "cli/chunk_reader.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/item_line.h"
#include "cli/number_option.h"
#include "cli/progress.h"

namespace escalona::cli {
namespace {

using urlfrontier::AckMessage;
using urlfrontier::BatchAck;
using urlfrontier::DiscoveredBatch;
using urlfrontier::URLItem;

struct PutOptions {
  std::vector<std::string> files = {"-"};
  std::string crawl;
  uint32_t in_flight = 10'000;
  uint32_t batch = 0;
  bool strict = false;
};

struct Counts {
  uint64_t ok = 0;
  uint64_t skipped = 0;
  uint64_t failed = 0;
  uint64_t acked = 0;  // messages
};

void Count(int status, Counts& counts) {
  ++(status == AckMessage::OK        ? counts.ok
     : status == AckMessage::SKIPPED ? counts.skipped
                                     : counts.failed);
}
void Count(const AckMessage& ack, Counts& counts) { Count(ack.status(), counts); }
void Count(const BatchAck& ack, Counts& counts) {
  for (const int status : ack.statuses()) Count(status, counts);
}

// A stream of messages with a bounded number that is not acknowledged yet.
template <class Message, class Ack>
class PutPipe {
 public:
  using Stream = grpc::ClientReaderWriter<Message, Ack>;

  template <class Open>
  PutPipe(uint64_t in_flight, Open open)
      : in_flight_(in_flight), stream_(open(&context_)), reader_([this] { Read(); }) {}
  PutPipe(const PutPipe&) = delete;
  PutPipe& operator=(const PutPipe&) = delete;
  ~PutPipe() {
    if (!reader_.joinable()) return;
    context_.TryCancel();
    reader_.join();
    (void)stream_->Finish();
  }

  // False if the stream is broken: Finish() says why.
  bool Send(const Message& message) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](PutPipe* pipe) {
            return pipe->ended_ || pipe->sent_ - pipe->counts_.acked < pipe->in_flight_;
          },
          this));
      if (ended_) return false;
      ++sent_;
    }
    return stream_->Write(message);
  }
  // Waits for what was sent.
  void Drain() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](PutPipe* pipe) { return pipe->ended_ || pipe->sent_ == pipe->counts_.acked; }, this));
  }
  grpc::Status Finish() {
    stream_->WritesDone();
    reader_.join();
    return stream_->Finish();
  }
  Counts counts() {
    absl::MutexLock lock(&mutex_);
    return counts_;
  }
  uint64_t unacknowledged() {
    absl::MutexLock lock(&mutex_);
    return sent_ - counts_.acked;
  }

 private:
  void Read() {
    Ack ack;
    while (stream_->Read(&ack)) {
      absl::MutexLock lock(&mutex_);
      ++counts_.acked;
      Count(ack, counts_);
    }
    absl::MutexLock lock(&mutex_);
    ended_ = true;
  }

  const uint64_t in_flight_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  absl::Mutex mutex_;
  Counts counts_;
  uint64_t sent_ = 0;
  bool ended_ = false;
  std::thread reader_;
};

class Putter {
 public:
  Putter(Client& client, const PutOptions& options)
      : client_(client),
        options_(options),
        urls_(options.in_flight,
              [&](grpc::ClientContext* context) { return client.frontier().PutURLs(context); }) {
    if (options.batch == 0) return;
    const uint64_t batches = std::max<uint64_t>(1, options.in_flight / options.batch);
    batches_ = std::make_unique<BatchPipe>(batches, [&](grpc::ClientContext* context) {
      return client.frontier().PutDiscovered(context);
    });
  }

  int Run() {
    int status = kDone;
    for (const std::string& file : options_.files) {
      if (status = PutFile(file); status != kDone) break;
    }
    return std::max(status, End());  // also of a file that cannot be read, what was sent counts
  }

 private:
  using BatchPipe = PutPipe<DiscoveredBatch, BatchAck>;
  // Servers refuse a message that is too large, the reference service from 4 MiB on.
  static constexpr size_t kBatchBytes = size_t{1} << 20;

  int PutFile(const std::string& file) {
    absl::StatusOr<ChunkReader> source = ChunkReader::Open(file);
    if (!source.ok()) return client_.Fail(absl::StrCat(file, ": ", source.status().message()));
    Progress progress("escalona client put", source->size());
    std::string chunk;
    uint64_t line = 0;
    while (true) {
      if (absl::Status status = source->Next(chunk, 64 << 10, ChunkReader::Fill::kWhatCame);
          !status.ok()) {
        progress.Clear();
        return client_.Fail(absl::StrCat(file, ": ", status.message()));
      }
      if (chunk.empty()) return kDone;
      progress.Update(source->position(), absl::StrCat(Total().ok, " OK"));
      if (!PutChunk(file, chunk, line, progress) || (source->WouldWait() && !SendBatch())) {
        return kCouldNotBeDone;  // End() tells what broke
      }
    }
  }

  bool PutChunk(const std::string& file, std::string_view chunk, uint64_t& line,
                Progress& progress) {
    while (!chunk.empty()) {
      const size_t end = std::min(chunk.find('\n'), chunk.size() - 1) + 1;
      const absl::StatusOr<bool> parsed =
          ParseItemLine(chunk.substr(0, end), options_.crawl, item_);
      chunk.remove_prefix(end);
      ++line;
      if (!parsed.ok()) {
        progress.Clear();
        ++bad_lines_;
        std::fprintf(stderr, "%s:%llu: %s; not sent\n", file.c_str(),
                     static_cast<unsigned long long>(line),
                     std::string(parsed.status().message()).c_str());
      } else if (*parsed && !PutItem()) {
        return false;
      }
    }
    return true;
  }

  bool PutItem() {
    if (batches_ && item_.has_discovered()) {
      const size_t bytes = item_.discovered().info().ByteSizeLong();
      if (batch_bytes_ + bytes > kBatchBytes && !SendBatch()) return false;
      batch_.add_items()->Swap(item_.mutable_discovered()->mutable_info());
      batch_bytes_ += bytes;
      return static_cast<uint32_t>(batch_.items_size()) < options_.batch || SendBatch();
    }
    // What was fetched may be what was discovered just before.
    if (batches_ && (!SendBatch() || (batches_->Drain(), false))) return false;
    return urls_.Send(item_);
  }

  bool SendBatch() {
    if (batch_.items().empty()) return true;
    batch_.set_id(absl::StrCat("batch-", ++batch_number_));
    const bool sent = batches_->Send(batch_);
    batch_.Clear();
    batch_bytes_ = 0;
    return sent;
  }

  Counts Total() {
    Counts total = urls_.counts();
    if (batches_) {
      const Counts more = batches_->counts();
      total.ok += more.ok;
      total.skipped += more.skipped;
      total.failed += more.failed;
    }
    return total;
  }

  int End() {
    grpc::Status status;
    if (batches_) {
      SendBatch();
      status = batches_->Finish();
    }
    if (const grpc::Status urls = urls_.Finish(); status.ok()) status = urls;
    const Counts total = Total();
    const uint64_t lost = urls_.unacknowledged() + (batches_ ? batches_->unacknowledged() : 0);
    std::fprintf(
        stderr, "%llu OK, %llu SKIPPED, %llu FAIL, %llu BAD%s\n",
        static_cast<unsigned long long>(total.ok), static_cast<unsigned long long>(total.skipped),
        static_cast<unsigned long long>(total.failed), static_cast<unsigned long long>(bad_lines_),
        lost > 0 ? absl::StrCat(", ", lost, " messages not acknowledged").c_str() : "");
    if (!status.ok()) return client_.Fail(status);
    if (total.failed > 0)
      return client_.Fail("the server could not store everything; put it again");
    return options_.strict && bad_lines_ > 0 ? kFindings : kDone;
  }

  Client& client_;
  const PutOptions& options_;
  PutPipe<URLItem, AckMessage> urls_;
  std::unique_ptr<BatchPipe> batches_;
  DiscoveredBatch batch_;
  size_t batch_bytes_ = 0;
  uint64_t batch_number_ = 0;
  URLItem item_;
  uint64_t bad_lines_ = 0;
};

void AddPutCommand(CLI::App& client, const char* name, const char* help,
                   const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* put = client.add_subcommand(name, help);
  auto options = std::make_shared<PutOptions>();
  put->add_option(
      "FILE", options->files,
      "Files with a URL or a URLItem as JSON in each line, may be compressed by gzip; - "
      "is standard input");
  AddCrawl(put, options->crawl);
  put->add_option("-w,--in-flight", options->in_flight, "URLs sent and not yet acknowledged")
      ->check(Between(1, std::numeric_limits<uint32_t>::max()))
      ->capture_default_str();
  put->add_option("-b,--batch", options->batch,
                  "Send discovered URLs so many at a time, or 1 MiB: much faster, needs release "
                  "2.6")
      ->check(Fits(options->batch));
  put->add_flag("--strict", options->strict, "Exit with 1 when a line was bad");
  put->footer(
      "The last line counts URLs: OK stored, SKIPPED not taken (known already, mostly), "
      "FAIL not stored;\nand lines: BAD, named above it and not sent.");
  OnCommand(put, flags, status,
            [options](Client& server) { return Putter(server, *options).Run(); });
}

}  // namespace

void AddClientPut(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  AddPutCommand(client, "put", "Put URLs: new ones, or what became of fetched ones", flags, status);
  AddPutCommand(client, "load", "Put back what `dump` wrote", flags, status);
}

}  // namespace escalona::cli

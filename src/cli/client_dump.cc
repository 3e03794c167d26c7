// `escalona client dump`: everything a server knows, as lines that `load` puts back.
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/gzip_writer.h"
#include "cli/output_file.h"
#include "cli/progress.h"

namespace escalona::cli {
namespace {

struct DumpOptions {
  std::string output = "-";
  std::vector<std::string> crawls;
};

class Dumper {
 public:
  Dumper(Client& client, OutputFile& file, bool compress)
      : client_(client), file_(file), writer_(file, compress) {}

  grpc::Status Crawls(std::vector<std::string>& crawls) {
    grpc::ClientContext context;
    urlfrontier::StringList list;
    const grpc::Status status = client_.frontier().ListCrawls(&context, {}, &list);
    crawls.assign(list.values().begin(), list.values().end());
    return status;
  }

  grpc::Status Dump(const std::string& crawl) {
    urlfrontier::ListUrlParams params;
    params.set_crawlid(crawl);
    // The most that every server understands.
    params.set_size(std::numeric_limits<int32_t>::max());
    grpc::ClientContext context;
    const auto reader = client_.frontier().ListURLs(&context, params);
    urlfrontier::URLItem item;
    while (file_.ok() && reader->Read(&item)) {
      writer_.Append(JsonOf(item) + "\n");
      progress_.Update(file_.size(), absl::StrCat(++count_, " URLs of ", crawl));
    }
    if (!file_.ok()) context.TryCancel();
    const grpc::Status status = reader->Finish();
    return file_.ok() ? status : grpc::Status::OK;  // the file tells its own error
  }

  void Finish() { writer_.Finish(); }

 private:
  Client& client_;
  OutputFile& file_;
  GzipWriter writer_;
  Progress progress_{"escalona client dump", 0};
  uint64_t count_ = 0;
};

int Dump(Client& client, const DumpOptions& options) {
  absl::StatusOr<OutputFile> file = OutputFile::Create(options.output);
  if (!file.ok()) return client.Fail(std::string(file.status().message()));
  {
    Dumper dumper(client, *file, options.output.ends_with(".gz"));
    std::vector<std::string> crawls = options.crawls;
    if (crawls.empty()) {
      if (const grpc::Status status = dumper.Crawls(crawls); !status.ok()) {
        return client.Fail(status);
      }
    }
    for (const std::string& crawl : crawls) {
      if (const grpc::Status status = dumper.Dump(crawl); !status.ok()) return client.Fail(status);
    }
    dumper.Finish();
  }
  if (absl::Status status = file->Commit(); !status.ok()) {
    return client.Fail(std::string(status.message()));
  }
  return kDone;
}

}  // namespace

void AddClientDump(CLI::App& client, const std::shared_ptr<ClientFlags>& flags, int& status) {
  CLI::App* dump =
      client.add_subcommand("dump", "Write all URLs as JSON lines, which `load` reads");
  auto options = std::make_shared<DumpOptions>();
  dump->add_option("-o,--output", options->output,
                   "Where they go; compressed if it ends in .gz; - is standard output")
      ->capture_default_str();
  dump->add_option("-c,--crawl", options->crawls, "Only of these crawls; of all if unset");
  OnCommand(dump, flags, status, [options](Client& server) { return Dump(server, *options); });
}

}  // namespace escalona::cli

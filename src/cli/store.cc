// `escalona store`: looks after the folder a frontier keeps its URLs in.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/command.h"
#include "frontier/check.h"
#include "store/data_directory.h"
#include "store/store.h"

namespace escalona::cli {
namespace {

constexpr uint64_t kMostFindings = 1000;

// The folder of a server has the frontier's in it; a library's is the frontier's.
std::string FrontierFolder(const std::string& folder) {
  std::error_code error;
  const std::string inner = folder + "/frontier";
  return std::filesystem::is_directory(inner, error) ? inner : folder;
}

int Refuse(const std::string& folder, const absl::Status& status) {
  std::fprintf(stderr, "escalona store: %s: %s\n", folder.c_str(),
               std::string(status.message()).c_str());
  return kCouldNotBeDone;
}

// The folder of a server, as a whole; a library's is no such folder.
absl::Status CheckDataDirectory(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder + "/FORMAT", error) && FrontierFolder(folder) == folder) {
    return absl::OkStatus();
  }
  const absl::Status format = store::DataDirectory::CheckFormat(folder);
  return format.ok() ? store::DataDirectory::CheckStores(folder) : format;
}

// Opens what is there and makes nothing.
absl::StatusOr<std::unique_ptr<store::Store>> OpenExisting(const std::string& folder,
                                                           bool read_only) {
  const std::string path = FrontierFolder(folder);
  std::error_code error;
  if (!std::filesystem::exists(path + "/CURRENT", error) && error) {
    return absl::PermissionDeniedError("cannot be read: " + error.message());
  }
  if (const absl::Status status = CheckDataDirectory(folder); !status.ok()) return status;
  if (!store::HoldsRocksStore(path)) {
    return absl::NotFoundError(
        "no frontier is kept here; give the folder of `serve --data`, or "
        "the one a library opened");
  }
  const auto warn = [](const std::string& what) {
    std::fprintf(stderr, "escalona store: %s\n", what.c_str());
  };
  auto opened = store::OpenRocksStore(
      path, {.compress = true, .create = false, .read_only = read_only, .warn = warn});
  if (absl::IsFailedPrecondition(opened.status())) {
    return absl::FailedPreconditionError(
        "a server, or another program, is using it; stop that first, or ask the server: "
        "`escalona client stats`");
  }
  return opened;
}

void Print(const frontier::StoreCounts& counts) {
  const uint64_t urls = counts.scheduled + counts.completed;
  std::printf(
      "crawls     %lu\nqueues     %lu\nURLs       %lu\nscheduled  %lu\ncompleted  %lu\n"
      "leases     %lu\n",
      counts.crawls, counts.queues, urls, counts.scheduled, counts.completed, counts.leases);
}

int Check(const std::string& folder) {
  auto opened = OpenExisting(folder, /*read_only=*/true);
  if (!opened.ok()) return Refuse(folder, opened.status());
  uint64_t findings = 0;
  const auto counts = frontier::CheckStore(**opened, [&](const std::string& what) {
    if (++findings <= kMostFindings) std::printf("%s\n", what.c_str());
  });
  if (!counts.ok() && counts.status().code() == absl::StatusCode::kDataLoss) {
    std::printf("%s\n", std::string(counts.status().message()).c_str());
    return kFindings;
  }
  if (!counts.ok()) return Refuse(folder, counts.status());
  if (findings > kMostFindings) std::printf("and %lu more\n", findings - kMostFindings);
  Print(*counts);
  std::printf("%s\n", findings == 0 ? "all is well" : "the store is damaged");
  return findings == 0 ? kDone : kFindings;
}

int Stats(const std::string& folder) {
  auto opened = OpenExisting(folder, /*read_only=*/true);
  if (!opened.ok()) return Refuse(folder, opened.status());
  const auto counts = frontier::CountStore(**opened);
  if (!counts.ok()) return Refuse(folder, counts.status());
  Print(*counts);
  const uint64_t bytes = (*opened)->Bytes();
  const uint64_t urls = counts->scheduled + counts->completed;
  std::printf("told       %lu\nformat     %lu\nopenings   %lu\nbytes      %lu\n", counts->told,
              counts->format, counts->openings, bytes);
  if (urls > 0) {
    std::printf("per URL    %.1f\n", static_cast<double>(bytes) / static_cast<double>(urls));
  }
  return kDone;
}

int Compact(const std::string& folder) {
  auto opened = OpenExisting(folder, /*read_only=*/false);
  if (!opened.ok()) return Refuse(folder, opened.status());
  const uint64_t before = (*opened)->Bytes();
  const absl::Status compacted = (*opened)->Compact();
  if (!compacted.ok()) return Refuse(folder, compacted);
  std::printf("%lu bytes, %lu before\n", (*opened)->Bytes(), before);
  return kDone;
}

}  // namespace

void AddStore(CLI::App& app, int& status) {
  CLI::App* const store =
      app.add_subcommand("store", "Check, measure or compact the folder of a frontier");
  store->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, int (*run)(const std::string&)) {
    CLI::App* const command = store->add_subcommand(name, what);
    auto folder = std::make_shared<std::string>();
    command->add_option("DIR", *folder, "The folder; no server may be using it")->required();
    command->callback([folder, run, &status] { status = run(*folder); });
  };
  add("check", "Read every record and recount; findings give exit status 1", Check);
  add("stats", "What is in it, by the records of its queues", Stats);
  add("compact", "Give back the room of what was overwritten or removed", Compact);
}

}  // namespace escalona::cli

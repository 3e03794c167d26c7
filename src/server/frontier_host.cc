#include "server/frontier_host.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace escalona::server {
namespace {

constexpr absl::Duration kSyncInterval = absl::Seconds(1);
constexpr absl::Duration kPatience = absl::Seconds(2);

}  // namespace

FrontierHost::FrontierHost(std::optional<std::string> folder, const FrontierOptions& options,
                           const Clock& clock, Router& router)
    : folder_(std::move(folder)), options_(options), clock_(clock) {
  router.Add(Method::kGet, "/metrics",
             [this](const Request&, Response& response) {
               response.content_type = "text/plain; version=0.0.4; charset=utf-8";
               response.body = metrics_.Text(*frontier_);
             },
             {.blocking = true});
}

std::string FrontierHost::detail() const {
  const FrontierStats stats = frontier_->Stats(std::nullopt, std::nullopt);
  return absl::StrCat(folder_ ? "in " + *folder_ : "in memory", ": ", stats.queues, " queues, ",
                      stats.scheduled, " scheduled and ", stats.completed, " completed URLs");
}

absl::Status FrontierHost::Start() {
  if (!folder_) {
    frontier_ = Frontier::OpenInMemory(options_, clock_);
    return absl::OkStatus();
  }
  FrontierOptions options = options_;
  options.warn = [](const std::string& what) { spdlog::warn("frontier: {}", what); };
  absl::StatusOr<std::unique_ptr<Frontier>> opened = Frontier::Open(*folder_, options, clock_);
  if (!opened.ok()) return opened.status();
  frontier_ = *std::move(opened);
  if (options_.durability == FrontierDurability::kInterval) {
    syncing_ = std::thread([this] { SyncOften(); });
  }
  return absl::OkStatus();
}

void FrontierHost::SyncOften() {
  bool failing = false;
  while (!stopping_.WaitForNotificationWithTimeout(kSyncInterval)) {
    const absl::Status status = frontier_->Sync();
    if (!status.ok() && !failing) spdlog::error("sync failed: {}", status.ToString());
    failing = !status.ok();
  }
}

void FrontierHost::Stop() {
  stopping_.Notify();
  if (syncing_.joinable()) syncing_.join();
  if (const absl::Status status = frontier_->Sync(); !status.ok()) {
    spdlog::error("the last sync failed: {}", status.ToString());
  }
  frontier_.reset();
}

absl::Status GrpcService::Start() {
  absl::StatusOr<std::unique_ptr<GrpcServer>> started =
      GrpcServer::Start(options_, host_.frontier(), host_.clock(), host_.metrics());
  if (!started.ok()) return started.status();
  server_ = *std::move(started);
  // The words that tests of other projects wait for.
  spdlog::info("Started URLFrontierServer on {}", server_->address());
  return absl::OkStatus();
}

void GrpcService::Stop() {
  server_->Shutdown(kPatience);
  server_.reset();
}

}  // namespace escalona::server

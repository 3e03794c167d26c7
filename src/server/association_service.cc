// Opens, looks after and closes the counters.
#include "server/association_service.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <random>
#include <utility>

#include "server/association_api.h"

namespace escalona::server {
namespace {

constexpr std::chrono::seconds kInterval(1);

uint64_t RandomSeed() {
  std::random_device source;
  return uint64_t{source()} << 32 | source();
}

}  // namespace

AssociationService::AssociationService(AssociationServiceOptions options, const Clock& clock,
                                       Router& router)
    : options_(std::move(options)), clock_(clock) {
  AssociationApiOptions api;
  api.writes_wait = options_.durability == assoc::Durability::kSync;
  AddAssociationRoutes(api, namespaces_, clock_, router);
}

AssociationService::~AssociationService() {
  if (thread_.joinable()) Stop();
}

std::string AssociationService::detail() const {
  const auto totals = namespaces_->Default()->counter().Totals();
  return "with " + std::to_string(namespaces_->Names().size()) +
         " namespaces; the default one has " + std::to_string(totals.pairs) + " pairs";
}

absl::Status AssociationService::Start() {
  auto store = store::OpenRocksStore(options_.folder);
  if (!store.ok()) return store.status();
  store_ = std::move(*store);
  assoc::Namespaces::Options options;
  options.durability = options_.durability;
  options.memory_bytes = options_.memory_bytes;
  options.hash_seed = RandomSeed();
  auto namespaces = assoc::Namespaces::Open(*store_, clock_, options);
  if (!namespaces.ok()) return namespaces.status();
  namespaces_ = std::move(*namespaces);
  thread_ = std::thread([this] { RunBackground(); });
  return absl::OkStatus();
}

void AssociationService::RunBackground() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    if (wake_.wait_for(lock, kInterval, [this] { return stopping_; })) break;
    lock.unlock();
    Tick();
    lock.lock();
  }
}

void AssociationService::Tick() {
  absl::Status status;
  if (options_.durability == assoc::Durability::kInterval) status = namespaces_->Sync();
  if (status.ok()) status = namespaces_->Maintain();
  if (!status.ok() && !std::exchange(failed_, true)) {
    spdlog::critical("associations: {}; writes are refused from now on", status.ToString());
  }
}

void AssociationService::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  absl::Status status = namespaces_->Checkpoint();
  if (status.ok()) status = store_->Sync();
  if (!status.ok()) spdlog::critical("associations: {}", status.ToString());
  namespaces_.reset();
  store_.reset();
}

}  // namespace escalona::server

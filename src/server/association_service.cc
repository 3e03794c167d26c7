// Opens, looks after and closes the counters.
#include "server/association_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
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

// What the store takes for itself is small where the lists have little.
store::RocksOptions StoreOptions(size_t memory_bytes) {
  constexpr size_t kLeast = 4 << 20;
  store::RocksOptions options;
  const size_t share = std::max(kLeast, memory_bytes / 4);
  options.cache_bytes = std::min(options.cache_bytes, share);
  options.write_buffer_bytes = std::min(options.write_buffer_bytes, share);
  return options;
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
  if (!threads_.empty()) Stop();
}

std::string AssociationService::detail() const {
  const auto totals = namespaces_->Default()->counter().Totals();
  return "with " + std::to_string(namespaces_->Names().size()) +
         " namespaces; the default one has " + std::to_string(totals.pairs) + " pairs";
}

absl::Status AssociationService::Start() {
  store::RocksOptions rocks = StoreOptions(options_.memory_bytes);
  rocks.warn = [](const std::string& what) { spdlog::warn("associations: {}", what); };
  auto store = store::OpenRocksStore(options_.folder, rocks);
  if (!store.ok()) return store.status();
  store_ = std::move(*store);
  assoc::Namespaces::Options options;
  options.durability = options_.durability;
  options.memory_bytes = options_.memory_bytes;
  options.hash_seed = RandomSeed();
  options.limit_rate = options_.limit_rate;
  auto namespaces = assoc::Namespaces::Open(*store_, clock_, options);
  if (!namespaces.ok()) return namespaces.status();
  namespaces_ = std::move(*namespaces);
  threads_.emplace_back([this] { Repeat(&assoc::Namespaces::Maintain); });
  if (options_.durability == assoc::Durability::kInterval) {
    threads_.emplace_back([this] { Repeat(&assoc::Namespaces::Sync); });
  }
  return absl::OkStatus();
}

void AssociationService::Repeat(absl::Status (assoc::Namespaces::*work)()) {
  bool failed = false;  // and it has been said
  std::unique_lock<std::mutex> lock(mutex_);
  while (!wake_.wait_for(lock, kInterval, [this] { return stopping_; })) {
    lock.unlock();
    const absl::Status status = (*namespaces_.*work)();
    if (!status.ok() && !std::exchange(failed, true)) {
      spdlog::critical("associations: {}; writes are refused from now on", status.ToString());
    }
    lock.lock();
  }
}

void AssociationService::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  absl::Status status = namespaces_->Checkpoint();
  if (status.ok()) status = store_->Sync();
  if (!status.ok()) spdlog::critical("associations: {}", status.ToString());
  namespaces_.reset();
  store_.reset();
}

}  // namespace escalona::server

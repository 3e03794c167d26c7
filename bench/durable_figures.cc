// Fills a database, closes it, opens it again and measures each.
#include "durable_figures.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "assoc/durable.h"
#include "assoc_ids.h"
#include "store/store.h"

namespace escalona::bench {
namespace {

using assoc::Durability;
using assoc::DurableAssociations;

constexpr size_t kBatch = 64;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The bytes of the files in the folder whose name ends so.
double FileBytes(const std::string& folder, const std::string& ending) {
  double bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ending) bytes += static_cast<double>(file.file_size());
  }
  return bytes;
}

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "assoc_bench: %s\n", std::string(status.message()).c_str());
  std::exit(2);
}

struct Opened {
  std::unique_ptr<store::Store> store;
  std::unique_ptr<DurableAssociations> counter;
};

Opened Open(const std::string& folder, Durability durability) {
  Opened opened;
  auto store = store::OpenRocksStore(folder);
  Check(store.status());
  opened.store = std::move(*store);
  auto counter = DurableAssociations::Open(*opened.store, {.durability = durability});
  Check(counter.status());
  opened.counter = std::move(*counter);
  return opened;
}

void Fill(DurableAssociations& counter, uint64_t associators, uint64_t keys) {
  std::vector<Id> ids(2 * kBatch);
  std::vector<AssociationIncrement> items;
  for (uint64_t i = 0; i < associators * keys; ++i) {
    const uint64_t associator = i % associators;
    ids[2 * items.size()] = AssociatorId(associator);
    ids[2 * items.size() + 1] = KeyId(associator, i / associators, keys);
    items.push_back({ids[2 * items.size()].view(), ids[2 * items.size() + 1].view(), 1});
    if (items.size() < kBatch && i + 1 < associators * keys) continue;
    Check(counter.IncrementBatch(items, nullptr).status());
    items.clear();
  }
}

// Increments random pairs, `batch` in a call; bytes of the log per increment.
void MeasureLog(const std::string& folder, DurableAssociations& counter, uint64_t associators,
                uint64_t keys, size_t batch, size_t writes) {
  PairNumbers random(associators, keys);
  std::vector<Id> ids(2 * batch);
  const double before = FileBytes(folder, ".log");
  const double start = Now();
  for (size_t done = 0; done < writes; done += batch) {
    std::vector<AssociationIncrement> items;
    for (size_t i = 0; i < batch; ++i) {
      const auto [associator, key] = random.Next();
      ids[2 * i] = AssociatorId(associator);
      ids[2 * i + 1] = KeyId(associator, key, keys);
      items.push_back({ids[2 * i].view(), ids[2 * i + 1].view(), 1});
    }
    Check(counter.IncrementBatch(items, nullptr).status());
  }
  const double seconds = Now() - start;
  std::printf("log_bytes_per_increment_batch%zu %.1f\n", batch,
              (FileBytes(folder, ".log") - before) / static_cast<double>(writes));
  std::printf("durable_batch%zu_per_second %.0f\n", batch, static_cast<double>(writes) / seconds);
}

}  // namespace

int MeasureDurable(const char* folder, uint64_t associators, uint64_t keys) {
  const auto pairs = static_cast<double>(associators * keys);
  {
    const Opened filled = Open(folder, Durability::kNone);
    Fill(*filled.counter, associators, keys);
    const double start = Now();
    Check(filled.counter->Checkpoint());
    std::printf("checkpoint_seconds %.2f\n", Now() - start);
  }
  // While it is closed: files that are being merged would count twice. What is not in a table yet
  // stands in the log of the database.
  std::printf("store_bytes_per_pair %.2f\n",
              (FileBytes(folder, ".sst") + FileBytes(folder, ".log")) / pairs);
  {
    const double start = Now();
    const Opened opened = Open(folder, Durability::kInterval);
    Check(opened.counter->Top(AssociatorId(associators / 2).view(), 20).status());
    std::printf("restart_to_first_answer_seconds %.3f\n", Now() - start);
    constexpr size_t kWrites = 512000;
    MeasureLog(folder, *opened.counter, associators, keys, kBatch, kWrites);
    MeasureLog(folder, *opened.counter, associators, keys, 1, kWrites / 10);
  }
  const double start = Now();
  const Opened opened = Open(folder, Durability::kInterval);
  Check(opened.counter->Top(AssociatorId(associators / 2).view(), 20).status());
  std::printf("restart_with_log_seconds %.3f\n", Now() - start);
  std::printf("log_changes_replayed %.0f\n", static_cast<double>(opened.counter->LogChanges()));
  return 0;
}

}  // namespace escalona::bench

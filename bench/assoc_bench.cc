// The engine's figures: increments per second, bytes per pair, flatness over the list length.
//   assoc_bench increments ASSOCIATORS KEYS    random increments on ASSOCIATORS x KEYS pairs
//   assoc_bench flat                           cost per increment from 10 to 10^6 keys per
//   associator
//   assoc_bench work KEYS WRITES              nothing but writes, to be run under valgrind
//   assoc_bench durable NEW-FOLDER ASSOCIATORS KEYS  bytes on disk and in the log, restart
// Each figure is one line "name value"; bench/assoc.py sets them beside Redis.
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assoc_ids.h"
#include "durable_figures.h"
#include "escalona/associations.h"
#include "heap.h"
#include "redis_peer.h"

namespace escalona {
namespace {

using bench::Id;
using bench::PairNumbers;

double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

class Load {
 public:
  Load(uint64_t associators, uint64_t keys)
      : associators_(associators), keys_(keys), random_(associators, keys) {}

  void Fill(AssociationCounter& counter) {
    // Key by key, as lists grow in life, not associator by associator.
    for (uint64_t key = 0; key < keys_; ++key) {
      for (uint64_t associator = 0; associator < associators_; ++associator) {
        Put(counter, associator, key);
      }
    }
    Flush(counter);
  }

  // CPU seconds per increment of random pairs, less those of making up the pairs.
  double Random(AssociationCounter& counter, uint64_t writes, bool batched) {
    const double start = CpuSeconds();
    for (uint64_t i = 0; i < writes; ++i) {
      const auto [associator, key] = random_.Next();
      if (batched) {
        Put(counter, associator, key);
      } else {
        const Id associator_id = bench::AssociatorId(associator);
        const Id key_id = KeyId(associator, key);
        if (!counter.Increment(associator_id.view(), key_id.view()).ok()) std::abort();
      }
    }
    Flush(counter);
    return (CpuSeconds() - start) / static_cast<double>(writes);
  }

 private:
  static constexpr size_t kBatch = 64;

  Id KeyId(uint64_t associator, uint64_t key) const { return bench::KeyId(associator, key, keys_); }

  void Put(AssociationCounter& counter, uint64_t associator, uint64_t key) {
    associator_ids_[size_] = bench::AssociatorId(associator);
    key_ids_[size_] = KeyId(associator, key);
    if (++size_ == kBatch) Flush(counter);
  }
  void Flush(AssociationCounter& counter) {
    AssociationIncrement items[kBatch];
    for (size_t i = 0; i < size_; ++i) {
      items[i] = {associator_ids_[i].view(), key_ids_[i].view(), 1};
    }
    if (counter.IncrementBatch({items, size_}, nullptr) != size_) std::abort();
    size_ = 0;
  }

  uint64_t associators_;
  uint64_t keys_;
  PairNumbers random_;
  size_t size_ = 0;
  Id associator_ids_[kBatch];
  Id key_ids_[kBatch];
};

void MeasureIncrements(uint64_t associators, uint64_t keys) {
  const auto pairs = static_cast<double>(associators * keys);
  const size_t before = HeapBytes();
  AssociationCounter counter;
  Load load(associators, keys);
  double start = CpuSeconds();
  load.Fill(counter);
  std::printf("fill_per_second %.0f\n", pairs / (CpuSeconds() - start));
  const auto per_pair = [&] { return static_cast<double>(HeapBytes() - before) / pairs; };
  std::printf("bytes_per_pair_filled %.2f\n", per_pair());
  constexpr uint64_t kWrites = 5000000;
  constexpr int kRuns = 3;
  for (const bool batched : {true, false}) {
    std::vector<double> costs;
    for (int run = 0; run < kRuns; ++run) costs.push_back(load.Random(counter, kWrites, batched));
    std::sort(costs.begin(), costs.end());
    std::printf("%s_per_second %.0f\n", batched ? "batch64" : "single", 1 / costs[kRuns / 2]);
  }
  std::printf("bytes_per_pair_after_traffic %.2f\n", per_pair());
  std::printf("bytes_per_pair_by_own_account %.2f\n",
              static_cast<double>(counter.MemoryBytes()) / pairs);
}

// 10^6 pairs in all at every length, so that the cache holds the same share of each; the lengths
// take turns, so that a busy moment of the machine meets all of them.
void MeasureFlatness() {
  constexpr uint64_t kPairs = 1000000;
  constexpr int kRuns = 7;
  struct Length {
    explicit Length(uint64_t length) : keys(length), load(kPairs / length, length) {
      load.Fill(counter);
    }
    uint64_t keys;
    Load load;
    AssociationCounter counter;
    std::vector<double> batch;
    std::vector<double> single;
  };
  std::vector<std::unique_ptr<Length>> lengths;
  for (uint64_t keys = 10; keys <= kPairs; keys *= 10) {
    lengths.push_back(std::make_unique<Length>(keys));
  }
  for (int run = 0; run < kRuns; ++run) {
    for (auto& length : lengths) {
      length->batch.push_back(length->load.Random(length->counter, kPairs / 2, true));
      length->single.push_back(length->load.Random(length->counter, kPairs / 2, false));
    }
  }
  for (auto& length : lengths) {
    std::sort(length->batch.begin(), length->batch.end());
    std::sort(length->single.begin(), length->single.end());
    std::printf("keys_%llu batch_ns %.0f single_ns %.0f\n",
                static_cast<unsigned long long>(length->keys), length->batch[kRuns / 2] * 1e9,
                length->single[kRuns / 2] * 1e9);
  }
}

// For an instruction counter: the difference of two runs is the work of the increments.
void Work(uint64_t keys, uint64_t writes) {
  AssociationCounter counter;
  Load load(std::max<uint64_t>(100000 / keys, 1), keys);
  load.Fill(counter);
  load.Random(counter, 3 * 100000, true);
  load.Random(counter, writes, true);
}

}  // namespace
}  // namespace escalona

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "increments") == 0) {
    escalona::MeasureIncrements(std::strtoull(argv[2], nullptr, 10),
                                std::strtoull(argv[3], nullptr, 10));
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "flat") == 0) {
    escalona::MeasureFlatness();
    return 0;
  }
  if (argc == 4 && std::strcmp(argv[1], "work") == 0) {
    escalona::Work(std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10));
    return 0;
  }
  if (argc == 6 && std::strcmp(argv[1], "redis") == 0) {
    return escalona::bench::MeasureRedis(argv[2], std::atoi(argv[3]),
                                         std::strtoull(argv[4], nullptr, 10),
                                         std::strtoull(argv[5], nullptr, 10));
  }
  if (argc == 5 && std::strcmp(argv[1], "durable") == 0) {
    return escalona::bench::MeasureDurable(argv[2], std::strtoull(argv[3], nullptr, 10),
                                           std::strtoull(argv[4], nullptr, 10));
  }
  std::fprintf(stderr,
               "usage: assoc_bench increments ASSOCIATORS KEYS | assoc_bench flat | assoc_bench "
               "work KEYS WRITES |\n"
               "       assoc_bench redis SOCKET PID ASSOCIATORS KEYS |\n"
               "       assoc_bench durable NEW-FOLDER ASSOCIATORS KEYS\n");
  return 2;
}

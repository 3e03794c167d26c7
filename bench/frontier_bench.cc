// The embedded frontier: how fast it takes URLs in and hands them out, what it needs.
//
//   frontier_bench put [MILLIONS] [THREADS]   new URLs, then the same again; disk; default 20, 1
//   frontier_bench get                        latency with 1 k and with 1 M waiting queues
//   frontier_bench queues                     memory per idle queue
//   frontier_bench restart [MILLIONS]         kill -9, then opening; default 10, 20 URLs per queue
//
// URLs of 60 bytes, batches of 256, kInterval, memory budget 1 GiB. The floor of a put is the store
// alone, taking one key and value of the same size per URL. Processor time is that of the calling
// threads and does not count RocksDB's own; it tells more than time where the machine is shared.
// Files stand in $ESCALONA_BENCH_DIR or the usual temporary folder.
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "escalona/frontier.h"
#include "heap.h"
#include "store/store.h"

namespace escalona {
namespace {

constexpr size_t kBatch = 256;
constexpr size_t kUrlBytes = 60;

class Folder {
 public:
  Folder() {
    const char* const given = std::getenv("ESCALONA_BENCH_DIR");
    const std::filesystem::path parent =
        given != nullptr ? std::filesystem::path(given) : std::filesystem::temp_directory_path();
    std::string name = (parent / "escalona-bench-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

double Seconds(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Time, and processor time of the calling thread, since it was made.
class Watch {
 public:
  double wall() const { return Seconds(CLOCK_MONOTONIC) - wall_; }
  double cpu() const { return Seconds(CLOCK_THREAD_CPUTIME_ID) - cpu_; }

 private:
  double wall_ = Seconds(CLOCK_MONOTONIC);
  double cpu_ = Seconds(CLOCK_THREAD_CPUTIME_ID);
};

double ResidentMb() {
  long pages = 0;
  if (FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return static_cast<double>(pages) * 4096 / 1e6;
}

// A batch of 256 URLs: a page has links to a few hosts, most of them to its own.
class Urls {
 public:
  explicit Urls(uint64_t queues) : queues_(queues) {
    texts_.resize(kBatch);
    items_.resize(kBatch);
  }
  // The batch of this number; the same number, the same URLs.
  const std::vector<FrontierPut>& Batch(uint64_t number) {
    for (size_t i = 0; i < kBatch; ++i) {
      const uint64_t id = number * kBatch + i;
      const uint64_t host = (number * 2654435761U + (i / 16) * 40503U) % queues_;
      char text[128];
      std::snprintf(text, sizeof(text), "http://www.host%07lu.example/%02lx/page-%010lu", host,
                    id * 0x9E3779B9 >> 24 & 0xFF, id * 7919 % 10000000019U);
      texts_[i] = text;
      texts_[i].resize(kUrlBytes, 'x');
      items_[i].url = texts_[i];
    }
    return items_;
  }

 private:
  const uint64_t queues_;
  std::vector<std::string> texts_;
  std::vector<FrontierPut> items_;
};

std::unique_ptr<Frontier> MustOpen(const std::string& path, const Clock& clock) {
  auto opened = Frontier::Open(path, {}, clock);
  if (!opened.ok()) {
    std::fprintf(stderr, "%s\n", opened.status().ToString().c_str());
    std::exit(2);
  }
  return *std::move(opened);
}

void CountOk(const std::vector<PutStatus>& statuses, PutStatus wanted, uint64_t& wrong) {
  for (PutStatus status : statuses) wrong += status == wanted ? 0 : 1;
}

struct Rates {
  double wall = 0;
  double cpu = 0;
};

// Batches [first, last) on `threads` threads.
Rates PutRange(Frontier& frontier, uint64_t queues, uint64_t first, uint64_t last, unsigned threads,
               PutStatus expected) {
  std::vector<std::thread> workers;
  std::vector<double> cpu(threads);
  std::vector<double> wall(threads);
  std::vector<uint64_t> wrong(threads);
  for (unsigned t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      Urls urls(queues);
      for (uint64_t b = first + t; b < last; b += threads) {
        const std::vector<FrontierPut>& batch = urls.Batch(b);
        const Watch watch;
        const std::vector<PutStatus> statuses = frontier.Put(batch);
        cpu[t] += watch.cpu();
        wall[t] += watch.wall();
        CountOk(statuses, expected, wrong[t]);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  const double count = static_cast<double>((last - first) * kBatch);
  double total = 0;
  for (unsigned t = 0; t < threads; ++t) {
    total += cpu[t];
    if (wrong[t] > 0) std::printf("WRONG: %lu statuses\n", wrong[t]);
  }
  return {count / *std::max_element(wall.begin(), wall.end()), count / total};
}

double StoreFloor(uint64_t urls, uint64_t queues) {
  const Folder folder;
  auto store = store::OpenRocksStore(folder.path());
  Urls source(queues);
  double cpu = 0;
  for (uint64_t b = 0; b < urls / kBatch; ++b) {
    const std::vector<FrontierPut>& items = source.Batch(b);
    const Watch watch;
    store::Batch batch;
    for (const FrontierPut& item : items) batch.Put(item.url, item.url.substr(0, 16));
    if (!(*store)->Write(batch, store::Reach::kOs).ok()) std::exit(2);
    cpu += watch.cpu();
  }
  return static_cast<double>(urls / kBatch * kBatch) / cpu;
}

int Put(uint64_t millions, unsigned threads) {
  const Folder folder;
  const SystemClock clock;
  const uint64_t queues = 100'000;
  const double floor = StoreFloor(1'000'000, queues);
  std::printf("floor: the store alone, one key per URL    %8.0f k/s of processor time\n",
              floor / 1e3);
  auto frontier = MustOpen(folder.path(), clock);
  const uint64_t per_million = 1'000'000 / kBatch;
  Rates first;
  for (uint64_t m = 0; m < millions; ++m) {
    const Rates rates = PutRange(*frontier, queues, m * per_million, (m + 1) * per_million, threads,
                                 PutStatus::kOk);
    if (m == 0) first = rates;
    if (m == 0 || m + 1 == millions || (m + 1) % 5 == 0) {
      std::printf(
          "new, million %2lu: %8.0f k/s, %8.0f k/s of processor time; to the first %.2f, "
          "%.2f; resident %.0f MB\n",
          m + 1, rates.wall / 1e3, rates.cpu / 1e3, rates.wall / first.wall, rates.cpu / first.cpu,
          ResidentMb());
      std::fflush(stdout);
    }
  }
  const Rates known = PutRange(*frontier, queues, 0, per_million, threads, PutStatus::kSkipped);
  std::printf("known ones:      %8.0f k/s, %8.0f k/s of processor time\n", known.wall / 1e3,
              known.cpu / 1e3);
  frontier.reset();
  {
    auto store = store::OpenRocksStore(folder.path(), {.compress = true, .create = false});
    const Watch watch;
    if (!(*store)->Compact().ok()) return 2;
    std::printf("compacted in %.1f s: %.1f bytes per URL on disk\n", watch.wall(),
                static_cast<double>((*store)->Bytes()) /
                    static_cast<double>(millions * per_million * kBatch));
  }
  return 0;
}

// The median and the 99th of a hundred of a Get for 10 queues x 10 URLs.
void GetWith(uint64_t waiting, std::vector<double>& medians) {
  const Folder folder;
  VirtualClock clock(absl::FromUnixSeconds(1'700'000'000));
  auto frontier = MustOpen(folder.path(), clock);
  std::vector<std::string> texts(kBatch);
  std::vector<FrontierPut> items(kBatch);
  for (uint64_t q = 0; q < waiting; q += kBatch) {
    for (size_t i = 0; i < kBatch; ++i) {
      texts[i] = "http://wait" + std::to_string(q + i) + ".example/";
      items[i] = {.url = texts[i],
                  .kind = PutKind::kScheduled,
                  .date = absl::FromUnixSeconds(1'800'000'000 + static_cast<int64_t>(q + i))};
    }
    frontier->Put(items);
  }
  constexpr size_t kServed = 1000;
  for (size_t q = 0; q < kServed; ++q) {
    for (size_t i = 0; i < kBatch; ++i) {
      texts[i] = "http://serve" + std::to_string(q) + ".example/page" + std::to_string(i);
      items[i] = {.url = texts[i]};
    }
    frontier->Put(items);
  }
  std::vector<double> times;
  for (int i = 0; i < 2000; ++i) {
    clock.Advance(absl::Milliseconds(10));
    std::vector<std::string> urls;
    const Watch watch;
    const auto got =
        frontier->Get({.max_urls_per_queue = 10, .max_queues = 10, .lease = absl::Seconds(1000)},
                      [&](const LeasedUrl& url) { urls.emplace_back(url.url); });
    times.push_back(watch.cpu());
    if (!got.ok() || *got != 100) {
      std::printf("WRONG: %lu URLs\n", got.ok() ? *got : 0);
      return;
    }
    std::vector<FrontierPut> done(urls.size());
    for (size_t u = 0; u < urls.size(); ++u) {
      done[u] = {.url = urls[u], .kind = PutKind::kCompleted};
    }
    frontier->Put(done);
  }
  std::sort(times.begin(), times.end());
  medians.push_back(times[times.size() / 2]);
  std::printf(
      "get of 10 x 10 with %7lu waiting queues: median %.0f us, 99 of 100 within %.0f us of "
      "processor time\n",
      waiting, times[times.size() / 2] * 1e6, times[times.size() * 99 / 100] * 1e6);
}

int Get() {
  std::vector<double> medians;
  for (int round = 0; round < 2; ++round) {
    GetWith(1024, medians);
    GetWith(1024 * 1024, medians);
  }
  std::printf("ratio %.2f, %.2f\n", medians[1] / medians[0], medians[3] / medians[2]);
  return 0;
}

int Queues() {
  const Folder folder;
  const SystemClock clock;
  auto frontier = MustOpen(folder.path(), clock);
  const uint64_t count = 1'000'000;
  std::vector<std::string> texts(kBatch);
  std::vector<FrontierPut> items(kBatch);
  const auto complete = [&](uint64_t from, uint64_t to) {
    for (uint64_t q = from; q < to; q += kBatch) {
      for (size_t i = 0; i < kBatch; ++i) {
        texts[i] = "http://www.idle" + std::to_string(q + i) + ".example.org/";
        items[i] = {.url = texts[i], .kind = PutKind::kCompleted};
      }
      frontier->Put(items);
    }
  };
  complete(0, kBatch);
  const auto used = [] { return static_cast<double>(HeapBytes()); };
  frontier.reset();
  frontier = MustOpen(folder.path(), clock);
  const double before = used();
  complete(kBatch, count);
  frontier.reset();
  // Into tables: what the store would read back into its write buffers is not memory of queues.
  if (!(*store::OpenRocksStore(folder.path(), {.create = false}))->Compact().ok()) return 2;
  const double closed = used();
  frontier = MustOpen(folder.path(), clock);
  std::printf(
      "memory per idle queue, after opening: %.0f bytes (%.0f MB, %.0f MB before, %.0f closed)\n",
      (used() - before) / static_cast<double>(count), used() / 1e6, before / 1e6, closed / 1e6);
  return 0;
}

int Restart(uint64_t millions) {
  const Folder folder;
  const SystemClock clock;
  const uint64_t urls = millions * 1'000'000;
  const pid_t child = fork();
  if (child == 0) {
    auto frontier = MustOpen(folder.path(), clock);
    PutRange(*frontier, urls / 20, 0, urls / kBatch, 1, PutStatus::kOk);
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const Watch watch;
  auto frontier = MustOpen(folder.path(), clock);
  const double opened = watch.wall();
  const auto got =
      frontier->Get({.max_urls_per_queue = 10, .max_queues = 10}, [](const LeasedUrl&) {});
  const double served = watch.wall();
  const FrontierStats stats = frontier->Stats(std::nullopt, std::nullopt);
  std::printf(
      "after kill -9 with %lu URLs in %lu queues: open in %.2f s (%.2f s of this thread), "
      "%lu URLs served after %.2f s\n",
      stats.scheduled, stats.queues, opened, watch.cpu(), got.ok() ? *got : 0, served);
  return 0;
}

int Main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const auto number = [&](int i, uint64_t usual) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : usual;
  };
  if (what == "put") return Put(number(2, 20), static_cast<unsigned>(number(3, 1)));
  if (what == "get") return Get();
  if (what == "queues") return Queues();
  if (what == "restart") return Restart(number(2, 10));
  std::fprintf(stderr, "frontier_bench put|get|queues|restart\n");
  return 2;
}

}  // namespace
}  // namespace escalona

int main(int argc, char** argv) { return escalona::Main(argc, argv); }

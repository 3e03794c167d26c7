// Processes that are killed while they flush and compact: their store is never taken for a damaged
// one, and has all that was written. A disk that is full kills none.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "store/kept_files.h"
#include "store/store.h"

namespace escalona::store {
namespace {

struct Progress {  // shared by the processes
  std::atomic<uint64_t> began = 0;
  std::atomic<uint64_t> written = 0;
};

constexpr uint64_t kKeys = 20'000;  // then they are written anew, so that tables go away
constexpr int kOpen = 1;
constexpr int kLost = 2;

// Small buffers: tables and logs come and go all the time.
RocksOptions SmallBuffers() { return {.cache_bytes = 1 << 20, .write_buffer_bytes = 256 << 10}; }

std::string KeyOf(uint64_t number) { return "key" + std::to_string(number % kKeys); }

// The last kKeys numbers are there; the one under way may be.
bool HasAll(Store& store, const Progress& progress) {
  const uint64_t written = progress.written;
  for (uint64_t i = written < kKeys ? 0 : written - kKeys + 1; i < written; ++i) {
    const auto value = store.Get(KeyOf(i));
    if (!value.ok() || !*value || std::strtoull((*value)->c_str(), nullptr, 10) < i) return false;
  }
  return true;
}

// Looks at what is there, then writes until it is killed. Runs in a process of its own: RocksDB's
// threads do not survive a fork.
int CheckAndWrite(const std::string& path, Progress& progress) {
  auto store = OpenRocksStore(path, SmallBuffers());
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", store.status().ToString().c_str());
    return kOpen;
  }
  if (!HasAll(**store, progress)) return kLost;
  progress.began++;
  for (uint64_t i = progress.written;; ++i) {
    Batch batch;
    batch.Put(KeyOf(i), std::to_string(i) + std::string(i % 1500, ' '));
    if (!(*store)->Write(batch, i % 1000 == 0 ? Reach::kDisk : Reach::kOs).ok()) return kLost;
    progress.written = i + 1;
  }
}

TEST(StoreKillTest, WhatAKilledProcessLeavesIsOpenedAndWhole) {
  std::string path = (std::filesystem::temp_directory_path() / "escalona-XXXXXX").string();
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  void* const shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& progress = *new (shared) Progress;
  std::mt19937 random(5);
  const char* const rounds = std::getenv("ESCALONA_KILL_ROUNDS");  // NOLINT(concurrency-mt-unsafe)
  const uint64_t turns = rounds != nullptr ? std::strtoull(rounds, nullptr, 10) : 25;
  for (uint64_t turn = 0; turn < turns; ++turn) {
    const uint64_t began = progress.began;
    const pid_t child = fork();
    if (child == 0) _exit(CheckAndWrite(path, progress));
    // Some are killed while they open.
    const bool opens = random() % 4 != 0;
    for (int i = 0; opens && progress.began == began && i < 10'000; ++i) usleep(1000);
    usleep(random() % 100'000);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "turn " << turn << " ended with " << WEXITSTATUS(status);
  }
  EXPECT_GT(progress.written, 1000u);
  munmap(shared, sizeof(Progress));
  std::filesystem::remove_all(path);
}

int WriteALittle(const std::string& path) {
  auto store = OpenRocksStore(path);
  Batch batch;
  batch.Put("key", "value");
  if (!store.ok() || !(*store)->Write(batch, Reach::kOs).ok()) return kOpen;
  (void)store->release();  // it is never closed
  return 0;
}

// The note says of every log how much of it has reached the disk.
int OpenAndReadNote(const std::string& path) {
  auto store = OpenRocksStore(path);
  if (!store.ok()) return kOpen;
  const FileNote note = FileNote::Read(path).value();
  bool has_value = false;
  for (const auto& [log, bytes] : note.logs) {
    if (bytes != std::filesystem::file_size(path + "/" + log)) return kLost;
    has_value = has_value || bytes > 0;
  }
  return has_value ? 0 : kLost;
}

// Else a later Sync would say that all is on the disk, and it would not.
TEST(StoreKillTest, LogsThatAKilledProcessLeftHaveReachedTheDiskWhenTheyAreOpened) {
  std::string path = (std::filesystem::temp_directory_path() / "escalona-XXXXXX").string();
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  for (const auto part : {WriteALittle, OpenAndReadNote}) {
    const pid_t child = fork();
    if (child == 0) _exit(part(path));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::filesystem::remove_all(path);
}

// Many write until one of them fails, then one syncs.
int WriteUntilFull(const std::string& path) {
  auto store = OpenRocksStore(path);
  if (!store.ok()) return kOpen;
  signal(SIGXFSZ, SIG_IGN);
  const rlimit full = {100'000, 100'000};  // of each file
  setrlimit(RLIMIT_FSIZE, &full);
  std::atomic<bool> failed = false;
  std::vector<std::thread> writers;
  for (uint64_t i = 0; i < 16; ++i) {
    writers.emplace_back([&store, &failed, i] {
      Batch batch;
      batch.Put(KeyOf(i), std::string(200, 'x'));
      while (!failed) {
        if (!(*store)->Write(batch, Reach::kOs).ok()) failed = true;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  _exit((*store)->Sync().ok() ? kLost : 0);
}

// One that succeeded just before the others failed may be the last to return.
TEST(StoreKillTest, ASyncAfterAFailedWriteIsRefused) {
  std::string path = (std::filesystem::temp_directory_path() / "escalona-XXXXXX").string();
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  for (int turn = 0; turn < 20; ++turn) {
    const pid_t child = fork();
    if (child == 0) _exit(WriteUntilFull(path + "/" + std::to_string(turn)));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "turn " << turn;
  }
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace escalona::store

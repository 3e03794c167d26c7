// What tests of the frontier share: a folder, a clock, short ways to put and get.
#ifndef ESCALONA_TESTS_FRONTIER_FRONTIER_FIXTURE_H_
#define ESCALONA_TESTS_FRONTIER_FRONTIER_FIXTURE_H_

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "escalona/frontier.h"
#include "gtest/gtest.h"

namespace escalona {

class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "escalona-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// On a store in memory, and on RocksDB.
class FrontierFixture : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr int64_t kStart = 1'700'000'000;  // seconds

  void Open(const FrontierOptions& options = {}) {
    frontier_.reset();
    options_ = options;
    if (!GetParam()) {
      frontier_ = Frontier::OpenInMemory(options, clock_);
      return;
    }
    auto opened = Frontier::Open(folder_.path(), options, clock_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    frontier_ = *std::move(opened);
  }
  // Where there is something to come back to.
  void Reopen() {
    if (GetParam()) Open(options_);
  }

  PutStatus Put(const FrontierPut& item) { return frontier_->Put({&item, 1})[0]; }
  PutStatus Discover(std::string_view url, std::string_view key = {}) {
    return Put({.url = url, .key = key});
  }
  PutStatus Schedule(std::string_view url, int64_t date, std::string_view key = {}) {
    return Put(
        {.url = url, .key = key, .kind = PutKind::kScheduled, .date = absl::FromUnixSeconds(date)});
  }
  PutStatus Complete(std::string_view url, std::string_view key = {}) {
    return Put({.url = url, .key = key, .kind = PutKind::kCompleted});
  }
  std::vector<std::string> Get(const GetRequest& request) {
    std::vector<std::string> urls;
    leases_.clear();
    const auto count = frontier_->Get(request, [&](const LeasedUrl& url) {
      urls.emplace_back(url.url);
      leases_.push_back(url.lease);
    });
    EXPECT_TRUE(count.ok()) << count.status();
    return urls;
  }
  // One URL of each queue.
  std::vector<std::string> GetAll(uint32_t max_urls = 1) {
    return Get({.max_urls_per_queue = max_urls});
  }
  FrontierStats Stats(std::string_view crawl = "") {
    return frontier_->Stats(std::string(crawl), std::nullopt);
  }
  void Wait(absl::Duration time) { clock_.Advance(time); }

  TestFolder folder_;
  VirtualClock clock_{absl::FromUnixSeconds(kStart)};
  FrontierOptions options_;
  std::unique_ptr<Frontier> frontier_;
  std::vector<uint64_t> leases_;  // of the last Get
};

inline std::string StoreName(const ::testing::TestParamInfo<bool>& kind) {
  return kind.param ? "RocksDb" : "Memory";
}

}  // namespace escalona

#endif  // ESCALONA_TESTS_FRONTIER_FRONTIER_FIXTURE_H_

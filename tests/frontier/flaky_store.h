// A store in memory that fails when it is told to.
#ifndef ESCALONA_TESTS_FRONTIER_FLAKY_STORE_H_
#define ESCALONA_TESTS_FRONTIER_FLAKY_STORE_H_

#include <atomic>
#include <memory>

#include "store/store.h"

namespace escalona {

struct Failures {
  std::atomic<bool> next_write = false;
  std::atomic<bool> next_scan = false;
  std::atomic<bool> next_read = false;
};

class FlakyStore final : public store::Store {
 public:
  explicit FlakyStore(Failures& failures) : failures_(failures) {}

  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) override {
    if (failures_.next_read.exchange(false)) return absl::InternalError("told to fail");
    return store_->Get(key);
  }
  absl::Status Write(const store::Batch& batch, store::Reach reach) override {
    if (failures_.next_write.exchange(false)) return absl::InternalError("told to fail");
    return store_->Write(batch, reach);
  }
  absl::Status Scan(std::string_view begin, std::string_view end,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    return store_->Scan(begin, end, visit);
  }
  absl::Status ScanFirst(
      std::string_view begin, std::string_view end, uint64_t limit,
      absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    if (failures_.next_scan.exchange(false)) return absl::InternalError("told to fail");
    return store_->ScanFirst(begin, end, limit, visit);
  }
  absl::Status Sync() override { return store_->Sync(); }

 private:
  Failures& failures_;
  const std::unique_ptr<store::Store> store_ = store::NewMemoryStore();
};

}  // namespace escalona

#endif  // ESCALONA_TESTS_FRONTIER_FLAKY_STORE_H_

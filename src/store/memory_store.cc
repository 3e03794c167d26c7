// A store in memory.
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "store/store.h"

namespace escalona::store {
namespace {

class MemoryStore : public Store {
 public:
  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = map_.find(key);
    if (found == map_.end()) return std::optional<std::string>();
    return std::optional<std::string>(found->second);
  }

  absl::Status Write(const Batch& batch, Reach) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    batch.ForEach([this](const Batch::Change& change) {
      switch (change.kind) {
        case Batch::Kind::kPut:
          map_.insert_or_assign(std::string(change.key), change.value);
          break;
        case Batch::Kind::kDelete:
          if (const auto found = map_.find(change.key); found != map_.end()) map_.erase(found);
          break;
        case Batch::Kind::kDeleteRange:
          if (IsEmptyRange(change.key, change.value)) break;
          map_.erase(map_.lower_bound(change.key), End(change.value));
          break;
      }
      return true;
    });
    return absl::OkStatus();
  }

  absl::Status Scan(std::string_view begin, std::string_view end,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    return ScanFirst(begin, end, std::numeric_limits<uint64_t>::max(), visit);
  }

  absl::Status ScanFirst(
      std::string_view begin, std::string_view end, uint64_t limit,
      absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    std::vector<std::pair<std::string, std::string>> moment;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (auto at = map_.lower_bound(begin); at != map_.end() && limit > 0; ++at, --limit) {
        if (!end.empty() && at->first >= end) break;
        moment.emplace_back(*at);
      }
    }
    for (const auto& [key, value] : moment) {
      if (!visit(key, value)) break;
    }
    return absl::OkStatus();
  }

  absl::Status Sync() override { return absl::OkStatus(); }

 private:
  using Map = std::map<std::string, std::string, std::less<>>;

  Map::iterator End(std::string_view end) {
    return end.empty() ? map_.end() : map_.lower_bound(end);
  }

  std::mutex mutex_;
  Map map_;
};

}  // namespace

std::unique_ptr<Store> NewMemoryStore() { return std::make_unique<MemoryStore>(); }

}  // namespace escalona::store

// A store in memory.
#include <map>
#include <mutex>

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
    for (const Batch::Change& change : batch.changes()) {
      switch (change.kind) {
        case Batch::Kind::kPut:
          map_.insert_or_assign(change.key, change.value);
          break;
        case Batch::Kind::kDelete:
          map_.erase(change.key);
          break;
        case Batch::Kind::kDeleteRange:
          map_.erase(map_.lower_bound(change.key), End(change.value));
          break;
      }
    }
    return absl::OkStatus();
  }

  absl::Status Scan(std::string_view begin, std::string_view end,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    std::map<std::string, std::string> moment;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      moment.insert(map_.lower_bound(begin), End(end));
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

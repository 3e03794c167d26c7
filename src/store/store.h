// Where durable state lives: ordered keys and values behind one narrow interface.
#ifndef ESCALONA_STORE_STORE_H_
#define ESCALONA_STORE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace escalona::store {

// Changes that happen together or not at all, in the order they were added.
class Batch {
 public:
  enum class Kind : uint8_t { kPut, kDelete, kDeleteRange };
  struct Change {  // the views are valid until the batch changes
    Kind kind;
    std::string_view key;
    std::string_view value;  // of kDeleteRange: the end, which stays
  };

  void Put(std::string_view key, std::string_view value);
  void Delete(std::string_view key);
  // All keys in [begin, end); none if the end comes first.
  void DeleteRange(std::string_view begin, std::string_view end);
  void DeletePrefix(std::string_view prefix);

  bool empty() const { return buffer_.empty(); }
  size_t bytes() const { return buffer_.size(); }
  void Clear() { buffer_.clear(); }
  // Until `visit` returns false.
  void ForEach(absl::FunctionRef<bool(const Change&)> visit) const;

 private:
  void Add(Kind kind, std::string_view key, std::string_view value);

  std::string buffer_;  // per change: kind, the two sizes, key, value
};

// kOs: the write survives the end of the process, not that of the machine. kDisk: it survives both.
enum class Reach : uint8_t { kOs, kDisk };

// Thread-safe. Keys are ordered by their bytes. A failed Write has changed nothing that a reader
// sees; after a crash, what is found is what the writes left up to some moment, in their order, and
// all that were written with kDisk, or before a Sync that succeeded, are among them.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  // Nothing for an unknown key.
  [[nodiscard]] virtual absl::StatusOr<std::optional<std::string>> Get(std::string_view key) = 0;
  [[nodiscard]] virtual absl::Status Write(const Batch& batch, Reach reach) = 0;
  // Calls `visit` for each key in [begin, end) in order until it returns false, as of one moment.
  // The views are valid during the call.
  [[nodiscard]] virtual absl::Status Scan(
      std::string_view begin, std::string_view end,
      absl::FunctionRef<bool(std::string_view key, std::string_view value)> visit) = 0;
  // The same for the first keys of the range only, at most `limit`, and for a reader that will come
  // back: what was read stays in the cache.
  [[nodiscard]] virtual absl::Status ScanFirst(
      std::string_view begin, std::string_view end, uint64_t limit,
      absl::FunctionRef<bool(std::string_view key, std::string_view value)> visit);
  // Calls `visit` once for each key, with its place in `keys`; nothing for an unknown key.
  [[nodiscard]] virtual absl::Status MultiGet(
      std::span<const std::string_view> keys,
      absl::FunctionRef<void(size_t place, std::optional<std::string_view> value)> visit);
  // Everything written so far is on disk when it returns OK.
  [[nodiscard]] virtual absl::Status Sync() = 0;

  // On disk, about; 0 in memory.
  virtual uint64_t Bytes() { return 0; }
  // Gives back the room of what was overwritten or deleted. Takes as long as rewriting everything.
  [[nodiscard]] virtual absl::Status Compact() { return absl::OkStatus(); }

  [[nodiscard]] absl::Status ScanPrefix(
      std::string_view prefix,
      absl::FunctionRef<bool(std::string_view key, std::string_view value)> visit);
};

// No key is in [begin, end); an empty `end` is none.
inline bool IsEmptyRange(std::string_view begin, std::string_view end) {
  return !end.empty() && begin >= end;
}

// The first key after all that begin with `prefix`; empty (no end) if there is none.
std::string EndOfPrefix(std::string_view prefix);

// Keeps everything in memory: for tests, and for a server that is told to forget.
std::unique_ptr<Store> NewMemoryStore();

struct RocksOptions {
  size_t cache_bytes = 64 << 20;
  size_t write_buffer_bytes = 64 << 20;
  bool compress = false;
  // False: the folder must hold a database.
  bool create = true;
  // Changes nothing in the folder; writing fails.
  bool read_only = false;
  // After a full disk, writes succeed again once there is room for a write buffer; else once it is
  // opened again. For callers that do not count on what failed.
  bool go_on_after_full = false;
  // Is told if the end of a log could not be read, as after a crash, and was left out, and if there
  // is room again. It must not call the store.
  std::function<void(const std::string&)> warn = {};
};

// Opens the database in folder `path`, which is made if it is missing. FailedPrecondition if
// another process has it open; DataLoss if it is damaged or something of it is missing: then no
// file was deleted.
absl::StatusOr<std::unique_ptr<Store>> OpenRocksStore(const std::string& path,
                                                      const RocksOptions& options = {});
// Whether the folder holds a database, be it a damaged one.
bool HoldsRocksStore(const std::string& path);

}  // namespace escalona::store

#endif  // ESCALONA_STORE_STORE_H_

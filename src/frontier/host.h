// The known hosts: their names and queues.
#ifndef ESCALONA_FRONTIER_HOST_H_
#define ESCALONA_FRONTIER_HOST_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/block_supply.h"
#include "frontier/host_queue.h"

namespace escalona {

// One cache line per host: a name of up to 36 bytes stands in it, a longer one elsewhere, in memory
// the caller keeps.
struct alignas(64) Host {
  static constexpr size_t kMaxInline = 36;

  explicit Host(std::string_view name) : name_size(static_cast<uint32_t>(name.size())) {
    if (name.size() <= kMaxInline) {
      std::memcpy(inline_name, name.data(), name.size());
    } else {
      const char* elsewhere = name.data();
      std::memcpy(inline_name, &elsewhere, sizeof(elsewhere));
    }
  }
  std::string_view name() const {
    if (name_size <= kMaxInline) [[likely]]
      return {inline_name, name_size};
    const char* elsewhere;
    std::memcpy(&elsewhere, inline_name, sizeof(elsewhere));
    return {elsewhere, name_size};
  }

  HostQueue queue;
  uint32_t name_size;
  char inline_name[kMaxInline];  // or where the long one begins
};
static_assert(sizeof(Host) == 64);

// Hosts by number, in blocks of 2 MiB: growing copies nothing, and touches no memory twice.
class HostTable {
 public:
  // `supply` outlives the table.
  explicit HostTable(BlockSupply& supply) : supply_(supply) {}

  size_t size() const { return size_; }
  Host& operator[](size_t i) { return *At(i); }
  const Host& operator[](size_t i) const { return *At(i); }
  Host& back() { return (*this)[size_ - 1]; }

  void Append(std::string_view name) {
    if (size_ == blocks_.size() * kBlock) blocks_.push_back(supply_.Take());
    new (At(size_)) Host(name);
    ++size_;
  }
  void RemoveLast() { --size_; }
  void Clear() {
    blocks_.clear();
    size_ = 0;
  }

 private:
  static constexpr size_t kBlock = BlockSupply::kBytes / sizeof(Host);

  Host* At(size_t i) const {
    return reinterpret_cast<Host*>(blocks_[i / kBlock].get()) + i % kBlock;
  }

  BlockSupply& supply_;
  std::vector<BlockSupply::Block> blocks_;
  size_t size_ = 0;
};
static_assert(std::is_trivially_destructible_v<Host>);

}  // namespace escalona

#endif  // ESCALONA_FRONTIER_HOST_H_

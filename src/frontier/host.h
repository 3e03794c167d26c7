// A known host: its name and its queue.
#ifndef ESCALONA_FRONTIER_HOST_H_
#define ESCALONA_FRONTIER_HOST_H_

#include <cstdint>
#include <cstring>
#include <string_view>

#include "frontier/host_queue.h"

namespace escalona {

// One cache line per host: a name of up to 48 bytes stands in it, a longer one elsewhere, in memory
// the caller keeps.
struct alignas(64) Host {
  static constexpr size_t kMaxInline = 48;

  explicit Host(std::string_view name) : name_size(static_cast<uint32_t>(name.size())) {
    if (name.size() <= kMaxInline) {
      std::memcpy(inline_name, name.data(), name.size());
    } else {
      long_name = name.data();
    }
  }
  std::string_view name() const {
    return {name_size <= kMaxInline ? inline_name : long_name, name_size};
  }

  HostQueue queue;
  uint32_t name_size;
  union {
    char inline_name[kMaxInline];
    const char* long_name;
  };
};
static_assert(sizeof(Host) == 64);

}  // namespace escalona

#endif  // ESCALONA_FRONTIER_HOST_H_

// Counting pages per server and placing them.
#include "revisit/page_order.h"

#include <algorithm>

#include "revisit/parallel.h"

namespace escalona::revisit {
namespace {

// Parts are few, because each keeps a counter per server.
constexpr size_t kParts = 8;

struct Part {
  size_t begin, end;
  bool sorted = true;
  std::vector<uint32_t> count;
};

void CountPart(std::span<const uint32_t> server, size_t servers, Part& part) {
  part.count.assign(servers, 0);
  uint32_t last = 0;
  for (size_t i = part.begin; i < part.end; ++i) {
    const uint32_t s = server[i];
    part.sorted &= s >= last;
    last = s;
    ++part.count[s];
  }
}

}  // namespace

PageOrder::PageOrder(std::span<const uint32_t> server, size_t pages, size_t servers, int threads)
    : pages_(pages), begin_(servers + 1, 0) {
  if (server.empty()) {
    std::fill(begin_.begin() + 1, begin_.end(), pages);
    return;
  }
  const size_t part_count = servers > pages / kParts ? 1 : kParts;
  std::vector<Part> parts(part_count);
  for (size_t k = 0; k < part_count; ++k) {
    parts[k].begin = pages * k / part_count;
    parts[k].end = pages * (k + 1) / part_count;
  }
  ParallelFor(threads, part_count, [&](size_t k) { CountPart(server, servers, parts[k]); });
  bool sorted = true;
  for (size_t k = 0; k < part_count; ++k) {
    sorted &= parts[k].sorted;
    if (k > 0 && parts[k].begin < pages) {
      sorted &= server[parts[k].begin - 1] <= server[parts[k].begin];
    }
  }
  size_t position = 0;
  for (size_t s = 0; s < servers; ++s) {
    begin_[s] = position;
    for (Part& part : parts) {  // a part's count becomes the place of its next page of s
      const uint32_t count = part.count[s];
      part.count[s] = static_cast<uint32_t>(position);
      position += count;
    }
  }
  begin_[servers] = position;
  if (sorted) return;
  page_ = std::make_unique_for_overwrite<uint32_t[]>(pages);
  ParallelFor(threads, part_count, [&](size_t k) {
    Part& part = parts[k];
    for (size_t i = part.begin; i < part.end; ++i) {
      page_[part.count[server[i]]++] = static_cast<uint32_t>(i);
    }
  });
}

}  // namespace escalona::revisit

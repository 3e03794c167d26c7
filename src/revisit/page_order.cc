// Counting pages per server and placing them.
#include "revisit/page_order.h"

#include <algorithm>

namespace escalona::revisit {
namespace {

constexpr size_t kParts = 8;  // few, because each keeps a counter per server

}  // namespace

void PageOrder::Count(Part& part, size_t servers) const {
  part.first.assign(servers, 0);
  uint32_t last = 0;
  for (size_t i = part.begin; i < part.end; ++i) {
    const uint32_t s = server_[i];
    part.sorted &= s >= last;
    last = s;
    ++part.first[s];
  }
}

PageOrder::PageOrder(std::span<const uint32_t> server, size_t pages, size_t servers, int threads)
    : server_(server), pages_(pages), threads_(threads), begin_(servers + 1, 0) {
  parts_.resize(servers > pages / kParts ? 1 : kParts);
  for (size_t k = 0; k < parts_.size(); ++k) {
    parts_[k].begin = pages * k / parts_.size();
    parts_[k].end = pages * (k + 1) / parts_.size();
  }
  if (server.empty()) {
    std::fill(begin_.begin() + 1, begin_.end(), pages);
    return;
  }
  ParallelFor(threads, parts_.size(), [&](size_t k) { Count(parts_[k], servers); });
  for (const Part& part : parts_) {
    sorted_ &= part.sorted;
    if (part.begin > 0 && part.begin < pages) {
      sorted_ &= server[part.begin - 1] <= server[part.begin];
    }
  }
  size_t position = 0;
  for (size_t s = 0; s < servers; ++s) {
    begin_[s] = position;
    for (Part& part : parts_) {
      const uint32_t count = part.first[s];
      part.first[s] = static_cast<uint32_t>(position);
      position += count;
    }
  }
  begin_[servers] = position;
}

void PageOrder::Permute() {
  if (sorted_ || page_ != nullptr) return;
  page_ = std::make_unique_for_overwrite<uint32_t[]>(pages_);
  ForEach([&](size_t page, size_t position) { page_[position] = static_cast<uint32_t>(page); });
}

}  // namespace escalona::revisit

// The pages of a problem in the order of their servers.
#ifndef ESCALONA_REVISIT_PAGE_ORDER_H_
#define ESCALONA_REVISIT_PAGE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "revisit/parallel.h"

namespace escalona::revisit {

// Position k in server order holds page PageAt(k); server s has the positions begin(s) to end(s),
// its pages in their given order. Built in O(pages + servers) by counting, without a sort.
class PageOrder {
 public:
  // `server` empty: all pages on server 0. Ids must be below `servers`. The array must outlive
  // this.
  PageOrder(std::span<const uint32_t> server, size_t pages, size_t servers, int threads);

  [[nodiscard]] size_t pages() const { return pages_; }
  [[nodiscard]] size_t servers() const { return begin_.size() - 1; }
  [[nodiscard]] size_t begin(size_t s) const { return begin_[s]; }
  [[nodiscard]] size_t end(size_t s) const { return begin_[s + 1]; }
  [[nodiscard]] size_t size(size_t s) const { return begin_[s + 1] - begin_[s]; }
  [[nodiscard]] size_t ServerOf(size_t page) const { return server_.empty() ? 0 : server_[page]; }

  // Calls place(page, position) for every page, each page of a server after its earlier ones, on
  // several threads.
  template <typename Place>
  void ForEach(const Place& place) const {
    ParallelFor(threads_, parts_.size(), [&](size_t k) {
      const Part& part = parts_[k];
      if (sorted_) {
        for (size_t i = part.begin; i < part.end; ++i) place(i, i);
        return;
      }
      std::vector<uint32_t> next = part.first;
      for (size_t i = part.begin; i < part.end; ++i) place(i, next[server_[i]]++);
    });
  }

  // Stores the permutation, 4 bytes per page, unless the pages already stand in server order.
  void Permute();
  // The page at a position. Only after Permute().
  [[nodiscard]] size_t PageAt(size_t position) const {
    return sorted_ ? position : page_[position];
  }

 private:
  // A run of pages, and where its first page of each server goes.
  struct Part {
    size_t begin = 0, end = 0;
    bool sorted = true;
    std::vector<uint32_t> first;
  };
  void Count(Part& part, size_t servers) const;

  std::span<const uint32_t> server_;
  size_t pages_;
  int threads_;
  bool sorted_ = true;
  std::vector<size_t> begin_;
  std::vector<Part> parts_;
  std::unique_ptr<uint32_t[]> page_;
};

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_PAGE_ORDER_H_

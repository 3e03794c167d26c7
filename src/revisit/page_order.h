// The pages of a problem in the order of their servers.
#ifndef ESCALONA_REVISIT_PAGE_ORDER_H_
#define ESCALONA_REVISIT_PAGE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace escalona::revisit {

// Position k in server order holds page PageAt(k); server s has the positions begin(s) to end(s),
// its pages in their given order. Where the pages already stand in server order the permutation is
// not stored; otherwise it takes 4 bytes per page. Built in O(pages + servers) by counting, without
// a sort.
class PageOrder {
 public:
  // `server` empty: all pages on server 0. Ids must be below `servers`.
  PageOrder(std::span<const uint32_t> server, size_t pages, size_t servers, int threads);

  [[nodiscard]] size_t pages() const { return pages_; }
  [[nodiscard]] size_t servers() const { return begin_.size() - 1; }
  [[nodiscard]] size_t begin(size_t s) const { return begin_[s]; }
  [[nodiscard]] size_t end(size_t s) const { return begin_[s + 1]; }
  [[nodiscard]] size_t size(size_t s) const { return begin_[s + 1] - begin_[s]; }
  [[nodiscard]] size_t PageAt(size_t position) const {
    return page_ == nullptr ? position : page_[position];
  }
  // The permutation, or null where it is the identity.
  [[nodiscard]] const uint32_t* permutation() const { return page_.get(); }

 private:
  size_t pages_;
  std::vector<size_t> begin_;
  std::unique_ptr<uint32_t[]> page_;
};

}  // namespace escalona::revisit

#endif  // ESCALONA_REVISIT_PAGE_ORDER_H_

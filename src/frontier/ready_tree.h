// The queues of a crawl that can be served now, in the order of its strategy.
#ifndef ESCALONA_FRONTIER_READY_TREE_H_
#define ESCALONA_FRONTIER_READY_TREE_H_

#include <compare>
#include <cstdint>

namespace escalona::frontier {

struct ReadyKey {
  uint64_t first = 0;
  uint64_t second = 0;

  friend auto operator<=>(const ReadyKey&, const ReadyKey&) = default;
};

// What stands in a tree; in at most one at a time.
struct ReadyNode {
  ReadyNode* left = nullptr;
  ReadyNode* right = nullptr;
  ReadyKey order;       // no two nodes of a tree have the same
  uint32_t weight = 0;  // decides who stands above; random
  uint32_t gate = 0;    // its live leases
  uint32_t least = 0;   // the least gate of it and what stands below
  bool in_tree = false;
  bool is_part = false;  // of a group (agenda.h), not a queue
};

// A treap, and in each node the least gate below it, so that "the first with a gate below m" is as
// fast as "the first". Invariants: keys ascend from left to right; weights fall from top to bottom;
// `least` is as said. Cost: O(log n) expected, all operations; the nodes are the caller's.
class ReadyTree {
 public:
  bool empty() const { return root_ == nullptr; }
  // The least gate of all; the largest number if there is none.
  uint32_t least() const { return root_ == nullptr ? UINT32_MAX : root_->least; }

  // Its order and gate are set and stay as they are until it is erased.
  void Insert(ReadyNode& node);
  void Erase(ReadyNode& node);
  // The first by key whose gate is below `gate`, or null.
  ReadyNode* First(uint32_t gate) const;

 private:
  static void Update(ReadyNode& node);
  static void Split(ReadyNode* tree, const ReadyKey& key, ReadyNode*& below, ReadyNode*& above);
  static ReadyNode* Join(ReadyNode* below, ReadyNode* above);

  ReadyNode* root_ = nullptr;
};

}  // namespace escalona::frontier

#endif  // ESCALONA_FRONTIER_READY_TREE_H_

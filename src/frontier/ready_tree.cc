#include "frontier/ready_tree.h"

#include <algorithm>
#include <vector>

namespace escalona::frontier {

void ReadyTree::Update(ReadyNode& node) {
  node.least = node.gate;
  if (node.left != nullptr) node.least = std::min(node.least, node.left->least);
  if (node.right != nullptr) node.least = std::min(node.least, node.right->least);
}

void ReadyTree::Split(ReadyNode* tree, const ReadyKey& key, ReadyNode*& below, ReadyNode*& above) {
  if (tree == nullptr) {
    below = above = nullptr;
    return;
  }
  if (tree->order < key) {
    Split(tree->right, key, tree->right, above);
    below = tree;
  } else {
    Split(tree->left, key, below, tree->left);
    above = tree;
  }
  Update(*tree);
}

ReadyNode* ReadyTree::Join(ReadyNode* below, ReadyNode* above) {
  if (below == nullptr) return above;
  if (above == nullptr) return below;
  if (below->weight >= above->weight) {
    below->right = Join(below->right, above);
    Update(*below);
    return below;
  }
  above->left = Join(below, above->left);
  Update(*above);
  return above;
}

void ReadyTree::Insert(ReadyNode& node) {
  ReadyNode** at = &root_;
  while (*at != nullptr && (*at)->weight >= node.weight) {
    (*at)->least = std::min((*at)->least, node.gate);
    at = node.order < (*at)->order ? &(*at)->left : &(*at)->right;
  }
  Split(*at, node.order, node.left, node.right);
  Update(node);
  node.in_tree = true;
  *at = &node;
}

void ReadyTree::Erase(ReadyNode& node) {
  // The way down, whose `least` is mended upwards afterwards.
  constexpr size_t kUsualDepth = 64;
  std::vector<ReadyNode*> way;
  way.reserve(kUsualDepth);
  ReadyNode** at = &root_;
  while (*at != &node) {
    way.push_back(*at);
    at = node.order < (*at)->order ? &(*at)->left : &(*at)->right;
  }
  *at = Join(node.left, node.right);
  std::for_each(way.rbegin(), way.rend(), [](ReadyNode* above) { Update(*above); });
  node.left = node.right = nullptr;
  node.in_tree = false;
}

ReadyNode* ReadyTree::First(uint32_t gate) const {
  ReadyNode* at = root_;
  if (at == nullptr || at->least >= gate) return nullptr;
  for (;;) {
    if (at->left != nullptr && at->left->least < gate) {
      at = at->left;
    } else if (at->gate < gate) {
      return at;
    } else {
      at = at->right;
    }
  }
}

}  // namespace escalona::frontier

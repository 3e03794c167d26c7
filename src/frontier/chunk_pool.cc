#include "frontier/chunk_pool.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace escalona {

ChunkPool::ChunkPool(BlockSupply& supply, uint64_t max_bytes)
    : supply_(supply),
      max_blocks_(std::clamp<uint64_t>(max_bytes / BlockSupply::kBytes, 1, kMaxBlocks)) {}

// The first block has ordinary pages: a few URLs should not touch a huge one.
BlockSupply::Block ChunkPool::NewBlock() {
  if (!blocks_.empty()) return supply_.Take();
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, BlockSupply::kBytes));
  if (memory == nullptr) throw std::bad_alloc();
  return BlockSupply::Block(memory);
}

ChunkPool::Reference ChunkPool::Allocate(int size) {
  if (const Reference chunk = free_[size]; chunk != kNone) {
    std::memcpy(&free_[size], At(chunk), sizeof(Reference));
    return chunk;
  }
  const auto units = static_cast<Reference>(Bytes(size) / kUnit);
  if (kBlockUnits - used_ < units) {
    if (blocks_.size() == max_blocks_) return kNone;
    blocks_.push_back(NewBlock());
    used_ = blocks_.size() == 1 ? 1 : 0;  // reference 0 stays free: it is kNone
  }
  const auto block = static_cast<Reference>(blocks_.size() - 1);
  const Reference chunk = block << kBlockBits | used_;
  used_ += units;
  return chunk;
}

void ChunkPool::Free(Reference chunk, int size) {
  std::memcpy(At(chunk), &free_[size], sizeof(Reference));
  free_[size] = chunk;
}

void ChunkPool::Clear() {
  if (blocks_.empty()) return;
  blocks_.resize(1);
  used_ = 1;
  free_ = {};
}

}  // namespace escalona

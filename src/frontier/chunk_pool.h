// Chunks of memory in a few sizes, named by 32-bit references.
#ifndef ESCALONA_FRONTIER_CHUNK_POOL_H_
#define ESCALONA_FRONTIER_CHUNK_POOL_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/block_supply.h"

namespace escalona {

// Hands out chunks of 24 bytes to 1 MiB, cut from blocks of 2 MiB. A reference counts units of
// eight bytes, so 32 bits name 32 GiB. A freed chunk is used again for its own size only.
//
// Cost: Allocate, Free and At are O(1); no memory per chunk. Sizes are 24, 32, 48, 64, 96, 128, ...
// (powers of two and the middles between them), so rounding up wastes at most a third.
class ChunkPool {
 public:
  using Reference = uint32_t;
  static constexpr Reference kNone = 0;  // no chunk; also: no chunk is left
  static constexpr size_t kUnit = 8;
  static constexpr size_t kMaxChunk = size_t{1} << 20;

  // Takes at most `max_bytes` of blocks: at least one, at most 32 GiB. `supply` outlives the pool.
  explicit ChunkPool(BlockSupply& supply, uint64_t max_bytes = UINT64_MAX);

  static constexpr int kSizes = 32;
  // Bytes of a chunk of size `size` (0 to kSizes - 1).
  static constexpr size_t Bytes(int size) {
    return (size % 2 == 0 ? size_t{24} : size_t{32}) << (size / 2);
  }
  // The smallest size with at least `bytes`, which must not exceed kMaxChunk.
  static constexpr int SizeFor(size_t bytes) {
    if (bytes <= 24) return 0;
    const int power = std::bit_width(bytes - 1) - 1;  // 2^power < bytes <= 2^(power + 1)
    return 2 * (power - 4) + (bytes <= (size_t{3} << (power - 1)) ? 0 : 1);
  }

  // kNone when all references are in use. Contents are unspecified; aligned to eight bytes.
  Reference Allocate(int size);
  void Free(Reference chunk, int size);

  // The memory at a reference: a chunk's own, or one between its ends.
  std::byte* At(Reference reference) const {
    return blocks_[reference >> kBlockBits].get() + (reference & kBlockMask) * kUnit;
  }
  void Prefetch(Reference reference) const { __builtin_prefetch(At(reference), 1); }

  // Frees every chunk and gives the memory back, but for one block.
  void Clear();

 private:
  BlockSupply::Block NewBlock();

  static constexpr int kBlockBits = 18;  // units per block: 2 MiB
  static constexpr Reference kBlockUnits = Reference{1} << kBlockBits;
  static constexpr Reference kBlockMask = kBlockUnits - 1;
  static constexpr size_t kMaxBlocks = size_t{1} << (32 - kBlockBits);
  static_assert(kBlockUnits * kUnit == BlockSupply::kBytes);

  BlockSupply& supply_;
  size_t max_blocks_;
  std::vector<BlockSupply::Block> blocks_;
  Reference used_ = kBlockUnits;  // units of the last block that are cut off
  std::array<Reference, kSizes> free_ =
      {};  // lists of free chunks, linked through their first bytes
};

static_assert(ChunkPool::Bytes(ChunkPool::kSizes - 1) == ChunkPool::kMaxChunk);
static_assert(ChunkPool::SizeFor(24) == 0 && ChunkPool::SizeFor(25) == 1);
static_assert(ChunkPool::SizeFor(32) == 1 && ChunkPool::SizeFor(33) == 2);
static_assert(ChunkPool::SizeFor(48) == 2 && ChunkPool::SizeFor(49) == 3);
static_assert(ChunkPool::SizeFor(64) == 3 && ChunkPool::SizeFor(65) == 4);
static_assert(ChunkPool::SizeFor(ChunkPool::kMaxChunk) == ChunkPool::kSizes - 1);

}  // namespace escalona

#endif  // ESCALONA_FRONTIER_CHUNK_POOL_H_

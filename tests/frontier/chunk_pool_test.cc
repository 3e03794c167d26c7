// Chunks of the pool never overlap, have the size asked for, and serve again once freed.
#include "frontier/chunk_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace escalona {
namespace {

constexpr size_t kBlock = size_t{2} << 20;

TEST(ChunkPool, SizesArePowersOfTwoAndTheMiddlesBetweenThem) {
  const std::vector<size_t> first = {24, 32, 48, 64, 96, 128, 192, 256};
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(ChunkPool::Bytes(static_cast<int>(i)), first[i]);
  }
  EXPECT_EQ(ChunkPool::Bytes(ChunkPool::kSizes - 1), ChunkPool::kMaxChunk);
}

TEST(ChunkPool, SizeForIsTheSmallestThatFits) {
  int expected = 0;
  for (size_t bytes = 0; bytes <= ChunkPool::kMaxChunk; ++bytes) {
    while (ChunkPool::Bytes(expected) < bytes) ++expected;
    ASSERT_EQ(ChunkPool::SizeFor(bytes), expected) << bytes;
  }
}

TEST(ChunkPool, LiveChunksNeverOverlapAndKeepTheirContents) {
  struct Chunk {
    int size;
    uint8_t fill;
  };
  for (uint32_t seed = 0; seed < 4; ++seed) {
    std::mt19937 random(seed);
    BlockSupply supply;
    ChunkPool pool(supply);
    std::map<ChunkPool::Reference, Chunk> live;  // by reference: neighbours are neighbours
    for (int step = 0; step < 4000; ++step) {
      if (random() % 100 < 60 || live.empty()) {
        const int size = static_cast<int>(random() % (random() % 50 == 0 ? ChunkPool::kSizes : 16));
        const ChunkPool::Reference chunk = pool.Allocate(size);
        ASSERT_NE(chunk, ChunkPool::kNone);
        const auto [place, is_new] = live.insert({chunk, {size, static_cast<uint8_t>(step)}});
        ASSERT_TRUE(is_new);
        const auto end = [](auto it) {
          return it->first + ChunkPool::Bytes(it->second.size) / ChunkPool::kUnit;
        };
        if (place != live.begin()) {
          ASSERT_LE(end(std::prev(place)), chunk);
        }
        if (std::next(place) != live.end()) {
          ASSERT_LE(end(place), std::next(place)->first);
        }
        ASSERT_EQ(reinterpret_cast<uintptr_t>(pool.At(chunk)) % 8, 0u);
        std::memset(pool.At(chunk), place->second.fill, ChunkPool::Bytes(size));
      } else {
        const auto victim = std::next(live.begin(), static_cast<long>(random() % live.size()));
        const std::byte* bytes = pool.At(victim->first);
        const size_t size = ChunkPool::Bytes(victim->second.size);
        for (size_t i = 0; i < size; ++i) {
          ASSERT_EQ(bytes[i], std::byte{victim->second.fill}) << "byte " << i << " of " << size;
        }
        pool.Free(victim->first, victim->second.size);
        live.erase(victim);
      }
    }
  }
}

TEST(ChunkPool, AFreedChunkServesItsOwnSizeAgain) {
  BlockSupply supply;
  ChunkPool pool(supply);
  const ChunkPool::Reference small = pool.Allocate(0);
  const ChunkPool::Reference large = pool.Allocate(4);
  pool.Free(small, 0);
  EXPECT_NE(pool.Allocate(4), small);
  EXPECT_EQ(pool.Allocate(0), small);
  pool.Free(large, 4);
  EXPECT_EQ(pool.Allocate(4), large);
}

TEST(ChunkPool, TakesWholeBlocksUpToItsLimitAndNoMore) {
  for (uint64_t limit : {uint64_t{0}, uint64_t{1}, uint64_t{kBlock}, uint64_t{2 * kBlock - 1},
                         uint64_t{2 * kBlock}, uint64_t{5 * kBlock}}) {
    BlockSupply supply;
    ChunkPool pool(supply, limit);
    const size_t blocks = std::max<uint64_t>(1, limit / kBlock);
    const int size = ChunkPool::SizeFor(1024);
    std::set<ChunkPool::Reference> chunks;
    for (ChunkPool::Reference chunk; (chunk = pool.Allocate(size)) != ChunkPool::kNone;) {
      ASSERT_TRUE(chunks.insert(chunk).second);
    }
    // The very first unit is no chunk's, since its reference would be kNone.
    EXPECT_EQ(chunks.size(), blocks * (kBlock / 1024) - 1) << limit;
    pool.Free(*chunks.begin(), size);
    EXPECT_EQ(pool.Allocate(size), *chunks.begin()) << "a full pool lives on what is freed";
    EXPECT_EQ(pool.Allocate(size), ChunkPool::kNone);
    pool.Clear();
    size_t again = 0;
    while (pool.Allocate(size) != ChunkPool::kNone) ++again;
    EXPECT_EQ(again, chunks.size()) << "all of it is free after Clear()";
  }
}

TEST(ChunkPool, ClearingAnUnusedPoolIsFine) {
  BlockSupply supply;
  ChunkPool pool(supply);
  pool.Clear();
  EXPECT_NE(pool.Allocate(ChunkPool::kSizes - 1), ChunkPool::kNone);
}

}  // namespace
}  // namespace escalona

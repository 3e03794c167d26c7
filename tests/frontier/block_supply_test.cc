#include "base/block_supply.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace escalona {
namespace {

TEST(BlockSupply, BlocksAreApartAlignedAndWritable) {
  BlockSupply supply;
  std::vector<BlockSupply::Block> blocks;
  std::set<const std::byte*> begins;
  for (int i = 0; i < 80; ++i) {  // some without the thread, most with it
    blocks.push_back(supply.Take());
    std::byte* const begin = blocks.back().get();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(begin) % BlockSupply::kBytes, 0U);
    EXPECT_TRUE(begins.insert(begin).second);
    std::memset(begin, i, BlockSupply::kBytes);
    if (i % 7 == 0) std::this_thread::yield();
  }
  for (int i = 0; i < 80; ++i) {
    for (const size_t at : {size_t{0}, BlockSupply::kBytes / 2, BlockSupply::kBytes - 1}) {
      EXPECT_EQ(blocks[static_cast<size_t>(i)][at], static_cast<std::byte>(i));
    }
  }
}

TEST(BlockSupply, MayEndWhileItsThreadIsAtWork) {
  for (int taken = 30; taken < 40; ++taken) {
    BlockSupply supply;
    for (int i = 0; i < taken; ++i) supply.Take();
  }
}

}  // namespace
}  // namespace escalona

#include "base/growing_array.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace escalona {
namespace {

TEST(GrowingArray, KeepsWhatItHoldsAndTheRestIsZero) {
  GrowingArray<uint32_t> array;
  size_t written = 0;
  for (size_t size : {1, 16, 1000, 524288, 524289, 3000000, 10000000}) {
    array.Grow(size);
    ASSERT_EQ(array.size(), size);
    for (size_t i = 0; i < size; ++i) ASSERT_EQ(array[i], i < written ? i + 1 : 0) << size;
    for (size_t i = written; i < size; ++i) array[i] = static_cast<uint32_t>(i + 1);
    written = size;
  }
}

TEST(GrowingArray, BeginsAtACacheLine) {
  struct alignas(64) Line {
    char bytes[64];
  };
  GrowingArray<Line> array;
  for (size_t size : {1, 3, 100, 40000, 100000}) {
    array.Grow(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(&array[0]) % 64, 0u);
  }
}

TEST(GrowingArray, MovingLeavesAnEmptyOne) {
  for (size_t size : {10, 1000000}) {
    GrowingArray<uint32_t> array;
    array.Grow(size);
    array[size - 1] = 7;
    GrowingArray<uint32_t> moved = std::move(array);
    EXPECT_EQ(moved.size(), size);
    EXPECT_EQ(moved[size - 1], 7u);
    array = GrowingArray<uint32_t>();
    EXPECT_EQ(array.size(), 0u);
    array.Grow(5);
    EXPECT_EQ(array[4], 0u);
  }
}

}  // namespace
}  // namespace escalona

#include "cli/suggest.h"

#include <gtest/gtest.h>

namespace escalona::cli {
namespace {

TEST(Suggest, DistanceCountsEdits) {
  EXPECT_EQ(EditDistance("run", "run"), 0u);
  EXPECT_EQ(EditDistance("rnu", "run"), 1u);
  EXPECT_EQ(EditDistance("", "run"), 3u);
  EXPECT_EQ(EditDistance("simulat", "simulate"), 1u);
}

TEST(Suggest, OffersTheNearestCommand) {
  EXPECT_EQ(Nearest("rum", {"run", "gen", "url"}), "run");
  EXPECT_EQ(Nearest("simualte", {"serve", "simulate"}), "simulate");
}

TEST(Suggest, OffersNothingForAWordLikeNone) {
  EXPECT_EQ(Nearest("xyzzy", {"run", "gen", "url"}), "");
}

}  // namespace
}  // namespace escalona::cli

// Durations, rates, sizes: what is understood, and what the refusals say.
#include "cli/units.h"

#include <gtest/gtest.h>

#include <string>

namespace escalona::cli {
namespace {

TEST(UnitsTest, DurationsAreInSeconds) {
  EXPECT_EQ(*ParseDuration("30s"), 30);
  EXPECT_EQ(*ParseDuration("5min"), 300);
  EXPECT_EQ(*ParseDuration("1.5h"), 5400);
  EXPECT_EQ(*ParseDuration("2e-3d"), 172.8);
  EXPECT_DOUBLE_EQ(*ParseDuration("1e-9d"), 86400e-9);
  EXPECT_EQ(*ParseDuration("250ms"), 0.25);
  EXPECT_EQ(*ParseDuration(" .5 d "), 43200);
  EXPECT_EQ(*ParseDuration("+1d"), 86400);
  EXPECT_EQ(*ParseDuration("0"), 0);
}

TEST(UnitsTest, WholeSecondsAreWholeAndFitTheApi) {
  EXPECT_EQ(*ParseWholeSeconds("0"), 0U);
  EXPECT_EQ(*ParseWholeSeconds("1.5min"), 90U);
  EXPECT_EQ(*ParseWholeSeconds("4.1min"), 246U) << "which is not exact in binary";
  EXPECT_EQ(*ParseWholeSeconds("4294967295s"), 4294967295U);
  EXPECT_EQ(ParseWholeSeconds("1.5s").status().message(),
            "'1.5s' is not whole seconds, as the API has them; write 1s or 2s");
  for (const char* text : {"4294967296s", "9e9s", "1e300d"}) {
    EXPECT_EQ(
        ParseWholeSeconds(text).status().message(),
        std::string("'").append(text).append("' is too long; the API takes 4294967295s at most"));
  }
  EXPECT_FALSE(ParseWholeSeconds("soon").ok());
}

TEST(UnitsTest, CapacitiesArePerSecondOrShares) {
  EXPECT_EQ(ParseCapacity("100/s")->amount, 100);
  EXPECT_EQ(ParseCapacity("120/min")->amount, 2);
  EXPECT_EQ(ParseCapacity("7200/h")->amount, 2);
  EXPECT_DOUBLE_EQ(ParseCapacity("1e6/day")->amount, 1e6 / 86400);
  EXPECT_EQ(ParseCapacity("0")->amount, 0);
  EXPECT_FALSE(ParseCapacity("1/s")->share);
  EXPECT_EQ(ParseCapacity("10%")->amount, 0.1);
  EXPECT_TRUE(ParseCapacity(" 10 % ")->share);
  for (const char* text : {"10", "3x%", "%"}) {
    const std::string message(ParseCapacity(text).status().message());
    EXPECT_NE(message.find("3/s"), std::string::npos) << message;
    EXPECT_NE(message.find("10%"), std::string::npos) << message;
  }
}

TEST(UnitsTest, FilesCountInDays) {
  EXPECT_EQ(*ParseDays("3"), 3);
  EXPECT_EQ(*ParseDays("36h"), 1.5);
  EXPECT_EQ(*ParsePerDay("0.25"), 0.25);
  EXPECT_EQ(*ParsePerDay("2/h"), 48);
  EXPECT_EQ(*ParsePerDay("1/s"), 86400);
  EXPECT_EQ(*ParsePerDay("1e-320"), 1e-320) << "the least numbers are numbers too";
}

TEST(UnitsTest, SizesAreInBytes) {
  EXPECT_EQ(*ParseSize("4096"), 4096U);
  EXPECT_EQ(*ParseSize("64KiB"), 65536U);
  EXPECT_EQ(*ParseSize("1GiB"), 1U << 30);
  EXPECT_EQ(*ParseSize("1.5MB"), 1'500'000U);
  EXPECT_FALSE(ParseSize("1e30").ok());
}

TEST(UnitsTest, RefusalsNameTheTextAndTheRemedy) {
  for (const char* text : {"", "s", "abc", "30", "30 seconds", "30ss", "s30", "1,5h", "--1s",
                           "+-1s", "nan", "nans", "0x10s"}) {
    const auto refused = ParseDuration(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_NE(
        std::string(refused.status().message()).find(std::string("'").append(text).append("'")),
        std::string::npos);
    EXPECT_NE(std::string(refused.status().message()).find("30s"), std::string::npos)
        << refused.status();
  }
  EXPECT_NE(std::string(ParseCapacity("-1/s").status().message()).find("negative"),
            std::string::npos);
  EXPECT_NE(std::string(ParseCapacity("-0/s").status().message()).find("negative"),
            std::string::npos);
  EXPECT_NE(std::string(ParseCapacity("inf/s").status().message()).find("not finite"),
            std::string::npos);
  EXPECT_NE(std::string(ParseCapacity("1e999/s").status().message()).find("not finite"),
            std::string::npos);
  EXPECT_NE(std::string(ParsePerDay("1e306/s").status().message()).find("finite"),
            std::string::npos);
  EXPECT_LT(ParseCapacity(std::string(10000, 'x')).status().message().size(), 200U);
}

}  // namespace
}  // namespace escalona::cli

// Which pattern a path is taken for, and how text is encoded on the way.
#include "server/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace escalona::server {
namespace {

using ::testing::ElementsAre;

void Nothing(const Request&, Response&) {}

class RouterTest : public ::testing::Test {
 protected:
  RouterTest() {
    for (const char* pattern :
         {"/associations", "/associations/{key}", "/associations/{key}/{other}",
          "/associations/key/{key}", "/ns/{ns}/associations/{key}", "/web/{rest...}", "/"}) {
      router_.Add(Method::kGet, pattern, Nothing);
    }
    router_.Add(Method::kPost, "/associations/batch", Nothing);
    router_.Add(Method::kDelete, "/associations/{key}", Nothing);
  }

  std::string Pattern(Method method, std::string_view path) {
    params_.clear();
    const Router::Match match = router_.Find(method, path, params_);
    if (match.bad_encoding) return "bad encoding";
    return match.route != nullptr ? match.route->pattern : "allowed: " + match.allowed;
  }

  Router router_;
  std::vector<std::string> params_;
};

TEST_F(RouterTest, SegmentsInBracesAreDecoded) {
  EXPECT_EQ(Pattern(Method::kGet, "/associations/a%2Fb%20c"), "/associations/{key}");
  EXPECT_THAT(params_, ElementsAre("a/b c"));
  EXPECT_EQ(Pattern(Method::kGet, "/ns/x/associations/%F0%9F%8D%BA+1"),
            "/ns/{ns}/associations/{key}");
  EXPECT_THAT(params_, ElementsAre("x", "\xF0\x9F\x8D\xBA+1"));
}

TEST_F(RouterTest, AnEmptySegmentIsASegment) {
  EXPECT_EQ(Pattern(Method::kGet, "/associations/"), "/associations/{key}");
  EXPECT_THAT(params_, ElementsAre(""));
  EXPECT_EQ(Pattern(Method::kGet, "/associations//x"), "/associations/{key}/{other}");
  EXPECT_THAT(params_, ElementsAre("", "x"));
  EXPECT_EQ(Pattern(Method::kGet, "/"), "/");
}

TEST_F(RouterTest, ALiteralGoesBeforeBracesIfItHasTheMethod) {
  EXPECT_EQ(Pattern(Method::kGet, "/associations/key/x"), "/associations/key/{key}");
  EXPECT_EQ(Pattern(Method::kPost, "/associations/batch"), "/associations/batch");
  EXPECT_EQ(Pattern(Method::kGet, "/associations/batch"), "/associations/{key}");
  EXPECT_THAT(params_, ElementsAre("batch"));
}

TEST_F(RouterTest, TheRestIsGivenAsSent) {
  EXPECT_EQ(Pattern(Method::kGet, "/web/a/b%20c.js"), "/web/{rest...}");
  EXPECT_THAT(params_, ElementsAre("a/b%20c.js"));
}

TEST_F(RouterTest, WhatIsNotThereIsToldFromWhatIsAskedWrongly) {
  EXPECT_EQ(Pattern(Method::kGet, "/nothing"), "allowed: ");
  EXPECT_EQ(Pattern(Method::kGet, "/ns/x/associations"), "allowed: ");
  EXPECT_EQ(Pattern(Method::kGet, "associations"), "allowed: ");
  EXPECT_EQ(Pattern(Method::kPut, "/associations/batch"), "allowed: GET, POST, DELETE");
  EXPECT_EQ(Pattern(Method::kOther, "/associations"), "allowed: GET");
}

TEST_F(RouterTest, ABadEncodingIsSaid) {
  for (const char* path : {"/associations/%", "/associations/%2", "/associations/%zz",
                           "/associations/a%2/b", "/associations/%%20"}) {
    EXPECT_EQ(Pattern(Method::kGet, path), "bad encoding") << path;
  }
}

TEST(RouterDeathTest, APatternAddedTwiceEndsTheProgram) {
  Router router;
  router.Add(Method::kGet, "/a/{x}", Nothing);
  router.Add(Method::kPost, "/a/{y}", Nothing);
  EXPECT_DEATH(router.Add(Method::kGet, "/a/{y}", Nothing), "is there already");
}

TEST(Request, QueryIsDecodedAndTheFirstOfANameCounts) {
  Request request;
  request.query = "k=20&text=a+b%26c&k=30&empty=&bad=%4&flag";
  EXPECT_EQ(request.Query("k"), "20");
  EXPECT_EQ(request.Query("text"), "a b&c");
  EXPECT_EQ(request.Query("empty"), "");
  EXPECT_EQ(request.Query("flag"), "");
  EXPECT_EQ(request.Query("bad"), std::nullopt);
  EXPECT_EQ(request.Query("none"), std::nullopt);
}

TEST(Json, StringsAreEscapedAndAlwaysUtf8) {
  const auto json = [](std::string_view text) {
    std::string out;
    AppendJsonString(text, out);
    return out;
  };
  EXPECT_EQ(json("plain"), "\"plain\"");
  EXPECT_EQ(json("\"\\\n\x01\x7F"), "\"\\\"\\\\\\n\\u0001\\u007f\"");
  EXPECT_EQ(json("\xC3\xA9\xF0\x9F\x8D\xBA"), "\"\xC3\xA9\xF0\x9F\x8D\xBA\"");
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(json("\xFF"
                 "a"),
            "\"" + replaced + "a\"");
  EXPECT_EQ(json("\xC3"), "\"" + replaced + "\"");
  EXPECT_EQ(json("\xED\xA0\x80"), "\"" + replaced + replaced + replaced + "\"");  // a surrogate
}

TEST(PercentEncoding, DecodingUndoesEncoding) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  std::string encoded;
  AppendPercentEncoded(all, encoded);
  std::string decoded;
  ASSERT_TRUE(PercentDecode(encoded, true, decoded));
  EXPECT_EQ(decoded, all);
}

}  // namespace
}  // namespace escalona::server

// Dedup keys: what each profile merges, what none may merge.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "escalona/url.h"

namespace escalona {
namespace {

std::string Key(DedupProfile profile, std::string_view text) {
  const absl::StatusOr<Url> url = Url::Parse(text);
  EXPECT_TRUE(url.ok()) << text << ": " << url.status();
  return url.ok() ? url->DedupKey(profile) : std::string();
}
std::string Exact(std::string_view text) { return Key(DedupProfile::kExact, text); }
std::string Standard(std::string_view text) { return Key(DedupProfile::kStandard, text); }
std::string Aggressive(std::string_view text) { return Key(DedupProfile::kAggressive, text); }

TEST(DedupKey, ExactIsTheNormalForm) {
  EXPECT_EQ(Exact("HTTP://A.com.:80/%7e/?b&a#c"), "http://a.com./%7e/?b&a");
}

TEST(DedupKey, UrlToFetchIsNotReplacedByItsKey) {
  const absl::StatusOr<Url> url = Url::Parse("http://www.a.com/b/?sid=1");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->DedupKey(DedupProfile::kAggressive), "http://a.com/b");
  EXPECT_EQ(url->href(), "http://www.a.com/b/?sid=1");
}

TEST(DedupKey, AppendLeavesWhatIsThere) {
  const absl::StatusOr<Url> url = Url::Parse("http://www.a.com/b;sid=1/c/?z&y#f");
  ASSERT_TRUE(url.ok());
  std::string key = "/;sid=7/?";
  url->AppendDedupKey(DedupProfile::kAggressive, key);
  EXPECT_EQ(key, "/;sid=7/?http://a.com/b/c?y&z");
}

TEST(DedupKey, StandardDecodesUnreservedCharacters) {
  EXPECT_EQ(Standard("http://a.com/%7Euser/%41%2d%2E%5f?%61=%7a"), "http://a.com/~user/A-._?a=z");
}

TEST(DedupKey, StandardWritesEscapesInUpperCase) {
  EXPECT_EQ(Standard("http://a.com/%c3%a9%2f?%3d%26"), "http://a.com/%C3%A9%2F?%3D%26");
}

TEST(DedupKey, StandardKeepsReservedCharactersApartFromTheirEscapes) {
  EXPECT_NE(Standard("http://a.com/b%2Fc"), Standard("http://a.com/b/c"));
  EXPECT_NE(Standard("http://a.com/?b%26c"), Standard("http://a.com/?b&c"));
  EXPECT_NE(Standard("http://a.com/?b+c"), Standard("http://a.com/?b%2Bc"));
}

TEST(DedupKey, StandardEscapesWhatTheStandardLeavesOpen) {
  EXPECT_EQ(Standard("http://a.com/b|c?d|e\\f^`{}"), "http://a.com/b%7Cc?d%7Ce%5Cf%5E%60%7B%7D");
  EXPECT_EQ(Standard("http://a.com/b%7cc"), Standard("http://a.com/b|c"));
}

TEST(DedupKey, StandardEscapesAPercentSignThatBeginsNoEscape) {
  EXPECT_EQ(Standard("http://a.com/100%"), "http://a.com/100%25");
  EXPECT_EQ(Standard("http://a.com/%zz%4"), "http://a.com/%25zz%254");
  EXPECT_EQ(Standard("http://a.com/%%34%31"), "http://a.com/%2541");
}

TEST(DedupKey, StandardDropsTheFinalDotOfTheHost) {
  EXPECT_EQ(Standard("http://a.com.:81/x"), "http://a.com:81/x");
  EXPECT_EQ(Standard("http://a.com../x"), "http://a.com../x");
  EXPECT_EQ(Standard("http://./x"), "http://./x");
}

TEST(DedupKey, StandardNormalisesCredentials) {
  EXPECT_EQ(Standard("http://%7eu:%3a@a.com/"), "http://~u:%3A@a.com/");
}

TEST(DedupKey, StandardKeepsWhatAggressiveDrops) {
  EXPECT_EQ(Standard("http://www.a.com/b/?z=1&utm_source=x&sid=2&a"),
            "http://www.a.com/b/?z=1&utm_source=x&sid=2&a");
}

TEST(DedupKey, AggressiveSortsTheQueryByName) {
  EXPECT_EQ(Aggressive("http://a.com/?c=1&a=2&b"), "http://a.com?a=2&b&c=1");
  EXPECT_EQ(Aggressive("http://a.com/?ab=1&a=2&a-b=3"), "http://a.com?a=2&a-b=3&ab=1");
}

TEST(DedupKey, AggressiveKeepsTheOrderOfEqualNames) {
  EXPECT_EQ(Aggressive("http://a.com/?b=2&a=9&b=1&a=3"), "http://a.com?a=9&a=3&b=2&b=1");
}

TEST(DedupKey, AggressiveSortsAfterDecoding) {
  EXPECT_EQ(Aggressive("http://a.com/?%62=1&a=2"), "http://a.com?a=2&b=1");
}

TEST(DedupKey, AggressiveSortsManyParameters) {
  std::string text = "http://a.com/?", key = "http://a.com?";
  for (int i = 99; i >= 10; --i) absl::StrAppend(&text, "p", i, "=x&");
  for (int i = 10; i <= 99; ++i) absl::StrAppend(&key, "p", i, i < 99 ? "=x&" : "=x");
  EXPECT_EQ(Aggressive(text), key);
}

TEST(DedupKey, AggressiveDropsEmptyParametersAndAnEmptyQuery) {
  EXPECT_EQ(Aggressive("http://a.com/b?&x&&y&"), "http://a.com/b?x&y");
  EXPECT_EQ(Aggressive("http://a.com/b?"), "http://a.com/b");
  EXPECT_EQ(Aggressive("http://a.com/b?&&"), "http://a.com/b");
  EXPECT_EQ(Aggressive("http://a.com/b?="), "http://a.com/b?=");
}

TEST(DedupKey, AggressiveDropsSessionIdsFromTheQuery) {
  for (const char* name :
       {"sid", "SID", "PHPSESSID", "jsessionid", "JSESSIONID", "sessionid", "session_id",
        "ASPSESSIONIDQQABCDEF", "cfid", "CFTOKEN", "osCsid", "zenid", "sessid", "%73id"}) {
    const std::string text = absl::StrCat("http://a.com/b?x=1&", name, "=0123&y=2");
    EXPECT_EQ(Aggressive(text), "http://a.com/b?x=1&y=2") << name;
  }
  EXPECT_EQ(Aggressive("http://a.com/b?sid"), "http://a.com/b");
}

TEST(DedupKey, AggressiveDropsTrackingParameters) {
  for (const char* name : {"utm_source", "UTM_Medium", "utm_x", "gclid", "fbclid", "msclkid",
                           "dclid", "yclid", "mc_eid", "_ga", "igshid", "pk_campaign", "mtm_kwd"}) {
    const std::string text = absl::StrCat("http://a.com/b?x=1&", name, "=0123&y=2");
    EXPECT_EQ(Aggressive(text), "http://a.com/b?x=1&y=2") << name;
  }
}

TEST(DedupKey, AggressiveKeepsParametersWithLikeNames) {
  EXPECT_EQ(Aggressive("http://a.com/?asid=1&gclids=2&sidx=3&utm=4&x=sid"),
            "http://a.com?asid=1&gclids=2&sidx=3&utm=4&x=sid");
}

TEST(DedupKey, AggressiveDropsSessionIdsFromThePath) {
  EXPECT_EQ(Aggressive("http://a.com/b;jsessionid=1A2B?x"), "http://a.com/b?x");
  EXPECT_EQ(Aggressive("http://a.com/b;JSESSIONID=1A2B.node1/c"), "http://a.com/b/c");
  EXPECT_EQ(Aggressive("http://a.com/b;v=2;sid=1;w=3;PHPSESSID=4"), "http://a.com/b;v=2;w=3");
  EXPECT_EQ(Aggressive("http://a.com/;jsessionid=1"), "http://a.com");
  EXPECT_EQ(Aggressive("http://a.com/b;c/"), "http://a.com/b;c");
}

TEST(DedupKey, AggressiveMakesNoDotSegments) {
  EXPECT_EQ(Aggressive("http://a.com/b/..;sid=1/c"), "http://a.com/b/..;sid=1/c");
  EXPECT_EQ(Aggressive("http://a.com/b/.;sid=1"), "http://a.com/b/.;sid=1");
}

TEST(DedupKey, AggressiveDropsWww) {
  EXPECT_EQ(Aggressive("http://www.a.com/"), "http://a.com");
  EXPECT_EQ(Aggressive("http://WWW.www.a.com/"), "http://a.com");
  EXPECT_EQ(Aggressive("http://my.www.com/www.b"), "http://my.www.com/www.b");
  EXPECT_EQ(Aggressive("http://www2.a.com/"), "http://www2.a.com");
}

TEST(DedupKey, AggressiveKeepsWwwWhereItIsTheDomain) {
  EXPECT_EQ(Aggressive("http://www.com/"), "http://www.com");
  EXPECT_EQ(Aggressive("http://www.intranet./"), "http://www.intranet");
  EXPECT_EQ(Aggressive("http://www/"), "http://www");
}

TEST(DedupKey, AggressiveDropsTheLastSlashes) {
  EXPECT_EQ(Aggressive("http://a.com/b/"), "http://a.com/b");
  EXPECT_EQ(Aggressive("http://a.com/b//"), "http://a.com/b");
  EXPECT_EQ(Aggressive("http://a.com//b"), "http://a.com//b");
  EXPECT_EQ(Aggressive("http://a.com/b/?c=/"), "http://a.com/b?c=/");
}

TEST(DedupKey, SchemeAndPortStayApart) {
  EXPECT_NE(Aggressive("http://a.com/"), Aggressive("https://a.com/"));
  EXPECT_NE(Aggressive("http://a.com/"), Aggressive("http://a.com:8080/"));
}

TEST(DedupKey, KeyIsItsOwnKey) {
  for (const char* text :
       {"http://www.www.a.com./b;sid=1//%7e%%34%31/?z=1&a&&%61=%zz&utm_a#f", "http://a.com/%25%37e",
        "http://www.a.com/;sid=1;sid=2/..;sid=3/", "http://www../?&", "http://www.1../",
        "http://./", "https://u%40:%5e@www.b.org.:81//?'\"=|"}) {
    for (DedupProfile profile :
         {DedupProfile::kExact, DedupProfile::kStandard, DedupProfile::kAggressive}) {
      const std::string key = Key(profile, text);
      EXPECT_EQ(Key(profile, key), key) << text;
    }
  }
}

}  // namespace
}  // namespace escalona

// The vectors of the Web Platform Tests: every URL of urltestdata.json, every host of toascii.json.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "escalona/url.h"

namespace escalona {
namespace {

namespace json = boost::json;

std::optional<json::array> ReadVectors(const std::string& name) {
  std::ifstream file(std::string(ESCALONA_SHARED_DATA) + "/wpt/" + name);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  return json::parse(text.str()).as_array();
}

std::string Text(const json::object& vector, const char* field) {
  const json::value* value = vector.if_contains(field);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

absl::StatusOr<Url> Parse(const json::object& vector) {
  if (vector.at("base").is_null()) return Url::Parse(Text(vector, "input"));
  return Url::ParseWithBase(Text(vector, "input"), Text(vector, "base"));
}

bool IsOurs(const json::object& vector) {
  const std::string protocol = Text(vector, "protocol");
  return protocol == "http:" || protocol == "https:";
}

std::string WithoutFragment(const std::string& href) { return href.substr(0, href.find('#')); }

void ExpectParts(const json::object& vector, const Url& url) {
  EXPECT_EQ(url.href(), WithoutFragment(Text(vector, "href")));
  EXPECT_EQ(std::string(url.scheme()) + ":", Text(vector, "protocol"));
  EXPECT_EQ(url.username(), Text(vector, "username"));
  EXPECT_EQ(url.password(), Text(vector, "password"));
  EXPECT_EQ(url.host(), Text(vector, "hostname"));
  EXPECT_EQ(url.has_port() ? std::to_string(url.port()) : "", Text(vector, "port"));
  EXPECT_EQ(url.path(), Text(vector, "pathname"));
  // The vectors' `search` is empty both for no query and for an empty one.
  const std::string search = Text(vector, "search");
  EXPECT_EQ(url.query(), search.empty() ? "" : search.substr(1));
}

// Every vector counts: a result that is http or https is expected to the byte, with all its parts;
// a failure, and a result of another scheme, must be refused. There is no list of exceptions.
TEST(UrlVectors, EveryUrlOfTheWebPlatformTests) {
  const std::optional<json::array> vectors = ReadVectors("urltestdata.json");
  if (!vectors) GTEST_SKIP() << "no wpt/urltestdata.json in " << ESCALONA_SHARED_DATA;
  int parsed = 0, refused = 0;
  for (const json::value& value : *vectors) {
    if (!value.is_object()) continue;
    const json::object& vector = value.as_object();
    SCOPED_TRACE(json::serialize(vector));
    const absl::StatusOr<Url> url = Parse(vector);
    if (!IsOurs(vector)) {
      EXPECT_FALSE(url.ok());
      ++refused;
      continue;
    }
    EXPECT_TRUE(url.ok()) << url.status();
    if (url.ok()) ExpectParts(vector, *url);
    ++parsed;
  }
  EXPECT_GE(parsed, 247);
  EXPECT_GE(refused, 644);
}

TEST(UrlVectors, NormalFormsParseToThemselves) {
  const std::optional<json::array> vectors = ReadVectors("urltestdata.json");
  if (!vectors) GTEST_SKIP() << "no wpt/urltestdata.json in " << ESCALONA_SHARED_DATA;
  for (const json::value& value : *vectors) {
    if (!value.is_object() || !IsOurs(value.as_object())) continue;
    const std::string href = WithoutFragment(Text(value.as_object(), "href"));
    const absl::StatusOr<Url> url = Url::Parse(href);
    ASSERT_TRUE(url.ok()) << href << ": " << url.status();
    EXPECT_EQ(url->href(), href);
  }
}

// Hosts whose answer changed with Unicode 15.1 or 16; Debian 12's ICU 72 knows Unicode 15.0. What
// it answers is written down, so that a newer ICU shows here.
const std::map<std::string, std::optional<std::string>>& AnswersOfUnicode15() {
  static const std::map<std::string, std::optional<std::string>> answers = {
      {"look\u180eout.net", std::nullopt},  // disallowed; ignored since 16
      {"look\u206bout.net", std::nullopt},  // disallowed; ignored since 16
      {"\u04c0.com", std::nullopt},         // disallowed; mapped to U+04CF since 16
      {"\U0002f868.com", std::nullopt},     // disallowed; mapped to U+36FC since 16
      {"\u2183.com", std::nullopt},         // disallowed; mapped to U+2184 since 16
      {"\u1e9e.com", "ss.com"},             // mapped to "ss"; to U+00DF since 15.1
      {"\u1e9e.foo.com", "ss.foo.com"},     // the same
  };
  return answers;
}

TEST(UrlVectors, EveryHostOfTheWebPlatformTests) {
  const std::optional<json::array> vectors = ReadVectors("toascii.json");
  if (!vectors) GTEST_SKIP() << "no wpt/toascii.json in " << ESCALONA_SHARED_DATA;
  int hosts = 0, exceptions = 0;
  for (const json::value& value : *vectors) {
    if (!value.is_object()) continue;
    const json::object& vector = value.as_object();
    const std::string input = Text(vector, "input");
    std::optional<std::string> expected;
    if (vector.at("output").is_string()) expected = Text(vector, "output");
    if (const auto other = AnswersOfUnicode15().find(input); other != AnswersOfUnicode15().end()) {
      expected = other->second;
      ++exceptions;
    }
    SCOPED_TRACE(json::serialize(vector));
    const absl::StatusOr<Url> url = Url::Parse("https://" + input + "/x");
    ASSERT_EQ(url.ok(), expected.has_value()) << url.status();
    if (expected) {
      EXPECT_EQ(url->href(), "https://" + *expected + "/x");
    }
    ++hosts;
  }
  EXPECT_GE(hosts, 87);
  EXPECT_EQ(exceptions, 7);
}

}  // namespace
}  // namespace escalona

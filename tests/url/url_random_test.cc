// Random texts: the fast path equals the general parser, the block scans equal the bytewise ones,
// the normal form is stable, and what holds for parts holds for the whole.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "escalona/url.h"
#include "url/fast_path.h"
#include "url/parser.h"
#include "url/scan.h"

namespace escalona {
namespace {

int Rounds(int rounds) { return std::getenv("ESCALONA_LONG") != nullptr ? rounds * 50 : rounds; }

// Texts that look like URLs, with every oddity often enough to meet every other.
class TextGenerator {
 public:
  explicit TextGenerator(uint64_t seed) : random_(seed) {}

  std::string Next() {
    std::string text =
        Pick({"http://", "https://", "http:", "HTTP:/", "hTTps://", "http:\\\\", ""});
    if (Chance(8)) absl::StrAppend(&text, Pieces(1), ":", Pieces(1), "@");
    text += Pick({"a.com", "A.Com", "www.x-y_z.org", "1.2.3", "0x7f.1", "b\u00fccher.de", "a..",
                  "a.", "[::1]", "xn--a", "a.1", "%41.com", "localhost", "[1::0:2]", "a.0xg", ""});
    if (Chance(15)) text += Pick({":", ":80", ":443", ":8080", ":08", ":65536", ":x", ":99999"});
    if (Chance(85)) absl::StrAppend(&text, "/", Pieces(6));
    if (Chance(40)) absl::StrAppend(&text, "?", Pieces(5));
    if (Chance(15)) absl::StrAppend(&text, "#", Pieces(2));
    if (Chance(10)) Damage(text);
    return text;
  }

  std::string NextRelative() {
    std::string text =
        Pick({"", "", "", "/", "//", "?", "#", "./", "..", "http:", "x:", "\\", " /", "a"});
    text += Pieces(6);
    if (Chance(30)) absl::StrAppend(&text, "?", Pieces(3));
    if (Chance(15)) absl::StrAppend(&text, "#", Pieces(2));
    if (Chance(10)) Damage(text);
    return text;
  }

  std::string Bytes(size_t size) {
    std::string bytes(size, ' ');
    for (char& c : bytes) c = Chance(97) ? Letter() : static_cast<char>(Number(0, 255));
    return bytes;
  }

  int Number(int first, int last) { return std::uniform_int_distribution<>(first, last)(random_); }

 private:
  bool Chance(int percent) { return Number(1, 100) <= percent; }
  char Letter() { return "abcdefghijklmnopqrstuvwxyz0123/.-="[Number(0, 33)]; }
  std::string Pick(std::initializer_list<const char*> choices) {
    return choices.begin()[Number(0, static_cast<int>(choices.size()) - 1)];
  }
  std::string Pieces(int most) {
    std::string pieces;
    for (int n = Number(0, most); n > 0; --n) {
      pieces += Chance(70)
                    ? std::string(static_cast<size_t>(Number(1, 9)), Letter())
                    : Pick({"/",   "/.", "/..", "/.w",    "/%2e", "%2E",    "//",     "%41",
                            "%zz", "%",  " ",   "&",      "&a=",  "&sid=1", ";sid=1", "utm_x=2",
                            "\\",  "?",  "'",   "\"",     "|",    "^",      "{",      "}",
                            "`",   "<",  ">",   "\u00e9", "\xff", "\t",     "~",      ";"});
    }
    return pieces;
  }
  void Damage(std::string& text) {
    const size_t at = static_cast<size_t>(Number(0, static_cast<int>(text.size())));
    text.insert(at, 1, static_cast<char>(Number(0, 255)));
  }

  std::mt19937_64 random_;
};

void ExpectSame(const UrlOffsets& a, const UrlOffsets& b) {
  EXPECT_EQ(a.authority, b.authority);
  EXPECT_EQ(a.username_end, b.username_end);
  EXPECT_EQ(a.host_begin, b.host_begin);
  EXPECT_EQ(a.host_end, b.host_end);
  EXPECT_EQ(a.path_begin, b.path_begin);
  EXPECT_EQ(a.query_begin, b.query_begin);
  EXPECT_EQ(a.port, b.port);
  EXPECT_EQ(a.host_kind, b.host_kind);
}

TEST(UrlRandom, FastPathEqualsTheGeneralParser) {
  TextGenerator generator(1);
  int fast = 0, slow = 0;
  std::string fast_href, href;
  UrlOffsets fast_at, at;
  for (int round = 0; round < Rounds(200000); ++round) {
    const std::string text = generator.Next();
    if (!url_internal::ParsePlainUrl(text, fast_href, fast_at)) {
      ++slow;
      continue;
    }
    ++fast;
    SCOPED_TRACE(text);
    const absl::Status status = url_internal::ParseUrl(text, {}, href, at);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(fast_href, href);
    ExpectSame(fast_at, at);
  }
  EXPECT_GT(fast, slow / 20) << "the generator no longer meets the fast path";
  EXPECT_GT(slow, 0);
}

TEST(UrlRandom, FastPathForRelativeTextEqualsTheGeneralParser) {
  TextGenerator generator(6);
  int fast = 0;
  std::string fast_href, href;
  UrlOffsets fast_at, at;
  for (int round = 0; round < Rounds(200000); ++round) {
    const absl::StatusOr<Url> base = Url::Parse(generator.Next());
    if (!base.ok()) continue;
    const std::string text = generator.NextRelative();
    if (!url_internal::ParsePlainRelative(text, *base, fast_href, fast_at)) continue;
    ++fast;
    SCOPED_TRACE(absl::StrCat(text, " on ", base->href()));
    const absl::Status status = url_internal::ParseUrl(text, {&*base, {}}, href, at);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(fast_href, href);
    ExpectSame(fast_at, at);
  }
  EXPECT_GT(fast, Rounds(200000) / 40) << "the generator no longer meets the fast path";
}

TEST(UrlRandom, BlockScansEqualBytewiseScans) {
  TextGenerator generator(2);
  for (int round = 0; round < Rounds(100000); ++round) {
    const std::string text = generator.Bytes(static_cast<size_t>(generator.Number(0, 70)));
    const auto begin = static_cast<size_t>(generator.Number(0, static_cast<int>(text.size())));
    ASSERT_EQ(url_internal::ScanPlainPath(text, begin),
              url_internal::ScanPlainPathBytewise(text, begin))
        << text;
    ASSERT_EQ(url_internal::ScanPlainQuery(text, begin),
              url_internal::ScanPlainQueryBytewise(text, begin))
        << text;
  }
}

TEST(UrlRandom, LoweringAHostInBlocksEqualsLoweringItBytewise) {
  for (int byte = 0; byte < 256; ++byte) {
    for (size_t place = 0; place < 40; ++place) {
      std::string blocks = "x.AbCdEfGhIjKlMnOpQrStUvWxYz-0123456789_Z";
      blocks[place] = static_cast<char>(byte);
      std::string bytes = blocks;
      ASSERT_EQ(url_internal::LowerPlainHost(blocks, 1),
                url_internal::LowerPlainHostBytewise(bytes, 1))
          << "byte " << byte << " at " << place;
      ASSERT_EQ(blocks, bytes) << "byte " << byte << " at " << place;
    }
  }
}

TEST(UrlRandom, BlockScansEqualBytewiseScansForEveryByteAtEveryPlace) {
  for (int byte = 0; byte < 256; ++byte) {
    for (size_t at = 0; at < 40; ++at) {
      std::string text(40, 'x');
      text[at] = static_cast<char>(byte);
      ASSERT_EQ(url_internal::ScanPlainPath(text, 0), url_internal::ScanPlainPathBytewise(text, 0));
      ASSERT_EQ(url_internal::ScanPlainQuery(text, 0),
                url_internal::ScanPlainQueryBytewise(text, 0));
    }
  }
}

TEST(UrlRandom, NormalFormParsesToItself) {
  TextGenerator generator(3);
  int parsed = 0;
  for (int round = 0; round < Rounds(100000); ++round) {
    const std::string text = generator.Next();
    const absl::StatusOr<Url> url = Url::Parse(text);
    if (!url.ok()) continue;
    ++parsed;
    SCOPED_TRACE(text);
    const absl::StatusOr<Url> again = Url::Parse(url->href());
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(again->href(), url->href());
    ExpectSame(again->offsets(), url->offsets());
    ASSERT_EQ(Url::Parse("", *url)->href(), url->href());
  }
  EXPECT_GT(parsed, Rounds(100000) / 4);
}

TEST(UrlRandom, DedupKeysAreTheirOwnKeysAndEachProfileMergesMore) {
  TextGenerator generator(4);
  for (int round = 0; round < Rounds(100000); ++round) {
    const std::string text = generator.Next();
    const absl::StatusOr<Url> url = Url::Parse(text);
    if (!url.ok()) continue;
    SCOPED_TRACE(text);
    for (DedupProfile profile : {DedupProfile::kStandard, DedupProfile::kAggressive}) {
      const std::string key = url->DedupKey(profile);
      const absl::StatusOr<Url> parsed_key = Url::Parse(key);
      ASSERT_TRUE(parsed_key.ok()) << key << ": " << parsed_key.status();
      ASSERT_EQ(parsed_key->DedupKey(profile), key);
    }
    const absl::StatusOr<Url> standard = Url::Parse(url->DedupKey(DedupProfile::kStandard));
    ASSERT_EQ(standard->DedupKey(DedupProfile::kAggressive),
              url->DedupKey(DedupProfile::kAggressive));
  }
}

TEST(UrlRandom, RelativeTextGivesTheSameAsItsAbsoluteForm) {
  TextGenerator generator(5);
  for (int round = 0; round < Rounds(100000); ++round) {
    const absl::StatusOr<Url> url = Url::Parse(generator.Next());
    if (!url.ok()) continue;
    const absl::StatusOr<Url> base = Url::Parse(generator.Next());
    if (!base.ok()) continue;
    SCOPED_TRACE(url->href() + " on " + base->href());
    ASSERT_EQ(Url::Parse(url->href(), *base)->href(), url->href());
    // "//host/..." takes only the scheme from the base.
    const absl::StatusOr<Url> other =
        Url::Parse(std::string_view(url->href()).substr(url->scheme().size() + 1), *base);
    ASSERT_TRUE(other.ok()) << other.status();
    ASSERT_EQ(other->scheme(), base->scheme());
    ASSERT_EQ(other->request_target(), url->request_target());
  }
}

}  // namespace
}  // namespace escalona

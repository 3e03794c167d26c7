// The URL rules of command files, one test per rule, and a naive parser to compare with.
#include "url/command_url.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace escalona {
namespace {

struct Parsed {
  std::string host;
  std::string path;
  uint32_t depth = 0;
  bool operator==(const Parsed&) const = default;
};

[[maybe_unused]] std::ostream& operator<<(std::ostream& out, const Parsed& url) {
  return out << "host '" << url.host << "', path '" << url.path << "', depth " << url.depth;
}

std::optional<Parsed> Parse(std::string_view line) {
  // An exact copy on the heap, so that AddressSanitizer sees a read past the end.
  const std::vector<char> exact(line.begin(), line.end());
  std::string scratch = "left over";
  CommandUrl url;
  if (!ParseCommandUrl({exact.data(), exact.size()}, scratch, url)) return std::nullopt;
  return Parsed{std::string(url.host), std::string(url.path), url.depth};
}

// What is printed for a line; "discarded" when nothing is.
std::string Result(std::string_view line) {
  const std::optional<Parsed> url = Parse(line);
  return url ? "http://" + url->host + url->path : "discarded";
}

int Depth(std::string_view line) {
  const std::optional<Parsed> url = Parse(line);
  return url ? static_cast<int>(url->depth) : -1;
}

std::string Times(size_t count, std::string_view text) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

// Lengths around the borders of the 64-byte blocks in which the parser looks at the part behind the
// scheme.
std::vector<size_t> BlockBorders() {
  std::vector<size_t> lengths;
  for (size_t border : {64, 128}) {
    for (size_t length = border - 2; length <= border + 2; ++length) lengths.push_back(length);
  }
  return lengths;
}

TEST(CommandUrlRules, BlanksAroundTheLineAreRemoved) {
  EXPECT_EQ(Result("  http://a.com/x"), "http://a.com/x");
  EXPECT_EQ(Result("http://a.com/x\t \t"), "http://a.com/x");
  EXPECT_EQ(Result(" \t http://a.com/x y \t"), "http://a.com/x y");
  EXPECT_EQ(Result("http://a.com/x/ "), "http://a.com/x") << "rule 5 does not see the blank";
  EXPECT_EQ(Result("http://a.com/x.pdf "), "discarded") << "nor does rule 6";
  EXPECT_EQ(Result(""), "discarded");
  EXPECT_EQ(Result(" \t "), "discarded");
}

TEST(CommandUrlRules, BlanksInsideTheLineStay) {
  EXPECT_EQ(Result("http://a.com/x #f"), "http://a.com/x ");
  EXPECT_EQ(Result("http://a.com/x /"), "http://a.com/x ");
  EXPECT_EQ(Result("http://a b/c d?e f"), "http://a b/c d?e f");
}

TEST(CommandUrlRules, Rule1_CutAtTheFirstHash) {
  EXPECT_EQ(Result("http://www.globoesporte.com/page1.js?q=copa#group1"),
            "http://globoesporte.com/page1.js?q=copa");
  EXPECT_EQ(Result("http://a.com/x#y#z"), "http://a.com/x");
  EXPECT_EQ(Result("http://a.com#x"), "http://a.com");
  EXPECT_EQ(Result("http://a.com#/x?y"), "http://a.com") << "a path behind the cut is none";
  EXPECT_EQ(Result("http://a.com/x/#y"), "http://a.com/x") << "the cut comes before rule 5";
  EXPECT_EQ(Result("http://a.com/x.pdf#y"), "discarded") << "and before rule 6";
  EXPECT_EQ(Result("http://a.com/x#y.pdf"), "http://a.com/x");
  EXPECT_EQ(Result("http://a.com/x#"), "http://a.com/x");
  EXPECT_EQ(Result("#http://a.com/x"), "discarded");
  EXPECT_EQ(Result("http:#//a.com"), "discarded");
  EXPECT_EQ(Result("http://#a.com"), "discarded");
}

TEST(CommandUrlRules, Rule1_AtTheBordersOfBlocks) {
  for (size_t length : BlockBorders()) {
    const std::string kept = "http://a.com/" + std::string(length - 6, 'x');
    EXPECT_EQ(Result(kept + "#/?A.pdf"), kept) << length;
    EXPECT_EQ(Result(kept + "#" + std::string(200, '/')), kept) << length;
    EXPECT_EQ(Depth(kept + "#/?/#/"), 1) << length;
    const std::string host = "http://" + std::string(length, 'h');
    EXPECT_EQ(Result(host + "#A/b"), host) << length;
    EXPECT_EQ(Depth(host + "#A/b"), 0) << length;
  }
}

TEST(CommandUrlRules, Rule2_OnlyHttpInAnyCase) {
  EXPECT_EQ(Result("http://a.com"), "http://a.com");
  EXPECT_EQ(Result("HTTP://a.com"), "http://a.com");
  EXPECT_EQ(Result("hTtP://a.com/B"), "http://a.com/B");
  for (const char* line : {"https://a.com",
                           "HTTPS://a.com",
                           "ftp://ftp.globo.com",
                           "a.com",
                           "www.a.com/x",
                           "//a.com",
                           "://a.com",
                           "http:/a.com",
                           "http:a.com",
                           "http//a.com",
                           "htt://a.com",
                           "xhttp://a.com",
                           "http ://a.com",
                           "h",
                           "http",
                           "http:",
                           "http:/",
                           "http://",
                           "httpx://a.com",
                           "ESCALONA 3",
                           "http;//a.com",
                           "\xc8ttp://a.com",
                           "mailto:a@http://a.com"}) {
    EXPECT_EQ(Result(line), "discarded") << line;
  }
}

TEST(CommandUrlRules, Rule3_TheHostEndsAtTheFirstSlashOrQuestionMark) {
  EXPECT_EQ(Parse("http://a.com/b?c/d"), (Parsed{"a.com", "/b?c/d", 1}));
  EXPECT_EQ(Parse("http://a.com?b/c"), (Parsed{"a.com", "?b/c", 0}));
  EXPECT_EQ(Parse("http://a.com"), (Parsed{"a.com", "", 0}));
  EXPECT_EQ(Parse("http://a"), (Parsed{"a", "", 0}));
}

TEST(CommandUrlRules, Rule3_APortBelongsToTheHost) {
  EXPECT_EQ(Parse("http://www.A.com:80/B"), (Parsed{"a.com:80", "/B", 1}));
  EXPECT_EQ(Parse("http://u:P@A.com:8080"), (Parsed{"u:p@a.com:8080", "", 0}));
}

TEST(CommandUrlRules, Rule3_HostAndSchemeAreLoweredAndNothingElse) {
  EXPECT_EQ(Result("HTTP://WWW.Globo.COM/Videos?Q=Copa"), "http://globo.com/Videos?Q=Copa");
  EXPECT_EQ(Result("http://A.com?B"), "http://a.com?B");
  EXPECT_EQ(Result("http://AZ@[`{az.com"), "http://az@[`{az.com") << "neighbours of A and Z";
  EXPECT_EQ(Result("http://\xc3\x89.com"), "http://\xc3\x89.com") << "only A to Z have case";
}

TEST(CommandUrlRules, Rule3_AnEmptyHostIsDiscarded) {
  for (const char* line :
       {"http://", "http:///", "http:///a", "http://?a", "http://#a", "http://www.", "http://WWW.",
        "http://www./a", "http://www.?a", "http://www.#a"}) {
    EXPECT_EQ(Result(line), "discarded") << line;
  }
}

TEST(CommandUrlRules, Rule3_AtTheBordersOfBlocks) {
  for (size_t length : BlockBorders()) {
    const std::string host(length, 'h');
    EXPECT_EQ(Parse("http://" + host), (Parsed{host, "", 0})) << length;
    EXPECT_EQ(Parse("http://" + host + "/P?/"), (Parsed{host, "/P?", 1})) << length;
    EXPECT_EQ(Parse("http://" + host + "?P/q"), (Parsed{host, "?P/q", 0})) << length;
    for (size_t capital = length - 3; capital < length; ++capital) {
      std::string mixed = host;
      mixed[capital] = 'H';
      EXPECT_EQ(Parse("http://" + mixed), (Parsed{host, "", 0})) << length << " " << capital;
      EXPECT_EQ(Parse("http://" + mixed + "/H?H"), (Parsed{host, "/H?H", 1})) << length;
      EXPECT_EQ(Parse("http://" + mixed + "?H/H"), (Parsed{host, "?H/H", 0})) << length;
    }
    // Only the path has a capital.
    EXPECT_EQ(Parse("http://" + host + "/" + host + "H"), (Parsed{host, "/" + host + "H", 1}));
  }
}

TEST(CommandUrlRules, Rule4_OneLeadingWwwIsRemovedNowhereElse) {
  EXPECT_EQ(Result("http://www.a.com/www.b/"), "http://a.com/www.b");
  EXPECT_EQ(Result("http://my.www.com"), "http://my.www.com");
  EXPECT_EQ(Result("http://a.com/www.b/c"), "http://a.com/www.b/c");
  EXPECT_EQ(Result("http://www.www.a.com"), "http://www.a.com");
  EXPECT_EQ(Result("http://wWw.a.com"), "http://a.com") << "host letters are lowered before";
  EXPECT_EQ(Result("http://www"), "http://www");
  EXPECT_EQ(Result("http://wwwa.com"), "http://wwwa.com");
  EXPECT_EQ(Result("http://www2.a.com"), "http://www2.a.com");
  EXPECT_EQ(Result("http://www.:80/x"), "http://:80/x");
  EXPECT_EQ(Result("http://www..com"), "http://.com");
}

TEST(CommandUrlRules, Rule5_AllSlashesAtTheVeryEndAreRemoved) {
  EXPECT_EQ(Result("http://www.globo.com/"), "http://globo.com");
  EXPECT_EQ(Result("http://a.com///"), "http://a.com");
  EXPECT_EQ(Result("http://a.com/b//"), "http://a.com/b");
  EXPECT_EQ(Result("http://a.com//b"), "http://a.com//b");
  EXPECT_EQ(Result("http://a.com/?q=/x//"), "http://a.com/?q=/x") << "also of a query";
  EXPECT_EQ(Result("http://a.com/?/"), "http://a.com/?");
  EXPECT_EQ(Result("http://a.com?//"), "http://a.com?");
  EXPECT_EQ(Result("http://a.com/b/#c/"), "http://a.com/b");
  EXPECT_EQ(Result("http://a.com/b/?c"), "http://a.com/b/?c") << "not at the end";
  for (size_t length = 1; length < 200; ++length) {
    EXPECT_EQ(Result("http://a.com/b" + std::string(length, '/')), "http://a.com/b") << length;
    EXPECT_EQ(Depth("http://a.com/b?" + std::string(length, '/')), 1) << length;
  }
}

TEST(CommandUrlRules, Rule6_PicturesAndDocumentsAreDiscardedByTheEndOfThePath) {
  for (const std::string extension : {".jpg", ".gif", ".mp3", ".avi", ".doc", ".pdf"}) {
    for (const std::string tail : {"", "?x=1", "/", "//", "#x", "?", "?/", " ", "/#x"}) {
      EXPECT_EQ(Result("http://a.com/a" + extension + tail), "discarded") << extension << tail;
      EXPECT_EQ(Result("http://a.com/" + extension + tail), "discarded") << extension << tail;
    }
    for (const std::string& stays :
         {"/a" + extension + "/x", "/a" + extension + "x", "/view.php?f=a" + extension,
          "?a" + extension, "/a" + extension + ".html", "/a" + extension.substr(1),
          "/a" + extension + "/?x"}) {
      EXPECT_EQ(Result("http://a.com" + stays), "http://a.com" + stays);
    }
    EXPECT_EQ(Result("http://a" + extension), "http://a" + extension) << "a host is no path";
    EXPECT_EQ(Result("http://a" + extension + "/"), "http://a" + extension);
    EXPECT_EQ(Result("http://a" + extension + "?x"), "http://a" + extension + "?x");
  }
  for (const std::string stays : {"/a.docx", "/a.aviao", "/a.PDF", "/a.Jpg", "/a.jpeg", "/a.png",
                                  "/pdf", "/.pd", "/a.pdf%20", "/a.pdf;x"}) {
    EXPECT_EQ(Result("http://a.com" + stays), "http://a.com" + stays);
  }
}

TEST(CommandUrlRules, Rule6_AtTheBordersOfBlocks) {
  for (size_t length : BlockBorders()) {
    for (size_t cut = 0; cut < 5; ++cut) {
      const std::string path = "/" + std::string(length - 6 - cut, 'x') + ".pdf";
      EXPECT_EQ(Result("http://a.com" + path), "discarded") << length;
      EXPECT_EQ(Result("http://a.com" + path + "?q"), "discarded") << length;
      EXPECT_EQ(Result("http://a.com" + path + "///"), "discarded") << length;
      EXPECT_EQ(Result("http://a.com" + path + "/q"), "http://a.com" + path + "/q") << length;
    }
  }
}

TEST(CommandUrlRules, Rule7_DepthIsTheNumberOfSlashesInThePath) {
  EXPECT_EQ(Depth("http://a.com"), 0);
  EXPECT_EQ(Depth("http://a.com/"), 0) << "counted after rule 5";
  EXPECT_EQ(Depth("http://a.com/b"), 1);
  EXPECT_EQ(Depth("http://a.com/b/"), 1);
  EXPECT_EQ(Depth("http://a.com/b/c"), 2);
  EXPECT_EQ(Depth("http://a.com//b"), 2) << "// counts two";
  EXPECT_EQ(Depth("http://a.com/b?c/d/e"), 1) << "slashes in the query count none";
  EXPECT_EQ(Depth("http://a.com/b?c?/d"), 1);
  EXPECT_EQ(Depth("http://a.com/b/?c"), 2);
  EXPECT_EQ(Parse("http://a.com/?q"), (Parsed{"a.com", "/?q", 1})) << "keeps its slash";
  EXPECT_EQ(Parse("http://a.com?q"), (Parsed{"a.com", "?q", 0}));
}

TEST(CommandUrlRules, Rule7_AtTheBordersOfBlocks) {
  for (size_t length : BlockBorders()) {
    // All slashes, one slash and one question mark at each place of the path.
    const std::string slashes(length - 5, '/');
    EXPECT_EQ(Depth("http://a.com" + slashes + "x"), static_cast<int>(slashes.size()));
    EXPECT_EQ(Depth("http://a.com" + slashes + "x" + slashes), static_cast<int>(slashes.size()));
    EXPECT_EQ(Depth("http://a.com" + slashes + "?" + slashes + "x"),
              static_cast<int>(slashes.size()));
    for (size_t place = 1; place < slashes.size(); ++place) {
      std::string path = "/" + std::string(slashes.size(), 'x');
      path[place] = '/';
      EXPECT_EQ(Depth("http://a.com" + path), 2) << length << " " << place;
      path[place] = '?';
      EXPECT_EQ(Depth("http://a.com" + path + "/y"), 1) << length << " " << place;
    }
  }
  EXPECT_EQ(Depth("http://a.com" + Times(100000, "/x")), 100000);
}

TEST(CommandUrlRules, OtherCharactersPassThroughUnchanged) {
  for (const std::string path : {"/%41%2f&+~,@:;", "/caf\xc3\xa9", "/\xff\x80\x01", "/a/../b/./c",
                                 "/a\\b", "/a?b=c&d=%20", "/a\rb", "/x\"<>^`{|}"}) {
    EXPECT_EQ(Result("http://a.com" + path), "http://a.com" + path);
  }
  const std::string nul("http://a\0b/c\0d?\0", 16);
  EXPECT_EQ(Result(nul), nul);
}

// ---- an independent parser: rule by rule, on copies

void RemoveAround(std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  text = first == std::string::npos ? "" : text.substr(first);
  text.erase(text.find_last_not_of(" \t") + 1);
}

std::optional<Parsed> NaiveParse(std::string text) {
  RemoveAround(text);
  text = text.substr(0, text.find('#'));
  const size_t mark = text.find("://");
  if (mark == std::string::npos) return std::nullopt;
  std::string scheme = text.substr(0, mark);
  for (char& c : scheme) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (scheme != "http") return std::nullopt;
  text = text.substr(mark + 3);
  std::string host = text.substr(0, text.find_first_of("/?"));
  std::string rest = text.substr(host.size());
  for (char& c : host) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (host.substr(0, 4) == "www.") host = host.substr(4);
  if (host.empty()) return std::nullopt;
  while (!rest.empty() && rest.back() == '/') rest.pop_back();
  const std::string path = rest.substr(0, rest.find('?'));
  for (const std::string end : {".jpg", ".gif", ".mp3", ".avi", ".doc", ".pdf"}) {
    if (path.size() >= 4 && path.substr(path.size() - 4) == end) return std::nullopt;
  }
  return Parsed{host, rest, static_cast<uint32_t>(std::count(path.begin(), path.end(), '/'))};
}

std::string RandomLine(std::mt19937& random) {
  static const std::vector<std::string> kPieces = {
      "/",    "/",    "/",     "?",    "#",  "a",    "A",   "Z",    "z",    ".",
      "www.", "WwW.", "http",  "://",  ":",  " ",    "\t",  ".pdf", ".gif", ".PDF",
      ".mp3", ".doc", "x.jpg", ".avi", "\r", "\xff", "%2F", "@",    "[",    std::string(1, '\0')};
  std::string line;
  if (random() % 20 == 0) line += " ";
  if (random() % 10 != 0) line += random() % 4 == 0 ? "hTTp://" : "http://";
  if (random() % 3 == 0) line += "www.";
  if (random() % 2 == 0) line += "host";
  // A run that brings what follows to the border of a block.
  if (random() % 3 == 0) line += std::string(50 + random() % 90, "aA/?"[random() % 4]);
  for (size_t pieces = random() % 12; pieces > 0; --pieces) {
    line += kPieces[random() % kPieces.size()];
    if (random() % 8 == 0) line += std::string(random() % 70, "xX/"[random() % 3]);
  }
  return line;
}

TEST(CommandUrl, AgreesWithANaiveParserOnRandomLines) {
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    const std::string line = RandomLine(random);
    const std::optional<Parsed> expected = NaiveParse(line);
    ASSERT_EQ(Parse(line), expected) << "line: " << testing::PrintToString(line);
    accepted += expected.has_value();
  }
  EXPECT_GT(accepted, 50000) << "the random lines must reach all rules";
  EXPECT_LT(accepted, 190000);
}

TEST(CommandUrl, IsIdempotentUntilAnotherWwwOrABlankShows) {
  std::mt19937 random(2);
  for (int i = 0; i < 50000; ++i) {
    const std::string once = Result(RandomLine(random));
    if (once == "discarded" || once.starts_with("http://www.")) continue;
    if (once.ends_with(' ') || once.ends_with('\t')) continue;
    ASSERT_EQ(Result(once), once) << testing::PrintToString(once);
  }
}

TEST(CommandUrl, LowersIntoTheScratchStringOnlyWhenItMust) {
  std::string scratch;
  CommandUrl url;
  const std::string lower = "http://www.a.com/B";
  ASSERT_TRUE(ParseCommandUrl(lower, scratch, url));
  EXPECT_EQ(url.host.data(), lower.data() + 11) << "a view of the line itself";
  EXPECT_EQ(url.path.data(), lower.data() + 16);
  EXPECT_EQ(scratch, "");
}

TEST(CommandUrl, TrimBlanksRemovesSpacesAndTabsOnly) {
  EXPECT_EQ(TrimBlanks(" \t a b\t "), "a b");
  EXPECT_EQ(TrimBlanks(" \t"), "");
  EXPECT_EQ(TrimBlanks("\ra\v"), "\ra\v");
}

}  // namespace
}  // namespace escalona

// Url: one test per rule of the normal form, of the parts and of the contract.
#include "escalona/url.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace escalona {
namespace {

// The normal form, or the error in angle brackets.
std::string Normal(std::string_view text) {
  const absl::StatusOr<Url> url = Url::Parse(text);
  return url.ok() ? url->href() : absl::StrCat("<", url.status().message(), ">");
}

std::string Normal(std::string_view text, std::string_view base) {
  const absl::StatusOr<Url> url = Url::ParseWithBase(text, base);
  return url.ok() ? url->href() : absl::StrCat("<", url.status().message(), ">");
}

Url Parsed(std::string_view text) {
  absl::StatusOr<Url> url = Url::Parse(text);
  EXPECT_TRUE(url.ok()) << text << ": " << url.status();
  return url.ok() ? *std::move(url) : Url();
}

bool Refused(std::string_view text) { return !Url::Parse(text).ok(); }

TEST(Url, SchemeAndHostAreLowerCasedThePathIsNot) {
  EXPECT_EQ(Normal("HTTPS://WWW.Example.COM/A/B?C=D"), "https://www.example.com/A/B?C=D");
}

TEST(Url, OnlyHttpAndHttpsAreTaken) {
  EXPECT_EQ(Normal("ftp://a.com/"), "<the scheme 'ftp' is not supported; use http or https>");
  EXPECT_TRUE(Refused("mailto:x@y"));
  EXPECT_TRUE(Refused("javascript:alert(1)"));
  EXPECT_TRUE(Refused("httpx://a.com/"));
}

TEST(Url, TextWithoutSchemeIsRefusedWithoutABase) {
  EXPECT_EQ(Normal("www.a.com"),
            "<it has no scheme; begin with http:// or https://, or give the base it is relative "
            "to>");
  EXPECT_TRUE(Refused(""));
  EXPECT_TRUE(Refused("//a.com/"));
}

TEST(Url, BlanksAndControlsAroundAreTrimmed) {
  EXPECT_EQ(Normal(" \x01\t\n http://a.com/x \r\n\x1f "), "http://a.com/x");
}

TEST(Url, TabsAndNewlinesInsideAreRemoved) {
  EXPECT_EQ(Normal("ht\ntp://a\t.com/x\r\ny?q\t=1"), "http://a.com/xy?q=1");
}

TEST(Url, BackslashIsASlashBeforeTheQuery) {
  EXPECT_EQ(Normal("http:\\\\a.com\\b\\..\\c?d\\e"), "http://a.com/c?d\\e");
}

TEST(Url, AnyNumberOfSlashesAfterTheScheme) {
  for (const char* text : {"http:a.com/x", "http:/a.com/x", "http://a.com/x", "http:///a.com/x",
                           "http:\\/\\//a.com/x"}) {
    EXPECT_EQ(Normal(text), "http://a.com/x") << text;
  }
}

TEST(Url, DefaultPortIsDropped) {
  EXPECT_EQ(Normal("http://a.com:80/"), "http://a.com/");
  EXPECT_EQ(Normal("https://a.com:443/"), "https://a.com/");
  EXPECT_EQ(Normal("http://a.com:443/"), "http://a.com:443/");
  EXPECT_EQ(Normal("http://a.com:/"), "http://a.com/");
  EXPECT_EQ(Normal("http://a.com:00008080/"), "http://a.com:8080/");
  EXPECT_EQ(Normal("http://a.com:0/"), "http://a.com:0/");
  EXPECT_EQ(Normal("http://a.com:65535/"), "http://a.com:65535/");
}

TEST(Url, PortMustBeANumberUpTo65535) {
  EXPECT_EQ(Normal("http://a.com:65536/"),
            "<the port '65536' is too large; write a number from 0 to 65535>");
  EXPECT_EQ(Normal("http://a.com:8o/"),
            "<the port '8o' is not a number; write a number from 0 to 65535>");
  EXPECT_TRUE(Refused("http://a.com:99999999999999999999999/"));
}

TEST(Url, DotSegmentsAreResolved) {
  EXPECT_EQ(Normal("http://a.com/b/./c/../d"), "http://a.com/b/d");
  EXPECT_EQ(Normal("http://a.com/../../b"), "http://a.com/b");
  EXPECT_EQ(Normal("http://a.com/b/.."), "http://a.com/");
  EXPECT_EQ(Normal("http://a.com/b/."), "http://a.com/b/");
  EXPECT_EQ(Normal("http://a.com/b/%2E%2e/c/%2e/d"), "http://a.com/c/d");
  EXPECT_EQ(Normal("http://a.com/.well-known/..x/.../x."), "http://a.com/.well-known/..x/.../x.");
}

TEST(Url, EmptySegmentsStay) {
  EXPECT_EQ(Normal("http://a.com//b///c//"), "http://a.com//b///c//");
}

TEST(Url, PathIsAtLeastASlash) {
  EXPECT_EQ(Normal("http://a.com"), "http://a.com/");
  EXPECT_EQ(Normal("http://a.com?q"), "http://a.com/?q");
  EXPECT_EQ(Normal("http://a.com#f"), "http://a.com/");
}

TEST(Url, PathIsPercentEncodedWhereTheStandardAsks) {
  EXPECT_EQ(Normal("http://a.com/ \"<>^`{}\u00e9\x7f"),
            "http://a.com/%20%22%3C%3E%5E%60%7B%7D%C3%A9%7F");
  EXPECT_EQ(Normal("http://a.com/|[]'!$&()*+,;=:@~%zz%7e"), "http://a.com/|[]'!$&()*+,;=:@~%zz%7e");
}

TEST(Url, QueryIsPercentEncodedWhereTheStandardAsks) {
  EXPECT_EQ(Normal("http://a.com/? \"<>'\u00e9"), "http://a.com/?%20%22%3C%3E%27%C3%A9");
  EXPECT_EQ(Normal("http://a.com/?^`{}|\\/?:@[]%zz"), "http://a.com/?^`{}|\\/?:@[]%zz");
}

TEST(Url, BytesThatAreNotUtf8AreEncodedInThePathAndRefusedInTheHost) {
  EXPECT_EQ(Normal("http://a.com/\xe9?\xff"), "http://a.com/%E9?%FF");
  EXPECT_TRUE(Refused("http://\xe9.com/"));
}

TEST(Url, FragmentIsDropped) {
  EXPECT_EQ(Normal("http://a.com/b?c#d"), "http://a.com/b?c");
  EXPECT_EQ(Normal("http://a.com/b#c?d"), "http://a.com/b");
  EXPECT_EQ(Normal("http://a.com/#a\tb"), "http://a.com/");
}

TEST(Url, EmptyQueryStays) { EXPECT_EQ(Normal("http://a.com/?#x"), "http://a.com/?"); }

TEST(Url, CredentialsAreKeptAndEncoded) {
  EXPECT_EQ(Normal("http://u:p@a.com/"), "http://u:p@a.com/");
  EXPECT_EQ(Normal("http://u@v:p:q@a.com/"), "http://u%40v:p%3Aq@a.com/");
  EXPECT_EQ(Normal("http://@a.com/"), "http://a.com/");
  EXPECT_EQ(Normal("http://:@a.com/"), "http://a.com/");
  EXPECT_EQ(Normal("http://u:@a.com/"), "http://u@a.com/");
  EXPECT_EQ(Normal("http://:p@a.com/"), "http://:p@a.com/");
}

TEST(Url, HostIsNeverEmpty) {
  EXPECT_EQ(Normal("http:///"), "<the host is empty; write a host such as example.com>");
  EXPECT_TRUE(Refused("http://"));
  EXPECT_TRUE(Refused("http://u@/"));
  EXPECT_TRUE(Refused("http://:80/"));
  EXPECT_TRUE(Refused("http://?q"));
  EXPECT_TRUE(Refused("http://\u00ad/"));
}

TEST(Url, HostRefusesForbiddenCharacters) {
  EXPECT_EQ(Normal("http://a b.com/"),
            "<the host 'a b.com' has the character ' '; no domain may hold it, percent-encoded or "
            "not>");
  EXPECT_TRUE(Refused("http://a%20b.com/"));
  EXPECT_TRUE(Refused("http://a%00b.com/"));
  EXPECT_TRUE(Refused("http://a<b/"));
  EXPECT_EQ(Normal("http://a_b-.c~!$&'()*+,;=\"`{}/"), "http://a_b-.c~!$&'()*+,;=\"`{}/");
}

TEST(Url, HostIsPercentDecoded) {
  EXPECT_EQ(Normal("http://%41.%63om/"), "http://a.com/");
  EXPECT_EQ(Normal("http://b%C3%BCcher.de/"), "http://xn--bcher-kva.de/");
}

TEST(Url, InternationalHostsBecomeAscii) {
  EXPECT_EQ(Normal("http://B\u00fccher.DE/"), "http://xn--bcher-kva.de/");
  EXPECT_EQ(Normal("http://fa\u00df.de/"), "http://xn--fa-hia.de/");
  EXPECT_EQ(Normal("http://\u2603/"), "http://xn--n3h/");
  EXPECT_EQ(Normal("http://a\u3002com/"), "http://a.com/");
  EXPECT_EQ(Normal("http://a\u00adb.com/"), "http://ab.com/");
}

TEST(Url, InternationalHostsThatAreNoneAreRefusedWithTheReason) {
  EXPECT_TRUE(absl::StrContains(Normal("http://xn--999999999.\u00df/"), "is no Punycode"));
  EXPECT_TRUE(absl::StrContains(Normal("http://\u064aa/"), "mixes left-to-right"));
  EXPECT_TRUE(absl::StrContains(Normal("http://\u200d.a/"), "joiner"));
  EXPECT_TRUE(absl::StrContains(Normal("http://\ufffd.a/"), "no domain may have"));
  EXPECT_TRUE(absl::StrContains(Normal("http://xn--.\u00df/"), "stands for no name"));
  EXPECT_TRUE(absl::StrContains(Normal("http://xn--abc-.\u00df/"), "stands for no name"));
}

TEST(Url, AsciiHostsPassWithoutIdna) {
  EXPECT_EQ(Normal("http://XN--A/"), "http://xn--a/");
  EXPECT_EQ(Normal("http://xn--/"), "http://xn--/");
}

TEST(Url, EverySpellingOfAnIpv4AddressBecomesOne) {
  for (const char* host :
       {"192.0.2.1", "192.0.513", "192.513", "3221225985", "0xC0.0.02.0x1", "0300.0.2.1",
        "192.0.2.1.", "0xc0000201", "%31%392.0.2.1", "\uff11\uff19\uff12.0.2.1"}) {
    const Url url = Parsed(absl::StrCat("http://", host, "/"));
    EXPECT_EQ(url.href(), "http://192.0.2.1/") << host;
    EXPECT_EQ(url.host_kind(), HostKind::kIpv4) << host;
  }
  EXPECT_EQ(Normal("http://0x/"), "http://0.0.0.0/");
  EXPECT_EQ(Normal("http://4294967295/"), "http://255.255.255.255/");
}

TEST(Url, HostThatEndsInANumberIsAnIpv4AddressOrNone) {
  EXPECT_EQ(Normal("http://192.0.2.256/"),
            "<the host '192.0.2.256' ends in a number and is no IPv4 address; write four numbers "
            "from 0 to 255 with dots between, such as 192.0.2.1>");
  for (const char* host : {"1.2.3.4.5", "4294967296", "a.1", "1.2.3.09", "1..2", "a.0x1",
                           "256.1.1.1", "1.256.1.1", "1.16777216", "1.2.65536"}) {
    EXPECT_TRUE(Refused(absl::StrCat("http://", host, "/"))) << host;
  }
  EXPECT_EQ(Normal("http://1.2.3.4a/"), "http://1.2.3.4a/");
  EXPECT_EQ(Normal("http://a.0y/"), "http://a.0y/");
  EXPECT_EQ(Normal("http://1.2../"), "http://1.2../");
}

TEST(Url, EverySpellingOfAnIpv6AddressBecomesOne) {
  EXPECT_EQ(Normal("http://[2001:DB8:0:0:0:0:0:1]/"), "http://[2001:db8::1]/");
  EXPECT_EQ(Normal("http://[::]/"), "http://[::]/");
  EXPECT_EQ(Normal("http://[1::]/"), "http://[1::]/");
  EXPECT_EQ(Normal("http://[0:0:1:0:0:0:1:0]/"), "http://[0:0:1::1:0]/");
  EXPECT_EQ(Normal("http://[1:0:0:2:0:0:3:4]/"), "http://[1::2:0:0:3:4]/");
  EXPECT_EQ(Normal("http://[1:0:2:0:3:0:4:0]/"), "http://[1:0:2:0:3:0:4:0]/");
  EXPECT_EQ(Normal("http://[1:2:3:4:5:6:7::]/"), "http://[1:2:3:4:5:6:7:0]/");
  EXPECT_EQ(Normal("http://[::ffff:192.0.2.1]/"), "http://[::ffff:c000:201]/");
  EXPECT_EQ(Normal("http://[::1]:8080/"), "http://[::1]:8080/");
  EXPECT_EQ(Parsed("http://[::1]/").host_kind(), HostKind::kIpv6);
}

TEST(Url, BrokenIpv6AddressesAreRefused) {
  EXPECT_EQ(Normal("http://[::g]/"),
            "<the host '[::g]' is no IPv6 address; write one as [2001:db8::1] or "
            "[::ffff:192.0.2.1]>");
  EXPECT_EQ(Normal("http://[::1/"),
            "<the host '[::1' has no closing bracket; write an IPv6 address as [2001:db8::1]>");
  for (const char* host :
       {"[]", "[:]", "[:1]", "[1:]", "[1]", "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]",
        "[1:2:3:4:5:6:7::8]", "[::1::]", "[:::]", "[12345::]", "[::1.2.3]", "[::1.2.3.4.5]",
        "[::1.2.3.256]", "[::01.2.3.4]", "[1:2:3:4:5:6:7:1.2.3.4]", "[::1.2.3.4:5]", "[::1%25eth0]",
        "[::1]x"}) {
    EXPECT_TRUE(Refused(absl::StrCat("http://", host, "/"))) << host;
  }
}

TEST(Url, RelativeTextIsResolvedAgainstTheBase) {
  const std::string base = "http://u:p@a.com:81/b/c/d;e?q#f";
  EXPECT_EQ(Normal("g", base), "http://u:p@a.com:81/b/c/g");
  EXPECT_EQ(Normal("./g/.", base), "http://u:p@a.com:81/b/c/g/");
  EXPECT_EQ(Normal("../g", base), "http://u:p@a.com:81/b/g");
  EXPECT_EQ(Normal("../../../../g", base), "http://u:p@a.com:81/g");
  EXPECT_EQ(Normal("/g", base), "http://u:p@a.com:81/g");
  EXPECT_EQ(Normal("\\g", base), "http://u:p@a.com:81/g");
  EXPECT_EQ(Normal("//g", base), "http://g/");
  EXPECT_EQ(Normal("\\/g", base), "http://g/");
  EXPECT_EQ(Normal("?y", base), "http://u:p@a.com:81/b/c/d;e?y");
  EXPECT_EQ(Normal("#s", base), "http://u:p@a.com:81/b/c/d;e?q");
  EXPECT_EQ(Normal("", base), "http://u:p@a.com:81/b/c/d;e?q");
  EXPECT_EQ(Normal("g?y/./x#s", base), "http://u:p@a.com:81/b/c/g?y/./x");
  EXPECT_EQ(Normal("https://x", base), "https://x/");
}

TEST(Url, SchemeWithoutSlashesIsRelativeToABaseOfTheSameScheme) {
  EXPECT_EQ(Normal("http:g", "http://a.com/b/c"), "http://a.com/b/g");
  EXPECT_EQ(Normal("http:/g", "http://a.com/b/c"), "http://a.com/g");
  EXPECT_EQ(Normal("http:", "http://a.com/b/c?q"), "http://a.com/b/c?q");
  EXPECT_EQ(Normal("http:g", "https://a.com/b/c"), "http://g/");
  EXPECT_EQ(Normal("https:/g", "http://a.com/b/c"), "https://g/");
}

TEST(Url, BaseOfAnotherSchemeServesAbsoluteTextOnly) {
  EXPECT_EQ(Normal("http://a.com", "about:blank"), "http://a.com/");
  EXPECT_EQ(Normal("http:a.com", "file:///x"), "http://a.com/");
  EXPECT_EQ(Normal("x", "file:///y"),
            "<it is relative and the base is neither http nor https but 'file'; give an http or "
            "https base>");
}

TEST(Url, BaseThatIsNoUrlIsRefused) {
  EXPECT_TRUE(absl::StartsWith(Normal("http://a.com", "x/y"), "<the base cannot be used: "));
  EXPECT_TRUE(absl::StartsWith(Normal("http://a.com", "http://"), "<the base cannot be used: "));
}

TEST(Url, PartsAreThoseOfTheNormalForm) {
  const Url url = Parsed("HTTPS://u:p@Example.com:8443/a/b?c=d#e");
  EXPECT_EQ(url.href(), "https://u:p@example.com:8443/a/b?c=d");
  EXPECT_EQ(url.scheme(), "https");
  EXPECT_EQ(url.username(), "u");
  EXPECT_EQ(url.password(), "p");
  EXPECT_EQ(url.host(), "example.com");
  EXPECT_EQ(url.host_kind(), HostKind::kDomain);
  EXPECT_EQ(url.port(), 8443);
  EXPECT_TRUE(url.has_port());
  EXPECT_EQ(url.path(), "/a/b");
  EXPECT_EQ(url.query(), "c=d");
  EXPECT_EQ(url.request_target(), "/a/b?c=d");
}

TEST(Url, PartsThatAreMissingAreEmpty) {
  const Url url = Parsed("http://a.com");
  EXPECT_EQ(url.username(), "");
  EXPECT_EQ(url.password(), "");
  EXPECT_EQ(url.port(), 80);
  EXPECT_FALSE(url.has_port());
  EXPECT_FALSE(url.has_query());
  EXPECT_EQ(url.query(), "");
  EXPECT_TRUE(Parsed("http://a.com/?").has_query());
  EXPECT_EQ(Parsed("https://:p@a.com/").password(), "p");
  EXPECT_EQ(Parsed("https://a.com/").port(), 443);
}

TEST(Url, EmptyUrlHasEmptyParts) {
  const Url url;
  EXPECT_TRUE(url.empty());
  for (std::string_view part :
       {url.scheme(), url.username(), url.password(), url.host(), url.path(), url.query(),
        url.request_target(), url.HostKey(), url.RegistrableDomain()}) {
    EXPECT_EQ(part, "");
  }
  EXPECT_EQ(url.port(), 0);
  EXPECT_EQ(url.Depth(), 0u);
  EXPECT_EQ(url.DedupKey(DedupProfile::kAggressive), "");
}

TEST(Url, DepthCountsTheSlashesOfThePathWithoutThoseAtTheEnd) {
  EXPECT_EQ(Parsed("http://a.com").Depth(), 0u);
  EXPECT_EQ(Parsed("http://a.com/").Depth(), 0u);
  EXPECT_EQ(Parsed("http://a.com///").Depth(), 0u);
  EXPECT_EQ(Parsed("http://a.com/b").Depth(), 1u);
  EXPECT_EQ(Parsed("http://a.com/b/").Depth(), 1u);
  EXPECT_EQ(Parsed("http://a.com//b").Depth(), 2u);
  EXPECT_EQ(Parsed("http://a.com/b/c/d").Depth(), 3u);
  EXPECT_EQ(Parsed("http://a.com/?q=/x/y/").Depth(), 1u);
  EXPECT_EQ(Parsed("http://a.com/b/?q").Depth(), 2u);
}

TEST(Url, HostKeyIsTheHostWithoutPortAndFinalDot) {
  EXPECT_EQ(Parsed("https://u@WWW.A.com.:8080/x").HostKey(), "www.a.com");
  EXPECT_EQ(Parsed("http://[::1]:81/").HostKey(), "[::1]");
  EXPECT_EQ(Parsed("http://a../").HostKey(), "a..");
  EXPECT_EQ(Parsed("http://./").HostKey(), ".");
}

TEST(Url, RegistrableDomainFollowsThePublicSuffixList) {
  EXPECT_EQ(Parsed("http://www.example.com/").RegistrableDomain(), "example.com");
  EXPECT_EQ(Parsed("http://a.b.example.co.uk./").RegistrableDomain(), "example.co.uk");
  EXPECT_EQ(Parsed("http://x.uol.com.br/").RegistrableDomain(), "uol.com.br");
  EXPECT_EQ(Parsed("http://a.b.github.io/").RegistrableDomain(), "b.github.io");
  EXPECT_EQ(Parsed("http://x.\u98df\u72ee.\u516c\u53f8.cn/").RegistrableDomain(),
            "xn--85x722f.xn--55qx5d.cn");
}

TEST(Url, RegistrableDomainIsEmptyWhereThereIsNone) {
  for (const char* text :
       {"http://co.uk/", "http://localhost/", "http://192.0.2.1/", "http://[::1]/", "http://com/",
        "http://../", "http://a.com../", "http://a..com/", "http://.com/"}) {
    EXPECT_EQ(Parsed(text).RegistrableDomain(), "") << text;
  }
  EXPECT_EQ(Parsed("http://" + std::string(300, 'a') + ".com/").RegistrableDomain(), "");
}

TEST(Url, AssignReplacesTheUrlAndItsMemoryIsReused) {
  Url url = Parsed("http://a.com/" + std::string(200, 'x'));
  const char* const memory = url.href().data();
  ASSERT_TRUE(url.Assign("https://b.org:81/" + std::string(150, 'y')).ok());
  EXPECT_EQ(url.href().data(), memory);
  EXPECT_EQ(url.host(), "b.org");
  ASSERT_TRUE(url.Assign("HTTP://C.net/ " + std::string(150, 'z')).ok());
  EXPECT_EQ(url.href().data(), memory);
  EXPECT_EQ(url.host(), "c.net");
}

TEST(Url, FailedAssignLeavesAnEmptyUrl) {
  Url url = Parsed("http://a.com/b?c");
  EXPECT_FALSE(url.Assign("http://a.com:x/").ok());
  EXPECT_EQ(url, Url());
  EXPECT_EQ(url.host(), "");
  EXPECT_FALSE(url.has_query());
}

TEST(Url, AssignMayReadItself) {
  Url url = Parsed("http://a.com/http://b.org/some/long/path/that/needs/the/heap/../x");
  ASSERT_TRUE(url.Assign(url.path().substr(1)).ok());
  EXPECT_EQ(url.href(), "http://b.org/some/long/path/that/needs/the/x");
  ASSERT_TRUE(url.Assign("../y", url).ok());
  EXPECT_EQ(url.href(), "http://b.org/some/long/path/that/needs/y");
}

TEST(Url, MovedFromUrlIsEmpty) {
  Url a = Parsed("http://a.com/b");
  const Url b = std::move(a);
  EXPECT_EQ(b.href(), "http://a.com/b");
  EXPECT_EQ(a, Url());      // NOLINT(bugprone-use-after-move): the contract
  EXPECT_EQ(a.host(), "");  // NOLINT(bugprone-use-after-move): the contract
}

TEST(Url, EqualUrlsHashAlike) {
  const Url a = Parsed("http://A.com:80/x#y"), b = Parsed("http://a.com/x");
  EXPECT_EQ(a, b);
  EXPECT_EQ(absl::HashOf(a), absl::HashOf(b));
  EXPECT_LT(a, Parsed("http://a.com/y"));
}

TEST(Url, LengthIsLimitedBeforeAndAfterNormalisation) {
  const std::string prefix = "http://a.com/";
  const std::string fits(Url::kMaxLength - prefix.size(), 'x');
  EXPECT_FALSE(Refused(prefix + fits));
  EXPECT_EQ(Normal(prefix + fits + "x"), "<it is longer than 2097152 bytes; shorten it>");
  EXPECT_EQ(Normal(prefix + std::string(Url::kMaxLength / 2, ' ') + "x"),
            "<it is in its normal form longer than 2097152 bytes; shorten it>");
  EXPECT_FALSE(Refused("http://" + std::string(Url::kMaxLength - 8, 'a')));
  EXPECT_FALSE(Refused(std::string(3 * Url::kMaxLength, ' ') + "http://a.com/"));
}

TEST(Url, ErrorsShowOddTextEscapedAndCut) {
  EXPECT_TRUE(absl::StrContains(Normal("http://a\x01\u00e9|/"), "'a\\001\u00e9|'"));
  const std::string message = Normal("http://" + std::string(5000, 'a') + "|/");
  EXPECT_LT(message.size(), 300u);
  EXPECT_TRUE(absl::StrContains(message, "aaa...'"));
}

}  // namespace
}  // namespace escalona

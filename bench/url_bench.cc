// Speed of Url (crawler profile) beside Boost.URL's bare parse of the same list, in ns per URL.
//
// Boost.URL only checks the grammar and notes where the parts are; Url also brings everything to
// normal form in memory of its own. Goals: at most 200 ns per URL, at most 1.5 times Boost.URL.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <boost/url/parse.hpp>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "escalona/url.h"

namespace escalona {
namespace {

constexpr size_t kUrls = 20000;
constexpr double kGoalNs = 200;
constexpr double kGoalRatio = 1.5;

// Draws links as crawls meet them; the same seed gives the same list. Shares are per cent of URLs.
class LinkGenerator {
 public:
  std::string Next() {
    std::string url = Chance(75) ? "https://" : "http://";
    url += Host();
    if (Chance(2)) absl::StrAppend(&url, ":", Number(1024, 65535));
    if (Chance(3)) return Chance(50) ? absl::StrCat(url, "/") : url;
    for (int segments = Number(1, 6); segments > 0; --segments) {
      absl::StrAppend(&url, "/", Segment());
    }
    if (Chance(30)) url += "/";
    if (Chance(35)) absl::StrAppend(&url, "?", Query());
    if (Chance(5)) absl::StrAppend(&url, "#", Word());
    return url;
  }

 private:
  bool Chance(int percent) { return Number(1, 100) <= percent; }
  int Number(int first, int last) { return std::uniform_int_distribution<>(first, last)(random_); }

  std::string Word() {
    static constexpr const char* kSyllables[] = {"con", "ta",  "pro", "ver", "ing", "ar", "de",
                                                 "mi",  "ser", "ne",  "lo",  "ti",  "on", "ra"};
    std::string word;
    for (int n = Number(1, 4); n > 0; --n) word += kSyllables[Number(0, 13)];
    return word;
  }

  std::string Host() {
    static constexpr const char* kSuffixes[] = {"com", "org", "net", "com.br", "de", "co.uk", "fr"};
    if (Chance(1)) return absl::StrCat("b\u00fccher-", Word(), ".de");
    if (Chance(1)) return absl::StrCat("192.0.2.", Number(1, 254));
    std::string host;
    if (Chance(45)) {
      host = "www.";
    } else if (Chance(30)) {
      host = absl::StrCat(Word(), ".");
    }
    host += Word();
    if (Chance(15)) absl::StrAppend(&host, "-", Word());
    absl::StrAppend(&host, ".", kSuffixes[Number(0, 6)]);
    return Chance(5) ? absl::AsciiStrToUpper(host) : host;
  }

  std::string Segment() {
    std::string segment = Word();
    while (Chance(35)) absl::StrAppend(&segment, "-", Word());
    if (Chance(15)) absl::StrAppend(&segment, Number(1, 99999));
    if (Chance(4)) absl::StrAppend(&segment, "%20", Word(), "%C3%A9");
    if (Chance(1)) absl::StrAppend(&segment, " ", Word());
    if (Chance(10)) segment += ".html";
    return segment;
  }

  std::string Query() {
    std::string query = absl::StrCat(Word(), "=", Number(1, 99999));
    while (Chance(50))
      absl::StrAppend(&query, "&", Word(), "=", Chance(20) ? "a%2Fb+" : "", Word());
    if (Chance(10)) absl::StrAppend(&query, "&utm_source=", Word());
    return query;
  }

  std::mt19937_64 random_{2026};
};

const std::vector<std::string>& Links() {
  static const std::vector<std::string> generated = [] {
    LinkGenerator generator;
    std::unordered_set<std::string> seen;
    std::vector<std::string> links;
    while (links.size() < kUrls) {
      std::string link = generator.Next();
      if (link.size() < 20 || link.size() > 200 || !seen.insert(link).second) continue;
      links.push_back(std::move(link));
    }
    return links;
  }();
  return generated;
}

void ReportPerUrl(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(Links().size()));
  state.counters["per_url"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * Links().size(),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

size_t ParseAllWithUrl() {
  static Url url;
  size_t bytes = 0;
  for (const std::string& link : Links()) {
    if (url.Assign(link).ok()) bytes += url.href().size();
  }
  return bytes;
}

size_t ParseAllWithBoost() {
  size_t bytes = 0;
  for (const std::string& link : Links()) {
    const auto url = boost::urls::parse_uri(link);
    if (url.has_value()) bytes += url->size();
  }
  return bytes;
}

void BM_Url(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(ParseAllWithUrl());
  ReportPerUrl(state);
}
BENCHMARK(BM_Url)->Unit(benchmark::kMillisecond);

void BM_BoostUrlBareParse(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(ParseAllWithBoost());
  ReportPerUrl(state);
}
BENCHMARK(BM_BoostUrlBareParse)->Unit(benchmark::kMillisecond);

void BM_UrlNewEachTime(benchmark::State& state) {
  for (auto _ : state) {
    for (const std::string& link : Links()) benchmark::DoNotOptimize(Url::Parse(link));
  }
  ReportPerUrl(state);
}
BENCHMARK(BM_UrlNewEachTime)->Unit(benchmark::kMillisecond);

void BM_UrlRelative(benchmark::State& state) {
  const absl::StatusOr<Url> base = Url::Parse("https://www.example.com/news/2026/index.html?a=b");
  std::vector<std::string> targets;
  for (const std::string& link : Links()) {
    if (auto url = Url::Parse(link); url.ok()) targets.emplace_back(url->request_target());
  }
  Url url;
  for (auto _ : state) {
    for (const std::string& target : targets) benchmark::DoNotOptimize(url.Assign(target, *base));
  }
  ReportPerUrl(state);
}
BENCHMARK(BM_UrlRelative)->Unit(benchmark::kMillisecond);

void BM_DedupKey(benchmark::State& state) {
  std::vector<Url> urls;
  for (const std::string& link : Links()) {
    if (auto url = Url::Parse(link); url.ok()) urls.push_back(*std::move(url));
  }
  const auto profile = static_cast<DedupProfile>(state.range(0));
  std::string key;
  for (auto _ : state) {
    for (const Url& url : urls) {
      key.clear();
      url.AppendDedupKey(profile, key);
      benchmark::DoNotOptimize(key.data());
    }
  }
  ReportPerUrl(state);
}
BENCHMARK(BM_DedupKey)
    ->ArgName("profile")
    ->Arg(static_cast<int>(DedupProfile::kStandard))
    ->Arg(static_cast<int>(DedupProfile::kAggressive))
    ->Unit(benchmark::kMillisecond);

void BM_RegistrableDomain(benchmark::State& state) {
  std::vector<Url> urls;
  for (const std::string& link : Links()) {
    if (auto url = Url::Parse(link); url.ok()) urls.push_back(*std::move(url));
  }
  for (auto _ : state) {
    for (const Url& url : urls) benchmark::DoNotOptimize(url.RegistrableDomain());
  }
  ReportPerUrl(state);
}
BENCHMARK(BM_RegistrableDomain)->Unit(benchmark::kMillisecond);

// Processor time, so that other programs on the machine count little.
template <typename Work>
double NsPerUrl(Work work) {
  const std::clock_t begin = std::clock();
  for (int i = 0; i < 5; ++i) benchmark::DoNotOptimize(work());
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC * 1e9 / (5.0 * kUrls);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// The goals. Both programs take turns, so that other load on the machine meets both.
void PrintGoals() {
  std::vector<double> ours, boost, ratios;
  for (int round = 0; round < 25; ++round) {
    ours.push_back(NsPerUrl(ParseAllWithUrl));
    boost.push_back(NsPerUrl(ParseAllWithBoost));
    ratios.push_back(ours.back() / boost.back());
  }
  size_t bytes = 0;
  for (const std::string& link : Links()) bytes += link.size();
  std::printf("\n%zu URLs of %.0f bytes on average, median of 25 rounds\n", kUrls,
              static_cast<double>(bytes) / kUrls);
  std::printf("Url, normal form        %6.1f ns per URL   goal <= %.0f\n", Median(ours), kGoalNs);
  std::printf("Boost.URL, bare parse   %6.1f ns per URL\n", Median(boost));
  std::printf("ratio                   %6.2f              goal <= %.1f\n", Median(ratios),
              kGoalRatio);
}

}  // namespace
}  // namespace escalona

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  escalona::PrintGoals();
}

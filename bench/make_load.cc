// Makes command files of chosen shapes for the benchmarks.
//   make_load URLS HOSTS ZIPF MAX_DEPTH > FILE
// Hosts are drawn from a Zipf law of exponent ZIPF (0: in turn), depths evenly from 1 to MAX_DEPTH
// (from 0 if that is above 20; a URL of depth 0 is all query); all URLs are different. Above a
// depth of 20 the path is mostly slashes, to keep files small.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr const char* kWords[] = {"noticias", "esporte", "videos", "2010",    "artigos",
                                  "blog",     "cultura", "index",  "ciencia", "a"};

class Hosts {
 public:
  Hosts(uint64_t count, double exponent) : count_(count) {
    if (exponent <= 0) return;
    double sum = 0;
    for (uint64_t i = 1; i <= count; ++i) {
      cumulated_.push_back(sum += std::pow(static_cast<double>(i), -exponent));
    }
  }
  uint64_t Draw(uint64_t turn, std::mt19937_64& random) const {
    if (cumulated_.empty()) return turn % count_;
    std::uniform_real_distribution<double> uniform(0, cumulated_.back());
    const auto place = std::upper_bound(cumulated_.begin(), cumulated_.end(), uniform(random));
    const auto rank = static_cast<uint64_t>(place - cumulated_.begin());
    return rank * 7919 % count_;  // popular hosts stand anywhere
  }

 private:
  uint64_t count_;
  std::vector<double> cumulated_;
};

void AppendPath(uint64_t max_depth, uint64_t i, std::mt19937_64& random, std::string& line) {
  const uint64_t depth = max_depth > 20 ? random() % (max_depth + 1) : 1 + random() % max_depth;
  for (uint64_t level = 1; level < depth; ++level) {
    line += '/';
    if (max_depth <= 20) line += kWords[random() % std::size(kWords)];
  }
  line += depth > 0 ? "/p" : "?p";
  line += std::to_string(i);
  if (random() % 4 == 0) line += "?id=" + std::to_string(random() % 1000);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: make_load URLS HOSTS ZIPF MAX_DEPTH\n", stderr);
    return 2;
  }
  const uint64_t urls = std::strtoull(argv[1], nullptr, 10);
  const Hosts hosts(std::strtoull(argv[2], nullptr, 10), std::strtod(argv[3], nullptr));
  const uint64_t max_depth = std::strtoull(argv[4], nullptr, 10);
  std::mt19937_64 random(1);
  std::printf("ADD_URLS %llu\n", static_cast<unsigned long long>(urls));
  std::string line;
  for (uint64_t i = 0; i < urls; ++i) {
    line = "http://www.site" + std::to_string(hosts.Draw(i, random)) + ".com.br";
    AppendPath(max_depth, i, random, line);
    std::puts(line.c_str());
  }
  std::puts("LISTA_HOSTS\nESCALONA_TUDO");
}

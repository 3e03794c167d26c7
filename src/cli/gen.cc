// `escalona gen`: makes command files for experiments.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/number_option.h"
#include "cli/output_file.h"
#include "cli/progress.h"

namespace escalona::cli {
namespace {

struct GenOptions {
  uint64_t hosts = 10;
  double urls_mean = 10;
  double urls_variance = 0;
  double depth_mean = 3;
  double depth_variance = 1;
  uint64_t seed = 1;
  std::string output = "-";
};

// A random stream of its own for each host and each URL, so that any part of a load can be made
// again without keeping the rest: that is how it streams. (The mixer is SplitMix64's.)
class Random {
 public:
  Random(uint64_t seed, uint64_t host, uint64_t purpose)
      : state_(Mix(Mix(Mix(seed) ^ host) ^ purpose)) {}

  uint64_t Next() { return Mix(state_ += 0x9e3779b97f4a7c15); }
  // In (0, 1).
  double Uniform() { return (static_cast<double>(Next() >> 11) + 0.5) * 0x1p-53; }
  double Normal() {
    return std::sqrt(-2 * std::log(Uniform())) * std::cos(2 * std::numbers::pi * Uniform());
  }

 private:
  static uint64_t Mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  uint64_t state_;
};

// Gamma with shape a and scale 1 (Marsaglia and Tsang; shapes below 1 by a power of a uniform).
double Gamma(Random& random, double a) {
  if (a < 1) return Gamma(random, a + 1) * std::pow(random.Uniform(), 1 / a);
  const double d = a - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = random.Normal();
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(random.Uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
      return d * v;
  }
}

// A whole number >= 0 with this mean and variance: a Gamma variate, rounded up or down at random in
// such a way that the mean stays (which adds at most 1/4 to the variance).
uint64_t Draw(Random& random, double mean, double variance) {
  if (mean <= 0) return 0;
  const double value =
      variance > 0 ? Gamma(random, mean * mean / variance) * (variance / mean) : mean;
  return static_cast<uint64_t>(std::min(value, 1e15) + random.Uniform());
}

constexpr uint64_t kCountOfUrls = UINT64_MAX;  // the purpose of a host's own stream

uint64_t UrlsOf(const GenOptions& options, uint64_t host) {
  Random random(options.seed, host, kCountOfUrls);
  return Draw(random, options.urls_mean, options.urls_variance);
}

// URL number `i` of a host: distinct ones stay distinct under the scheduler's rules.
void AppendUrl(const GenOptions& options, uint64_t host, uint64_t i, std::string& text) {
  static constexpr std::string_view kWords[] = {"noticias", "esporte", "videos",  "2010",
                                                "artigos",  "blog",    "cultura", "ciencia"};
  Random random(options.seed, host, i);
  const uint64_t depth = Draw(random, options.depth_mean, options.depth_variance);
  text.append("http://www.site").append(std::to_string(host)).append(".com.br");
  for (uint64_t level = 1; level < depth; ++level) {
    text.append("/").append(kWords[random.Next() % std::size(kWords)]);
  }
  text.append(depth == 0 ? "?p=" : "/p").append(std::to_string(i)).append("\n");
}

class Generator {
 public:
  Generator(const GenOptions& options, OutputFile& output)
      : options_(options), output_(output), progress_("escalona gen: written", 0) {}

  absl::Status Run() {
    uint64_t total = 0;
    for (uint64_t host = 0; host < options_.hosts; ++host) total += UrlsOf(options_, host);
    output_.Append("ADD_URLS " + std::to_string(total) + "\n");
    for (uint64_t first = 0; first < options_.hosts && ok_; first += kWindow) {
      WriteWindow(first, std::min(options_.hosts, first + kWindow));
    }
    output_.Append("LISTA_HOSTS\nESCALONA_TUDO\nLIMPA_TUDO\n");
    return output_.Commit();
  }

 private:
  // Hosts that take turns with each other. Bounds the memory.
  static constexpr uint64_t kWindow = 1 << 16;
  struct Turn {
    uint64_t host;
    uint64_t urls;
  };

  // One URL of each host in turn, until all have given theirs.
  void WriteWindow(uint64_t first, uint64_t end) {
    turns_.clear();
    for (uint64_t host = first; host < end; ++host)
      turns_.push_back({host, UrlsOf(options_, host)});
    for (uint64_t round = 0; !turns_.empty() && ok_; ++round) {
      std::erase_if(turns_, [round](const Turn& turn) { return turn.urls == round; });
      for (const Turn& turn : turns_) {
        line_.clear();
        AppendUrl(options_, turn.host, round, line_);
        output_.Append(line_);
      }
      progress_.Update(output_.size());
      ok_ = output_.ok();
    }
  }

  const GenOptions& options_;
  OutputFile& output_;
  Progress progress_;
  std::vector<Turn> turns_;
  std::string line_;
  bool ok_ = true;  // false: the disk is full, and going on is pointless
};

int Gen(const GenOptions& options) {
  absl::StatusOr<OutputFile> output = OutputFile::Create(options.output);
  absl::Status done = output.status();
  if (done.ok()) done = Generator(options, *output).Run();
  if (done.ok()) return kDone;
  std::fprintf(stderr, "escalona gen: %s\n", std::string(done.message()).c_str());
  return kCouldNotBeDone;
}

}  // namespace

void AddGen(CLI::App& app, int& status) {
  CLI::App* gen = app.add_subcommand("gen", "Make a command file for experiments");
  auto options = std::make_shared<GenOptions>();
  gen->add_option("-s,--hosts", options->hosts, "Number of hosts")
      ->check(Between(0, 1e10))
      ->capture_default_str();
  gen->add_option("-u,--urls", options->urls_mean, "URLs per host: mean")
      ->check(Between(0, 1e9))
      ->capture_default_str();
  gen->add_option("-v,--urls-variance", options->urls_variance, "URLs per host: variance")
      ->check(Between(0))
      ->capture_default_str();
  gen->add_option("-p,--depth", options->depth_mean, "Depth of a URL: mean")
      ->check(Between(0, 1e6))
      ->capture_default_str();
  gen->add_option("-q,--depth-variance", options->depth_variance, "Depth of a URL: variance")
      ->check(Between(0))
      ->capture_default_str();
  gen->add_option("--seed", options->seed, "Same seed, same bytes")->capture_default_str();
  gen->add_option("-o,--output", options->output, "Where the file goes; - is standard output")
      ->capture_default_str();
  gen->footer(
      "One ADD_URLS block with the hosts interleaved, then LISTA_HOSTS, ESCALONA_TUDO, "
      "LIMPA_TUDO.\n"
      "Memory does not grow with the load: beyond 65,536 hosts, that many take turns at a time.\n"
      "Exit status: 0 done, 2 the file cannot be written or the usage is wrong.");
  gen->callback([options, &status] { status = Gen(*options); });
}

}  // namespace escalona::cli

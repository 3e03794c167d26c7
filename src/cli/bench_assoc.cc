// `escalona bench assoc`: loads a running server as the thesis' experiment did.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "cli/address.h"
#include "cli/assoc_target.h"
#include "cli/command.h"
#include "cli/number_option.h"
#include "server/http_client.h"

namespace escalona::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;
using server::ClientRequest;
using server::HttpClient;
using server::Method;

struct LoadOptions {
  std::string server = kHttpListener.usual;
  std::string space = "default";
  uint64_t associators = 1000;
  uint64_t keys = 100;
  uint64_t repetitions = 10;
  uint64_t batch = 1;
  unsigned connections = 4;
  uint64_t reads = 10000;
  uint64_t k = 20;
};

uint64_t Scramble(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// 16 hexadecimal digits that follow from a number and look random.
void AppendId(uint64_t number, std::string& text) {
  const uint64_t id = Scramble(number);
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(id >> shift) & 0xF];
}

// Times of requests, in seconds.
struct Times {
  std::vector<float> seconds;

  void Print(const char* what, double wall, uint64_t operations) {
    std::sort(seconds.begin(), seconds.end());
    const auto at = [&](double part) {
      if (seconds.empty()) return 0.;
      return 1e6 *
             seconds[std::min(seconds.size() - 1,
                              static_cast<size_t>(part * static_cast<double>(seconds.size())))];
    };
    std::printf("%-8s %12llu %12.0f %10.0f %10.0f %10.0f\n", what,
                static_cast<unsigned long long>(operations), static_cast<double>(operations) / wall,
                at(0.5), at(0.99), at(1));
  }
};

class Load {
 public:
  Load(const LoadOptions& options, Address address)
      : options_(options), address_(std::move(address)) {}

  absl::Status Run() {
    std::printf("%-8s %12s %12s %10s %10s %10s\n", "", "operations", "per second", "p50 us",
                "p99 us", "max us");
    const uint64_t writes = options_.associators * options_.keys * options_.repetitions;
    if (absl::Status status = Phase("writes", writes, options_.batch, &Load::Write); !status.ok()) {
      return status;
    }
    if (options_.reads == 0) return absl::OkStatus();
    return Phase("reads", options_.reads, 1, &Load::Read);
  }

 private:
  // One request for the operations [first, first + n).
  using Step = absl::Status (Load::*)(HttpClient&, uint64_t first, uint64_t n, std::string& buffer);

  // The connections share the operations among them, `at_once` in a request.
  absl::Status Phase(const char* what, uint64_t operations, uint64_t at_once, Step step) {
    std::atomic<uint64_t> next = 0;
    std::mutex mutex;
    Times all;
    absl::Status failed;
    const auto start = SteadyClock::now();
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < options_.connections; ++i) {
      threads.emplace_back([&] {
        HttpClient client(address_.host, address_.port);
        Times own;
        std::string buffer;
        absl::Status status;
        while (status.ok()) {
          const uint64_t first = next.fetch_add(at_once);
          if (first >= operations) break;
          const auto before = SteadyClock::now();
          status = (this->*step)(client, first, std::min(at_once, operations - first), buffer);
          own.seconds.push_back(std::chrono::duration<float>(SteadyClock::now() - before).count());
        }
        const std::lock_guard<std::mutex> lock(mutex);
        all.seconds.insert(all.seconds.end(), own.seconds.begin(), own.seconds.end());
        if (!status.ok()) failed = status;
      });
    }
    for (std::thread& thread : threads) thread.join();
    const double wall = std::chrono::duration<double>(SteadyClock::now() - start).count();
    if (failed.ok()) all.Print(what, wall, operations);
    return failed;
  }

  // Goes through all pairs, as often as repetitions say, each time in the same mixed order.
  void AppendItem(uint64_t number, std::string& body) const {
    const uint64_t pairs = options_.associators * options_.keys;
    const uint64_t pair = (number % pairs) * kStride % pairs;
    body += R"({"key":")";
    AppendId(pair / options_.keys, body);
    body += R"(","associatedKey":")";
    AppendId(~pair, body);
    body += R"("})";
  }

  absl::Status Write(HttpClient& client, uint64_t first, uint64_t n, std::string& body) {
    body.clear();
    if (options_.batch > 1) body += '[';
    for (uint64_t i = 0; i < n; ++i) {
      if (i > 0) body += ',';
      AppendItem(first + i, body);
    }
    if (options_.batch > 1) body += ']';
    ClientRequest request;
    request.method = Method::kPost;
    request.target =
        "/ns/" + options_.space + (options_.batch > 1 ? "/associations/batch" : "/associations");
    request.body = body;
    return Check(client.Ask(request));
  }

  absl::Status Read(HttpClient& client, uint64_t first, uint64_t, std::string& target) {
    target = "/ns/" + options_.space + "/associations/";
    AppendId(Scramble(first) % options_.associators, target);
    target += "?k=" + std::to_string(options_.k);
    ClientRequest request;
    request.target = target;
    return Check(client.Ask(request));
  }

  static absl::Status Check(const absl::StatusOr<server::ClientResponse>& response) {
    if (!response.ok()) return response.status();
    if (response->status < 300) return absl::OkStatus();
    return absl::InternalError("the server answered " + std::to_string(response->status) + " " +
                               response->body);
  }

  // A prime larger than most numbers of pairs, so that multiples of it visit all of them.
  static constexpr uint64_t kStride = 2654435761;

  const LoadOptions& options_;
  const Address address_;
};

int Bench(const LoadOptions& options) {
  const auto address = ParseAddress(options.server, kHttpListener);
  absl::Status done = address.status();
  if (address.ok()) done = Load(options, *address).Run();
  if (done.ok()) return kDone;
  std::fprintf(stderr, "escalona bench assoc: %s\n", MessageOf(done).c_str());
  return kCouldNotBeDone;
}

}  // namespace

void AddBench(CLI::App& app, int& status) {
  CLI::App* bench = app.add_subcommand("bench", "Load a running server and measure it");
  bench->require_subcommand(1);
  CLI::App* assoc = bench->add_subcommand(
      "assoc", "Count associators x keys x repetitions associations, then read lists");
  auto options = std::make_shared<LoadOptions>();
  const CLI::Validator positive = Between(1, 1e9);
  assoc->add_option("--server", options->server, "HOST:PORT of the server")->capture_default_str();
  assoc->add_option("--namespace", options->space, "Namespace, which must be there")
      ->capture_default_str();
  assoc->add_option("--associators", options->associators, "Number of associators")
      ->check(positive)
      ->capture_default_str();
  assoc->add_option("--keys", options->keys, "Keys per associator")
      ->check(positive)
      ->capture_default_str();
  assoc->add_option("--repetitions", options->repetitions, "How often each pair is counted")
      ->check(positive)
      ->capture_default_str();
  assoc->add_option("--batch", options->batch, "Associations per request; 1: the single form")
      ->check(Between(1, 1e5))
      ->capture_default_str();
  assoc->add_option("--connections", options->connections, "Connections at the same time")
      ->check(Between(1, 1000))
      ->capture_default_str();
  assoc->add_option("--reads", options->reads, "Lists to read afterwards")->capture_default_str();
  assoc->add_option("-k", options->k, "Entries of a list to read")->capture_default_str();
  assoc->footer(
      "Times are those of requests, as the client sees them.\n"
      "Exit status: 0 done, 2 the server did not answer or refused.");
  assoc->callback([options, &status] { status = Bench(*options); });
}

}  // namespace escalona::cli

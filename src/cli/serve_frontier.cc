#include "cli/serve_frontier.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "cli/address.h"
#include "cli/number_option.h"
#include "cli/suggest.h"
#include "cli/units.h"

namespace escalona::cli {
namespace {

absl::Status Wrong(std::string_view flag, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(flag), " ", status.message()));
}

constexpr uint16_t kReferencePort = 7071;

// Settings of the reference server. Those that are not obeyed tune what works otherwise here.
constexpr std::string_view kObeyed[] = {"rocksdb.path", "implementation"};
constexpr std::string_view kWithoutMeaning[] = {"server.enable_reflection",
                                                "read.thread.num",
                                                "write.thread.num",
                                                "putURLs.max.inflight",
                                                "putDiscovered.max.inflight",
                                                "rocksdb.stats",
                                                "rocksdb.recovery.check",
                                                "rocksdb.wal.disable",
                                                "rocksdb.bloom.filters",
                                                "rocksdb.bloom.filters.bits_per_key",
                                                "rocksdb.memtable_memory_budget",
                                                "rocksdb.max_bytes_for_level_base",
                                                "rocksdb.max_background_jobs",
                                                "rocksdb.max_subcompactions",
                                                "forward.deadline.seconds",
                                                "forward.ready.timeout.ms"};

// Those that ask for what is not done here: ignored, they would surprise.
struct RefusedSetting {
  std::string_view key;
  std::string_view why;
};
constexpr RefusedSetting kRefused[] = {
    {"rocksdb.purge",
     "nothing is removed at a start; remove the folder, or use `escalona client delete-crawl`"},
    {"nodes", "there is no cluster, one server has everything; --node HOST:PORT sets its name"}};

// The reference server purges at the mere word, whatever follows; nobody who writes false wants it.
bool AsksForNothing(std::string_view key, std::string_view value) {
  return key == "rocksdb.purge" && value == "false";
}

absl::Status RefusalOf(std::string_view key) {
  for (const RefusedSetting& setting : kRefused) {
    if (setting.key != key) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(key), " is not supported: ", std::string(setting.why)));
  }
  return absl::OkStatus();
}

bool HasNoMeaning(std::string_view key) {
  return std::find(std::begin(kWithoutMeaning), std::end(kWithoutMeaning), key) !=
         std::end(kWithoutMeaning);
}

absl::Status ApplyImplementation(const std::string& value, FrontierFlags& flags) {
  if (value.find("Sharded") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        "implementation=", value,
        " is not supported: there is no cluster; name RocksDBService or MemoryFrontierService"));
  }
  flags.store = value.find("Memory") != std::string::npos ? "memory" : "rocksdb";
  return absl::OkStatus();
}

absl::Status UnknownSetting(std::string_view key) {
  std::vector<std::string> known(std::begin(kObeyed), std::end(kObeyed));
  known.insert(known.end(), std::begin(kWithoutMeaning), std::end(kWithoutMeaning));
  const std::string nearest = Nearest(key, known);
  return absl::InvalidArgumentError(absl::StrCat("'", std::string(key), "' is no setting",
                                                 nearest.empty()
                                                     ? "; `escalona serve --help` lists them"
                                                     : "; did you mean " + nearest + "=...?"));
}

absl::Status ApplySetting(std::string_view setting, FrontierFlags& flags, std::string& data) {
  const size_t equals = std::min(setting.find('='), setting.size());
  const std::string_view key = setting.substr(0, equals);
  const std::string value(setting.substr(std::min(equals + 1, setting.size())));
  if (key == "rocksdb.path") {
    if (value.empty()) return absl::InvalidArgumentError("rocksdb.path= needs a folder");
    data = value;
    return absl::OkStatus();
  }
  if (key == "implementation") return ApplyImplementation(value, flags);
  if (HasNoMeaning(key) || AsksForNothing(key, value)) {
    spdlog::warn("{} has no meaning here and is ignored", std::string(setting));
    return absl::OkStatus();
  }
  if (absl::Status refusal = RefusalOf(key); !refusal.ok()) return refusal;
  return UnknownSetting(key);
}

template <class Value>
struct Word {
  const char* word;
  Value value;
};
constexpr Word<Strategy> kStrategies[] = {{"breadth-first", Strategy::kBreadthFirst},
                                          {"depth-first", Strategy::kDepthFirst},
                                          {"best-first", Strategy::kBestFirst}};
constexpr Word<UrlOrder> kOrders[] = {{"date", UrlOrder::kDate}, {"depth", UrlOrder::kDepth}};
constexpr Word<PolitenessGroup> kGroups[] = {{"queue", PolitenessGroup::kQueue},
                                             {"domain", PolitenessGroup::kDomain},
                                             {"ip", PolitenessGroup::kIp}};

template <class Words>
std::vector<std::string> Names(const Words& words) {
  std::vector<std::string> names;
  for (const auto& word : words) names.emplace_back(word.word);
  return names;
}

// CLI11 has checked that it is one of them.
template <class Words>
auto ValueOf(const Words& words, const std::string& name) {
  for (const auto& word : words) {
    if (name == word.word) return word.value;
  }
  return std::begin(words)->value;
}

}  // namespace

void AddFrontierFlags(CLI::App& serve, FrontierFlags& flags) {
  CLI::Option* const grpc =
      serve.add_option("--grpc", flags.grpc, "HOST:PORT for gRPC; port 0 is any that is free")
          ->default_str(kGrpcListener.usual);
  serve.add_option("--node", flags.node,
                   "HOST:PORT that ListNodes tells; the gRPC address if unset");
  serve.add_option("--store", flags.store, "Where URLs live: rocksdb (in the folder) or memory")
      ->check(CLI::IsMember({"rocksdb", "memory"}))
      ->capture_default_str();
  serve.add_option("--memory", flags.memory, "Memory for the frontier's caches, such as 4GiB")
      ->capture_default_str();
  serve
      .add_option("--default-delay", flags.default_delay,
                  "Time between two servings of a queue, until SetDelay says otherwise")
      ->capture_default_str();
  serve.add_option("--strategy", flags.strategy, "Order of the queues of a crawl")
      ->check(CLI::IsMember(Names(kStrategies)))
      ->capture_default_str();
  serve
      .add_option("--url-order", flags.url_order,
                  "Order within a queue: date, or depth for discovered URLs")
      ->check(CLI::IsMember(Names(kOrders)))
      ->capture_default_str();
  serve.add_option("--politeness", flags.politeness, "What a delay is kept for")
      ->check(CLI::IsMember(Names(kGroups)))
      ->capture_default_str();
  serve
      .add_option("--max-in-process", flags.max_in_process,
                  "URLs of a queue that may be leased at a time; 0: any number")
      ->check(Fits(flags.max_in_process));
  serve.add_option("--max-urls-per-queue", flags.max_urls_per_queue,
                   "More are skipped; 0: any number");
  serve.add_option("--max-urls-per-crawl", flags.max_urls_per_crawl,
                   "More are skipped; 0: any number");
  serve.add_option("-p,--port", flags.port, "Short for --grpc 0.0.0.0:PORT")
      ->check(Fits(uint16_t{}))
      ->excludes(grpc);
  serve
      .add_option("-s,--prometheus-server", flags.prometheus_port,
                  "Short for --http 0.0.0.0:PORT, and for --grpc 0.0.0.0:7071 unless -p or --grpc "
                  "is given")
      ->check(Fits(uint16_t{}))
      ->excludes(serve.get_option("--http"));
  serve.add_option("KEY=VALUE", flags.settings,
                   "Settings of the reference server: rocksdb.path, implementation; those that "
                   "tune it are accepted and have no meaning");
}

absl::Status ApplySettings(FrontierFlags& flags, std::string& data, std::string& http) {
  // Whoever uses the reference server's flags gets its gRPC port as well: on every interface.
  if (flags.port || (flags.prometheus_port && !flags.grpc)) {
    flags.grpc = absl::StrCat("0.0.0.0:", flags.port.value_or(kReferencePort));
  }
  if (flags.prometheus_port) http = absl::StrCat("0.0.0.0:", *flags.prometheus_port);
  for (const std::string& setting : flags.settings) {
    if (absl::Status status = ApplySetting(setting, flags, data); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<FrontierOptions> FrontierOptionsOf(const FrontierFlags& flags,
                                                  const std::string& durability) {
  FrontierOptions options;
  options.durability =
      durability == "sync" ? FrontierDurability::kSync : FrontierDurability::kInterval;
  options.strategy = ValueOf(kStrategies, flags.strategy);
  options.url_order = ValueOf(kOrders, flags.url_order);
  options.group = ValueOf(kGroups, flags.politeness);
  const absl::StatusOr<double> delay = ParseDuration(flags.default_delay);
  if (!delay.ok()) return Wrong("--default-delay", delay.status());
  options.default_delay = absl::Seconds(*delay);
  const absl::StatusOr<uint64_t> memory = ParseSize(flags.memory);
  if (!memory.ok()) return Wrong("--memory", memory.status());
  options.memory_bytes = *memory;
  if (flags.max_in_process > 0) options.max_in_process = flags.max_in_process;
  if (flags.max_urls_per_queue > 0) options.max_urls_per_queue = flags.max_urls_per_queue;
  if (flags.max_urls_per_crawl > 0) options.max_urls_per_crawl = flags.max_urls_per_crawl;
  return options;
}

absl::StatusOr<server::GrpcOptions> GrpcOptionsOf(const FrontierFlags& flags) {
  server::GrpcOptions options;
  options.address = flags.grpc.value_or(kGrpcListener.usual);
  const absl::StatusOr<Address> address = ParseAddress(options.address, kGrpcListener);
  if (!address.ok()) return Wrong("--grpc:", address.status());
  options.node = flags.node;
  return options;
}

}  // namespace escalona::cli

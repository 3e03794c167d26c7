// `escalona estimate`: change rates from what visits have found.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "cli/chunk_reader.h"
#include "cli/command.h"
#include "cli/csv.h"
#include "cli/number_option.h"
#include "cli/output_file.h"
#include "cli/plan_input.h"
#include "cli/progress.h"
#include "cli/units.h"
#include "escalona/belief.h"

namespace escalona::cli {
namespace {

using revisit::Belief;
using revisit::Observation;

struct EstimateOptions {
  std::string file;
  std::string output = "-";
  std::string prior = "0.45,8d";
  std::string halflife;
  double credible = 0.95;
  bool pool = false;
  bool skip_bad = false;
};

enum Column : uint8_t { kObservedPage, kObservedServer, kInterval, kChanged, kAge, kColumns };
constexpr std::string_view kNames[kColumns] = {"page", "server", "interval", "changed", "age"};
constexpr int kAbsent = -1;
constexpr size_t kMostColumns = 64;

struct PageRecord {
  std::string page;
  uint32_t host = 0;
  std::vector<Observation> visits;
};

struct Observations {
  bool page_is_url = false;
  bool has_server = false;
  std::array<int, kColumns> column;
  size_t columns = 0;
  std::vector<PageRecord> pages;  // in the order in which they first appear
  std::vector<std::string> host;
  size_t bad_rows = 0;
};

absl::Status At(uint64_t line, size_t offset, const std::string& message) {
  return absl::InvalidArgumentError(absl::StrCat(line, ":", offset + 1, ": ", message));
}

std::optional<bool> ParseChanged(std::string_view text) {
  const std::string plain = Plain(text);
  for (const std::string_view yes : {"1", "true", "yes", "changed"}) {
    if (plain == yes) return true;
  }
  for (const std::string_view no : {"0", "false", "no", "unchanged"}) {
    if (plain == no) return false;
  }
  return std::nullopt;
}

class Reader {
 public:
  Reader(const EstimateOptions& options, Observations& into) : options_(options), into_(into) {}

  absl::Status Read(ChunkReader& source, Progress& progress) {
    std::string chunk;
    uint64_t line = 0;
    while (true) {
      if (absl::Status status = source.Next(chunk); !status.ok()) return status;
      progress.Update(source.position(), absl::StrCat(into_.pages.size(), " pages"));
      if (chunk.empty()) break;
      for (std::string_view text = chunk; !text.empty();) {
        const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        std::string_view row = text.substr(0, end);
        text.remove_prefix(end);
        while (!row.empty() && (row.back() == '\n' || row.back() == '\r')) row.remove_suffix(1);
        if (++line == 1 && row.starts_with("\xef\xbb\xbf")) row.remove_prefix(3);
        absl::Status status = line == 1     ? Header(row)
                              : row.empty() ? absl::OkStatus()
                                            : Row(row, line);
        if (status.ok()) continue;
        if (line == 1 || !options_.skip_bad) return status;
        progress.Clear();
        ++into_.bad_rows;
        std::fprintf(stderr, "%s:%s; skipped\n", options_.file.c_str(),
                     std::string(status.message()).c_str());
      }
    }
    if (line == 0) return At(1, 0, "the file is empty; it must start with a header");
    if (into_.pages.empty()) {
      return At(line, 0,
                into_.bad_rows == 0 ? "no observation in the file, only a header"
                                    : "no observation is left, every row was skipped");
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Header(std::string_view row) {
    absl::StatusOr<size_t> count = splitter_.Split(row, fields_, kMostColumns);
    if (!count.ok()) return At(1, splitter_.error_offset(), std::string(count.status().message()));
    into_.columns = *count;
    into_.column.fill(kAbsent);
    for (size_t i = 0; i < std::min(*count, kMostColumns); ++i) {
      std::string name = Plain(fields_[i].text);
      if (name == "url") {
        into_.page_is_url = true;
        name = "page";
      }
      if (name == "last_modified_age") name = "age";
      const auto* known = std::find(std::begin(kNames), std::end(kNames), name);
      if (known == std::end(kNames)) continue;
      int& column = into_.column[static_cast<size_t>(known - std::begin(kNames))];
      if (column != kAbsent) return At(1, fields_[i].offset, "column " + name + " stands twice");
      column = static_cast<int>(i);
    }
    for (const Column needed : {kObservedPage, kInterval, kChanged}) {
      if (into_.column[needed] != kAbsent) continue;
      return At(1, 0,
                absl::StrCat(
                    "no column ", std::string(kNames[needed]),
                    "; the first line must name the columns page (or url), interval and changed"));
    }
    into_.has_server = into_.column[kObservedServer] != kAbsent;
    return absl::OkStatus();
  }

  [[nodiscard]] const CsvField& Field(Column c) const { return fields_[into_.column[c]]; }

  absl::Status Row(std::string_view row, uint64_t line) {
    absl::StatusOr<size_t> count = splitter_.Split(row, fields_, kMostColumns);
    if (!count.ok())
      return At(line, splitter_.error_offset(), std::string(count.status().message()));
    if (*count != into_.columns) {
      return At(line, row.size(),
                absl::StrCat("this row has ", *count, " fields; the header has ", into_.columns));
    }
    if (Field(kObservedPage).text.empty())
      return At(line, Field(kObservedPage).offset, "the page has no name");
    if (into_.has_server && Field(kObservedServer).text.empty())
      return At(line, Field(kObservedServer).offset, "the server has no name");
    Observation visit;
    absl::StatusOr<double> interval = ParseDays(Field(kInterval).text);
    if (!interval.ok()) {
      return At(line, Field(kInterval).offset,
                absl::StrCat("interval ", std::string(interval.status().message())));
    }
    visit.interval = *interval;
    const std::optional<bool> changed = ParseChanged(Field(kChanged).text);
    if (!changed) {
      return At(line, Field(kChanged).offset,
                absl::StrCat("changed '", std::string(Field(kChanged).text.substr(0, 40)),
                             "' is neither 1 nor 0"));
    }
    visit.changed = *changed;
    if (into_.column[kAge] != kAbsent && !Field(kAge).text.empty()) {
      absl::StatusOr<double> age = ParseDays(Field(kAge).text);
      if (!age.ok())
        return At(line, Field(kAge).offset,
                  absl::StrCat("age ", std::string(age.status().message())));
      visit.age = *age;
    }
    Record().visits.push_back(visit);
    return absl::OkStatus();
  }

  PageRecord& Record() {
    const std::string_view page = Field(kObservedPage).text;
    // Host names are the same in both cases.
    const std::string server =
        into_.has_server ? std::string(Field(kObservedServer).text) : Plain(HostOf(page));
    // As in a plan: a URL names its page everywhere, another name only on its server.
    std::string key(page);
    if (!into_.page_is_url) absl::StrAppend(&key, "\n", server);
    const auto [entry, added] = page_number_.try_emplace(std::move(key), into_.pages.size());
    if (added) {
      const auto [host, new_host] = host_number_.try_emplace(server, into_.host.size());
      if (new_host) into_.host.emplace_back(server);
      into_.pages.push_back({std::string(page), static_cast<uint32_t>(host->second), {}});
    }
    return into_.pages[entry->second];
  }

  const EstimateOptions& options_;
  Observations& into_;
  CsvSplitter splitter_;
  CsvField fields_[kMostColumns];
  absl::flat_hash_map<std::string, size_t> page_number_;
  absl::flat_hash_map<std::string, size_t> host_number_;
};

// Learns from all visits; with a halflife the past fades by each interval before it is added to.
Belief LearnPage(const Belief& prior, const PageRecord& record, double halflife) {
  if (!(halflife > 0)) return revisit::Learn(prior, record.visits);
  Belief belief = prior;
  for (const Observation& visit : record.visits) {
    belief = revisit::Forget(belief, prior, visit.interval, halflife);
    belief = revisit::Learn(belief, {&visit, 1});
  }
  return belief;
}

// The prior of each host, found in a few rounds: learn with the prior, pool what was learned.
std::vector<Belief> HostPriors(const Observations& seen, const Belief& global, double halflife) {
  constexpr int kRounds = 5;
  std::vector<Belief> prior(seen.host.size(), global);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<revisit::PriorPool> pool(prior.size());
    for (const PageRecord& record : seen.pages) {
      pool[record.host].Add(LearnPage(prior[record.host], record, halflife));
    }
    for (size_t h = 0; h < prior.size(); ++h) prior[h] = pool[h].Fit(global);
  }
  return prior;
}

void Put(std::string& row, double value) {
  char text[32];
  row += ',';
  row.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::string RowOf(const Observations& seen, const PageRecord& record, const Belief& belief,
                  double credible) {
  std::string row = CsvQuoted(record.page);
  if (seen.has_server) row += "," + CsvQuoted(seen.host[record.host]);
  Put(row, belief.alpha);
  Put(row, belief.beta);
  Put(row, belief.mean());
  Put(row, revisit::Quantile(belief, (1 - credible) / 2));
  Put(row, revisit::Quantile(belief, (1 + credible) / 2));
  Put(row, revisit::MaximumLikelihoodRate(record.visits));
  const double cho = revisit::ChoRate(record.visits);
  if (std::isnan(cho)) {
    row += ',';  // no time passed: Cho's estimator says nothing
  } else {
    Put(row, cho);
  }
  const auto changes = std::count_if(record.visits.begin(), record.visits.end(),
                                     [](const Observation& visit) { return visit.changed; });
  absl::StrAppend(&row, ",", record.visits.size(), ",", changes, "\n");
  return row;
}

int RefuseEstimate(const std::string& message) {
  std::fprintf(stderr, "escalona estimate: %s\n", message.c_str());
  return kCouldNotBeDone;
}

absl::StatusOr<Belief> ParsePrior(const std::string& text) {
  const size_t comma = text.find(',');
  Belief prior;
  if (comma == std::string::npos)
    return absl::InvalidArgumentError("must be ALPHA,BETA such as 0.45,8d");
  absl::StatusOr<double> alpha = ParseNumber(std::string_view(text).substr(0, comma));
  if (!alpha.ok()) return alpha.status();
  absl::StatusOr<double> beta = ParseDays(std::string_view(text).substr(comma + 1));
  if (!beta.ok()) return beta.status();
  prior = {*alpha, *beta};
  if (prior.alpha <= 0 || prior.beta <= 0)
    return absl::InvalidArgumentError("must have both numbers above 0");
  return prior;
}

int Estimate(const EstimateOptions& options) {
  absl::StatusOr<Belief> prior = ParsePrior(options.prior);
  if (!prior.ok())
    return RefuseEstimate(absl::StrCat("--prior ", std::string(prior.status().message())));
  double halflife = 0;
  if (!options.halflife.empty()) {
    absl::StatusOr<double> seconds = ParseDuration(options.halflife);
    if (!seconds.ok())
      return RefuseEstimate(absl::StrCat("--halflife ", std::string(seconds.status().message())));
    halflife = *seconds / kSecondsPerDay;
    if (!(halflife > 0)) return RefuseEstimate("--halflife must be above 0, such as 90d");
  }
  absl::StatusOr<ChunkReader> source = ChunkReader::Open(options.file);
  if (!source.ok())
    return RefuseEstimate(absl::StrCat(options.file, ": ", std::string(source.status().message())));
  if (options.output != "-" && source->IsSameAs(options.output)) {
    return RefuseEstimate(
        "the estimates would replace the observations; choose another place with -o");
  }
  // Before the observations, which may take a while to read.
  absl::StatusOr<OutputFile> output = OutputFile::Create(options.output);
  if (!output.ok()) return RefuseEstimate(std::string(output.status().message()));
  Observations seen;
  {
    Progress progress("escalona estimate: read", source->size());
    if (absl::Status status = Reader(options, seen).Read(*source, progress); !status.ok()) {
      progress.Clear();
      std::fprintf(stderr, "%s\n", InFile(options.file, status).c_str());
      return kCouldNotBeDone;
    }
  }
  std::vector<Belief> priors(seen.host.size(), *prior);
  if (options.pool) priors = HostPriors(seen, *prior, halflife);
  output->Append(seen.page_is_url ? "url" : "page");
  output->Append(seen.has_server ? ",server" : "");
  output->Append(",alpha,beta,mean_rate,rate_low,rate_high,mle_rate,cho_rate,visits,changes\n");
  for (const PageRecord& record : seen.pages) {
    output->Append(
        RowOf(seen, record, LearnPage(priors[record.host], record, halflife), options.credible));
  }
  if (absl::Status status = output->Commit(); !status.ok())
    return RefuseEstimate(std::string(status.message()));
  return kDone;
}

}  // namespace

void AddEstimate(CLI::App& app, int& status) {
  CLI::App* estimate =
      app.add_subcommand("estimate", "Estimate how fast pages change from what visits found");
  auto options = std::make_shared<EstimateOptions>();
  estimate
      ->add_option("OBSERVATIONS", options->file,
                   "CSV file, may be compressed by gzip; - reads standard input")
      ->required();
  estimate
      ->add_option("-o,--output", options->output, "Where the estimates go; - is standard output")
      ->capture_default_str();
  estimate->add_option("--prior", options->prior, "Belief before the first visit: ALPHA,BETA")
      ->capture_default_str();
  estimate->add_flag("--host-priors", options->pool,
                     "Learn a prior for each host from all of its pages");
  estimate->add_option("--halflife", options->halflife,
                       "Forget half of what is known in this time, such as 90d");
  estimate
      ->add_option("--credible", options->credible,
                   "Probability of the interval rate_low to rate_high")
      ->check(Between(0.01, 0.9999))
      ->capture_default_str();
  estimate->add_flag("--skip-bad", options->skip_bad,
                     "Skip bad rows and tell of them, instead of failing");
  estimate->footer(
      "Columns, by name in the first line, in any order; the visits of a page in the order of "
      "time:\n"
      "  page or url   the page; pages may alternate\n"
      "  interval      time since the visit before: days, or with a unit (ms s min h d)\n"
      "  changed       1 or 0 (also true/false, yes/no, changed/unchanged)\n"
      "  age           of the last change, from a trustworthy Last-Modified; may be empty or "
      "missing\n"
      "  server        default: the url's host\n"
      "Output: alpha, beta (days) of the belief, which `escalona plan` takes as it stands; its "
      "mean and credible\n"
      "interval, the most likely rate (inf: every visit found a change) and Cho's estimate, all "
      "per day.");
  estimate->callback([options, &status] { status = Estimate(*options); });
}

}  // namespace escalona::cli

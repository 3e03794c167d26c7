// Parsing of pages in parallel, and the numbering of their servers in the order of the file.
#include "cli/plan_input.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "cli/csv.h"
#include "cli/duplicates.h"
#include "cli/ordered_pipeline.h"
#include "cli/units.h"

namespace escalona::cli {
namespace {

constexpr std::string_view kColumnName[kPlanColumns] = {
    "url", "server", "change_rate", "alpha", "beta", "weight", "min_interval", "cost", "lo", "hi"};
constexpr std::string_view kPlanned[] = {"frequency", "interval", "freshness"};
constexpr PlanColumn kNumeric[] = {kChangeRate,  kAlpha, kBeta, kWeight,
                                   kMinInterval, kCost,  kLo,   kHi};

absl::Status At(uint64_t line, size_t offset, std::string_view message) {
  return absl::InvalidArgumentError(
      absl::StrCat(line, ":", offset + 1, ": ", std::string(message)));
}

std::string_view WithoutLineEnd(std::string_view line) {
  if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

struct BadRow {
  uint64_t line;  // counted from 0 in its chunk
  size_t offset;
  std::string message;
};

// The value of an empty field, or NaN where a value is needed.
double DefaultOf(PlanColumn c) {
  switch (c) {
    case kWeight:
    case kCost:
      return 1;
    case kMinInterval:
    case kLo:
      return 0;
    case kHi:
      return std::numeric_limits<double>::infinity();
    default:
      return NAN;
  }
}

absl::StatusOr<double> ParseColumn(PlanColumn c, std::string_view text) {
  if (text.find_first_not_of(' ') == std::string_view::npos) {
    const double value = DefaultOf(c);
    if (!std::isnan(value)) return value;
    return absl::InvalidArgumentError("is empty; a number is needed");
  }
  if (text == "1") return 1;  // most weights
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool plain = error == std::errc() && end == text.data() + text.size() && value < INFINITY &&
                     value >= 0 && !std::signbit(value);
  if (!plain) {
    absl::StatusOr<double> slow = c == kMinInterval                          ? ParseDays(text)
                                  : c == kChangeRate || c == kLo || c == kHi ? ParsePerDay(text)
                                  : c == kBeta                               ? ParseDays(text)
                                                                             : ParseNumber(text);
    if (!slow.ok()) return slow;
    value = *slow;
  }
  if (value == 0 && (c == kAlpha || c == kBeta || c == kCost)) {
    return absl::InvalidArgumentError("is 0; it must be above 0");
  }
  return value;
}

// One chunk of the file and what was found in it. Server numbers are the chunk's own.
struct ParseJob {
  std::string text;
  uint64_t lines = 0;
  std::array<std::vector<double>, kPlanColumns> number;
  std::vector<uint32_t> server;
  std::vector<std::string> server_name;
  std::vector<double> server_interval;
  std::vector<uint64_t> key;
  std::vector<uint64_t> row_line;  // only when rows may be skipped later
  std::vector<BadRow> bad;

  absl::flat_hash_map<std::string, uint32_t> server_number;
  CsvSplitter splitter;
  CsvField fields[PlanHeader::kMostColumns];
  uint32_t last_server = 0;
  std::string last_site;  // what named it, or how its URLs begin; empty: not known

  void Clear() {
    lines = 0;
    last_site.clear();
    for (std::vector<double>& column : number) column.clear();
    server.clear();
    server_name.clear();
    server_interval.clear();
    key.clear();
    row_line.clear();
    bad.clear();
    server_number.clear();
  }
};

class ChunkParser {
 public:
  ChunkParser(const PlanHeader& header, const PlanInputOptions& options)
      : header_(header), options_(options) {}

  void Parse(ParseJob& job) const {
    std::string_view text = job.text;
    std::string_view row;
    for (; !text.empty(); ++job.lines) {
      const absl::StatusOr<size_t> count =
          job.splitter.SplitLine(text, job.fields, PlanHeader::kMostColumns, row);
      if (!row.empty()) TakeRow(row, count, job);
    }
  }

 private:
  static void Bad(ParseJob& job, size_t offset, std::string message) {
    job.bad.push_back({job.lines, offset, std::move(message)});
  }

  // The row has `count` fields, which are in the job.
  void TakeRow(std::string_view row, const absl::StatusOr<size_t>& count, ParseJob& job) const {
    if (!count.ok()) {
      return Bad(job, job.splitter.error_offset(), std::string(count.status().message()));
    }
    if (*count != header_.columns) {
      return Bad(
          job, row.size(),
          absl::StrCat("this row has ", *count, " fields; the header has ", header_.columns));
    }
    const CsvField& page = job.fields[header_.column[kPage]];
    if (page.text.empty()) return Bad(job, page.offset, "the page has no name");
    double value[kPlanColumns];
    for (const PlanColumn c : kNumeric) {
      if (!header_.Has(c)) continue;
      const CsvField& field = job.fields[header_.column[c]];
      absl::StatusOr<double> number = ParseColumn(c, field.text);
      if (!number.ok()) {
        return Bad(
            job, field.offset,
            absl::StrCat(std::string(kColumnName[c]), " ", std::string(number.status().message())));
      }
      value[c] = *number;
    }
    if (header_.Has(kLo) && header_.Has(kHi) && value[kLo] > value[kHi]) {
      return Bad(job, job.fields[header_.column[kLo]].offset,
                 absl::StrCat("lo ", value[kLo], " is above hi ", value[kHi]));
    }
    uint32_t server = 0;
    if (!FindServer(page, job, server)) return;
    for (const PlanColumn c : kNumeric) {
      if (header_.Has(c) && c != kMinInterval) job.number[c].push_back(value[c]);
    }
    if (header_.Has(kMinInterval)) {
      job.server_interval[server] = std::max(job.server_interval[server], value[kMinInterval]);
    }
    job.server.push_back(server);
    if (options_.skip_bad) job.row_line.push_back(job.lines);
    // A URL names its page everywhere; another name only on its server.
    const size_t hash = absl::HashOf(absl::string_view(page.text.data(), page.text.size()));
    job.key.push_back(header_.page_is_url || !header_.Has(kServer)
                          ? hash
                          : absl::HashOf(hash, job.server_name[server]));
  }

  bool FindServer(const CsvField& page, ParseJob& job, uint32_t& server) const {
    const bool named = header_.Has(kServer);
    const CsvField& field = named ? job.fields[header_.column[kServer]] : page;
    const bool again = named ? field.text == job.last_site : field.text.starts_with(job.last_site);
    if (again && !job.last_site.empty()) {  // the pages of a server mostly stand together
      server = job.last_server;
      return true;
    }
    std::string_view name = named ? field.text : HostOf(field.text);
    if (name.empty() && (named || options_.servers_matter || header_.Has(kMinInterval))) {
      Bad(job, field.offset,
          named ? "the server has no name"
                : "this page is no URL with a host; write one such as https://example.org/, or "
                  "add a column server");
      return false;
    }
    job.last_site = named ? name : SiteOf(field.text, name);
    std::string lowered;  // host names are the same in both cases
    if (!named &&
        std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
      lowered = Plain(name);
      name = lowered;
    }
    auto entry = job.server_number.find(absl::string_view(name.data(), name.size()));
    if (entry == job.server_number.end()) {
      const auto number = static_cast<uint32_t>(job.server_name.size());
      entry = job.server_number.try_emplace(std::string(name), number).first;
      job.server_name.emplace_back(name);
      job.server_interval.push_back(0);
    }
    server = job.last_server = entry->second;
    return true;
  }

  // How `url` begins, up to and with the slash behind its host: whatever begins so has that host.
  // Empty if no slash is there.
  static std::string_view SiteOf(std::string_view url, std::string_view host) {
    if (host.empty()) return {};
    const size_t end = static_cast<size_t>(host.data() - url.data()) + host.size();
    return end < url.size() && url[end] == '/' ? url.substr(0, end + 1) : std::string_view();
  }

  const PlanHeader& header_;
  const PlanInputOptions& options_;
};

// Puts the chunks together in the order of the file.
class Collector {
 public:
  Collector(PlanInput& input, const PlanInputOptions& options,
            const std::function<void(const std::string&)>& warn)
      : input_(input), options_(options), warn_(warn) {}

  absl::Status Add(const ParseJob& job) {
    input_.chunks.push_back({line_, input_.pages()});
    for (const BadRow& bad : job.bad) {
      absl::Status status = At(line_ + bad.line, bad.offset, bad.message);
      if (!options_.skip_bad) return status;
      input_.bad_lines.push_back(line_ + bad.line);
      warn_(std::string(status.message()));
    }
    std::vector<uint32_t> number(job.server_name.size());
    for (size_t k = 0; k < number.size(); ++k) number[k] = NumberOf(job, k);
    renumbered_.resize(job.server.size());
    for (size_t i = 0; i < job.server.size(); ++i) renumbered_[i] = number[job.server[i]];
    input_.server.Append(renumbered_);
    for (size_t c = 0; c < kPlanColumns; ++c) input_.number[c].Append(job.number[c]);
    keys_.Append(job.key);
    for (const uint64_t line : job.row_line) row_line_.push_back(line_ + line);
    line_ += job.lines;
    return absl::OkStatus();
  }

  [[nodiscard]] uint64_t lines() const { return line_; }
  void SkipHeader(uint64_t lines) { line_ += lines; }
  [[nodiscard]] std::span<const uint64_t> keys() const { return keys_.view(); }
  [[nodiscard]] const std::vector<uint64_t>& row_lines() const { return row_line_; }

 private:
  uint32_t NumberOf(const ParseJob& job, size_t k) {
    const auto [entry, added] =
        numbers_.try_emplace(job.server_name[k], static_cast<uint32_t>(input_.server_name.size()));
    if (added) {
      input_.server_name.push_back(job.server_name[k]);
      input_.server_interval.push_back(0);
    }
    double& interval = input_.server_interval[entry->second];
    interval = std::max(interval, job.server_interval[k]);
    return entry->second;
  }

  PlanInput& input_;
  const PlanInputOptions& options_;
  const std::function<void(const std::string&)>& warn_;
  absl::flat_hash_map<std::string, uint32_t> numbers_;
  std::vector<uint32_t> renumbered_;
  GrowingArray<uint64_t> keys_;
  std::vector<uint64_t> row_line_;
  uint64_t line_ = 1;  // of the next chunk's first row
};

// Takes the header off the first chunk. Returns the number of lines it took.
absl::StatusOr<uint64_t> TakeHeader(std::string& chunk, PlanHeader& header) {
  std::string_view text = chunk;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const size_t line_end = std::min(text.find('\n'), text.size());
  absl::StatusOr<PlanHeader> parsed = PlanHeader::Parse(WithoutLineEnd(text.substr(0, line_end)));
  if (!parsed.ok()) return parsed.status();
  header = *std::move(parsed);
  chunk.erase(0, std::min(chunk.size(), chunk.size() - text.size() + line_end + 1));
  return 1;
}

// Reads the file again: fn(line, index, row) for each page, in order, until it fails.
template <typename Fn>
absl::Status ForEachPage(ChunkReader& reader, const PlanInput& input, const Fn& fn) {
  if (absl::Status status = reader.Rewind(); !status.ok()) return status;
  std::string chunk;
  uint64_t line = 0;
  size_t index = 0;
  size_t bad = 0;
  while (true) {
    if (absl::Status status = reader.Next(chunk, kPlanChunk); !status.ok()) return status;
    if (chunk.empty()) return absl::OkStatus();
    for (std::string_view text = chunk; !text.empty();) {
      const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
      const std::string_view row = WithoutLineEnd(text.substr(0, end));
      text.remove_prefix(end);
      if (++line == 1 || row.empty()) continue;
      if (bad < input.bad_lines.size() && input.bad_lines[bad] == line) {
        ++bad;
        continue;
      }
      if (absl::Status status = fn(line, index++, row); !status.ok()) return status;
    }
  }
}

// After rows were dropped: servers keep only what their remaining pages say, and those without a
// page go.
absl::Status SettleServers(ChunkReader& reader, PlanInput& input) {
  std::vector<uint32_t> number(input.server_name.size(), UINT32_MAX);
  std::vector<std::string> names;
  for (size_t i = 0; i < input.pages(); ++i) {
    uint32_t& now = number[input.server[i]];
    if (now == UINT32_MAX) {
      now = static_cast<uint32_t>(names.size());
      names.push_back(std::move(input.server_name[input.server[i]]));
    }
    input.server[i] = now;
  }
  input.server_name = std::move(names);
  input.server_interval.assign(input.server_name.size(), 0);
  if (!input.header.Has(kMinInterval)) return absl::OkStatus();
  CsvSplitter splitter;
  std::vector<CsvField> fields(PlanHeader::kMostColumns);
  return ForEachPage(reader, input, [&](uint64_t, size_t index, std::string_view row) {
    if (absl::StatusOr<size_t> count = splitter.Split(row, fields.data(), fields.size());
        !count.ok()) {
      return count.status();
    }
    const CsvField& field = fields[static_cast<size_t>(input.header.column[kMinInterval])];
    absl::StatusOr<double> value = ParseColumn(kMinInterval, field.text);
    if (!value.ok()) return value.status();
    double& interval = input.server_interval[input.server[index]];
    interval = std::max(interval, *value);
    return absl::OkStatus();
  });
}

// Finds the rows whose keys are equal, reads the file again and tells apart those that name the
// same page from mere accidents of hashing. Fails, or drops the later ones.
absl::Status SettleDuplicates(ChunkReader& reader, const PlanInputOptions& options,
                              const Collector& collector, PlanInput& input,
                              const std::function<void(const std::string&)>& warn) {
  const std::vector<uint64_t> suspects = RepeatedKeys(collector.keys(), options.threads);
  if (suspects.empty()) return absl::OkStatus();
  absl::flat_hash_map<std::string, uint64_t> first_line;  // of each suspect page
  std::vector<size_t> dropped;
  CsvSplitter splitter;
  std::vector<CsvField> fields(PlanHeader::kMostColumns);
  absl::Status read =
      ForEachPage(reader, input, [&](uint64_t line, size_t index, std::string_view row) {
        if (!std::binary_search(suspects.begin(), suspects.end(), collector.keys()[index])) {
          return absl::OkStatus();
        }
        if (!splitter.Split(row, fields.data(), fields.size()).ok()) return absl::OkStatus();
        const CsvField& page = fields[static_cast<size_t>(input.header.column[kPage])];
        std::string name(page.text);
        if (!input.header.page_is_url)
          absl::StrAppend(&name, "\n", input.server_name[input.server[index]]);
        const auto [entry, added] = first_line.try_emplace(std::move(name), line);
        if (added) return absl::OkStatus();
        absl::Status status = At(line, page.offset,
                                 absl::StrCat("page '", std::string(page.text.substr(0, 200)),
                                              "' was already given in line ", entry->second));
        if (!options.skip_bad) return status;
        warn(std::string(status.message()));
        dropped.push_back(index);
        return absl::OkStatus();
      });
  if (!read.ok()) return read;
  if (dropped.empty()) return absl::OkStatus();
  // Compacts the arrays; `chunks` counts rows, so it follows.
  const auto before = [&](uint64_t r) {
    return static_cast<uint64_t>(std::lower_bound(dropped.begin(), dropped.end(), r) -
                                 dropped.begin());
  };
  const auto compact = [&](auto& array) {
    if (array.empty()) return;
    size_t kept = 0;
    size_t next = 0;
    for (size_t i = 0; i < array.size(); ++i) {
      if (next < dropped.size() && dropped[next] == i) {
        ++next;
        continue;
      }
      array[kept++] = array[i];
    }
    array.Shrink(kept);
  };
  for (const size_t index : dropped) input.bad_lines.push_back(collector.row_lines()[index]);
  std::sort(input.bad_lines.begin(), input.bad_lines.end());
  for (PlanInput::Chunk& c : input.chunks) c.first_row -= before(c.first_row);
  compact(input.server);
  for (GrowingArray<double>& column : input.number) compact(column);
  return SettleServers(reader, input);
}

}  // namespace

std::string_view HostOf(std::string_view url) {
  const size_t scheme = url.find("//");
  if (scheme == std::string_view::npos) return {};
  url.remove_prefix(scheme + 2);
  url = url.substr(0, url.find_first_of("/?#\\"));
  if (const size_t user = url.rfind('@'); user != std::string_view::npos)
    url.remove_prefix(user + 1);
  if (!url.empty() && url.front() == '[')
    return url.substr(0, std::min(url.find(']'), url.size() - 1) + 1);
  return url.substr(0, url.find(':'));
}

absl::StatusOr<PlanHeader> PlanHeader::Parse(std::string_view row) {
  PlanHeader header;
  header.row = std::string(row);
  header.column.fill(kAbsent);
  CsvSplitter splitter;
  std::vector<CsvField> fields(kMostColumns);
  absl::StatusOr<size_t> count = splitter.Split(row, fields.data(), fields.size());
  if (!count.ok()) return At(1, splitter.error_offset(), std::string(count.status().message()));
  if (*count > kMostColumns) {
    return At(
        1, 0,
        absl::StrCat("the file has ", *count, " columns; at most ", kMostColumns, " are possible"));
  }
  header.columns = *count;
  for (size_t i = 0; i < header.columns; ++i) {
    std::string name = Plain(fields[i].text);
    if (std::find(std::begin(kPlanned), std::end(kPlanned), name) != std::end(kPlanned)) {
      header.planned_columns.push_back(i);
      continue;
    }
    if (name == "page") {
      header.page_is_url = false;
      name = "url";
    }
    const auto* known = std::find(std::begin(kColumnName), std::end(kColumnName), name);
    if (known == std::end(kColumnName)) continue;
    int& column = header.column[static_cast<size_t>(known - std::begin(kColumnName))];
    if (column != kAbsent)
      return At(1, fields[i].offset, absl::StrCat("column ", name, " stands twice"));
    column = static_cast<int>(i);
  }
  if (!header.Has(kPage)) {
    return At(
        1, 0,
        "no column url or page; the first line must name the columns, such as url,change_rate");
  }
  if (header.Has(kAlpha) != header.Has(kBeta)) {
    return At(1, 0,
              absl::StrCat("column ", header.Has(kAlpha) ? "beta" : "alpha",
                           " is missing; a belief needs both alpha and beta"));
  }
  if (!header.Has(kChangeRate) && !header.Has(kAlpha)) {
    return At(
        1, 0,
        "no column change_rate, and none named alpha and beta; how fast does each page change?");
  }
  if (header.Has(kChangeRate) && header.Has(kAlpha)) {
    return At(1, 0, "both change_rate and alpha, beta are given; leave one of them out");
  }
  return header;
}

absl::StatusOr<PlanInput> ReadPlanInput(ChunkReader& reader, const PlanInputOptions& options,
                                        const std::function<void(uint64_t pages)>& progress,
                                        const std::function<void(const std::string&)>& warn) {
  PlanInput input;
  Collector collector(input, options, warn);
  const ChunkParser parser(input.header, options);
  bool first = true;
  absl::Status status = RunOrdered<ParseJob>(
      options.threads,
      [&](ParseJob& job) -> absl::StatusOr<bool> {
        job.Clear();
        if (absl::Status read = reader.Next(job.text, kPlanChunk); !read.ok()) return read;
        progress(input.pages());
        if (!first) return !job.text.empty();
        if (job.text.empty())
          return absl::InvalidArgumentError("1:1: the file is empty; it must start with a header");
        first = false;
        absl::StatusOr<uint64_t> lines = TakeHeader(job.text, input.header);
        if (!lines.ok()) return lines.status();
        collector.SkipHeader(*lines);
        return true;
      },
      [&](ParseJob& job) { parser.Parse(job); },
      [&](const ParseJob& job) { return collector.Add(job); });
  if (!status.ok()) return status;
  if (absl::Status settled = SettleDuplicates(reader, options, collector, input, warn);
      !settled.ok()) {
    return settled;
  }
  if (input.pages() == 0) {
    const char* const what = input.bad_lines.empty() ? "no page in the file, only a header"
                                                     : "no page is left, every row was skipped";
    return absl::InvalidArgumentError(
        absl::StrCat(collector.lines(), ":1: ", what, "; there is nothing to plan"));
  }
  return input;
}

}  // namespace escalona::cli

// Formatting of plan rows in parallel.
#include "cli/plan_output.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <vector>

#include "cli/csv.h"
#include "cli/decimal.h"
#include "cli/ordered_pipeline.h"

namespace escalona::cli {
namespace {

struct FormatJob {
  std::string text;
  PlanInput::Chunk at{};
  uint64_t end_row = 0;  // first row of the next chunk
  std::string out;
  std::string compressed;
  bool fits = true;

  CsvSplitter splitter;
  std::vector<CsvField> fields;
};

// A comma and a number: the longest that reads back as it was takes 24.
constexpr size_t kNumberBytes = 25;
static_assert(kDecimalBytes < kNumberBytes);

// Appends the fields of `row` but those of an earlier plan, as they stand.
char* PutOtherFields(char* at, std::string_view row, const PlanHeader& header,
                     CsvSplitter& splitter, std::vector<CsvField>& fields) {
  fields.resize(header.columns);
  if (!splitter.Split(row, fields.data(), fields.size()).ok()) return at;
  const char* const start = at;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (std::binary_search(header.planned_columns.begin(), header.planned_columns.end(), i))
      continue;
    const size_t end = i + 1 < fields.size() ? fields[i + 1].offset - 1 : row.size();
    if (at != start) *at++ = ',';
    const size_t length = end - fields[i].offset;
    std::memcpy(at, row.data() + fields[i].offset, length);
    at += length;
  }
  return at;
}

class RowFormatter {
 public:
  RowFormatter(const PlanInput& input, const revisit::Allocation& plan,
               revisit::AllocationKind kind)
      : input_(input), plan_(plan), kind_(kind) {}

  [[nodiscard]] std::string Header() const {
    std::string header(input_.header.row.size(), '\0');
    CsvSplitter splitter;
    std::vector<CsvField> fields;
    header.resize(static_cast<size_t>(
        PutOtherFields(header.data(), input_.header.row, input_.header, splitter, fields) -
        header.data()));
    return header + ",frequency,interval,freshness\n";
  }

  void Format(FormatJob& job) const {
    uint64_t line = job.at.first_line;
    uint64_t row = job.at.first_row;
    auto bad = std::lower_bound(input_.bad_lines.begin(), input_.bad_lines.end(), line);
    const size_t rows = job.end_row - row;
    job.out.resize(job.text.size() + rows * 3 * kNumberBytes + 1);
    char* out = job.out.data();
    const char* at = job.text.data();
    const char* const end = at + job.text.size();
    job.fits = true;
    for (; at < end; ++line) {
      const void* found = std::memchr(at, '\n', static_cast<size_t>(end - at));
      const char* stop = found == nullptr ? end : static_cast<const char*>(found);
      std::string_view text(at, static_cast<size_t>(stop - at));
      at = stop + 1;
      if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
      if (text.empty()) continue;
      if (bad != input_.bad_lines.end() && *bad == line) {
        ++bad;
        continue;
      }
      if (row >= job.end_row) break;
      out = PutRow(out, text, row++, job);
    }
    job.fits = row == job.end_row && at >= end;
    job.out.resize(static_cast<size_t>(out - job.out.data()));
  }

 private:
  char* PutRow(char* out, std::string_view text, size_t row, FormatJob& job) const {
    if (input_.header.planned_columns.empty()) {
      std::memcpy(out, text.data(), text.size());
      out += text.size();
    } else {
      out = PutOtherFields(out, text, input_.header, job.splitter, job.fields);
    }
    const double frequency = plan_.frequency[row];
    // Exactly: rounded frequencies could add up to more than a limit allows.
    *out++ = ',';
    out = std::to_chars(out, out + kNumberBytes, frequency).ptr;
    *out++ = ',';
    out = PutDecimal(out, 1 / frequency);
    *out++ = ',';
    out = PutDecimal(out, PlannedFreshness(input_, kind_, row, frequency));
    *out++ = '\n';
    return out;
  }

  const PlanInput& input_;
  const revisit::Allocation& plan_;
  const revisit::AllocationKind kind_;
};

// `text` as a gzip member of its own; members joined end to end are a gzip file.
void Compress(std::string_view text, std::string& out) {
  z_stream stream{};
  constexpr int kGzip = 16 + MAX_WBITS;
  constexpr int kMemory = 8;
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY);
  out.resize(deflateBound(&stream, text.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
}

}  // namespace

double PlannedFreshness(const PlanInput& input, revisit::AllocationKind kind, size_t page,
                        double frequency) {
  const bool rates = input.header.Has(kChangeRate);
  const double alpha = rates ? 0 : input.number[kAlpha][page];
  const double beta = rates ? 0 : input.number[kBeta][page];
  if (kind == revisit::AllocationKind::kPoliteBinaryLambda) {
    return revisit::PoissonFreshness(rates ? input.number[kChangeRate][page] : alpha / beta,
                                     frequency);
  }
  return rates ? revisit::Freshness(input.number[kChangeRate][page], frequency)
               : revisit::BeliefFreshness(alpha, beta, frequency);
}

absl::Status WritePlan(ChunkReader& reader, const PlanInput& input, const revisit::Allocation& plan,
                       revisit::AllocationKind kind, const PlanOutputOptions& options,
                       const std::function<void()>& progress, OutputFile& output) {
  if (absl::Status status = reader.Rewind(); !status.ok()) return status;
  const RowFormatter formatter(input, plan, kind);
  const auto changed = [] {
    return absl::AbortedError("the file changed while it was being planned");
  };
  const auto append = [&](std::string_view text, std::string& compressed) {
    if (options.gzip) Compress(text, compressed);
    output.Append(options.gzip ? std::string_view(compressed) : text);
  };
  std::string compressed;
  append(formatter.Header(), compressed);
  size_t chunk = 0;
  absl::Status status = RunOrdered<FormatJob>(
      options.threads,
      [&](FormatJob& job) -> absl::StatusOr<bool> {
        if (absl::Status read = reader.Next(job.text, kPlanChunk); !read.ok()) return read;
        progress();
        if (job.text.empty()) return false;
        if (chunk >= input.chunks.size()) return changed();
        if (chunk == 0) job.text.erase(0, std::min(job.text.find('\n'), job.text.size() - 1) + 1);
        job.at = input.chunks[chunk++];
        job.end_row = chunk < input.chunks.size() ? input.chunks[chunk].first_row : input.pages();
        return true;
      },
      [&](FormatJob& job) {
        formatter.Format(job);
        if (options.gzip) Compress(job.out, job.compressed);
      },
      [&](FormatJob& job) {
        if (!job.fits) return changed();
        output.Append(options.gzip ? job.compressed : job.out);
        return output.Flush();
      });
  if (!status.ok()) return status;
  return chunk == input.chunks.size() ? absl::OkStatus() : changed();
}

}  // namespace escalona::cli

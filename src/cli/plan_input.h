// The pages of `escalona plan`: a CSV file turned into the arrays of an allocation problem.
#ifndef ESCALONA_CLI_PLAN_INPUT_H_
#define ESCALONA_CLI_PLAN_INPUT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/chunk_reader.h"
#include "cli/growing_array.h"

namespace escalona::cli {

// The columns that plan knows; numbers are indices into PlanHeader::column.
enum PlanColumn : uint8_t {
  kPage,
  kServer,
  kChangeRate,
  kAlpha,
  kBeta,
  kWeight,
  kMinInterval,
  kCost,
  kLo,
  kHi,
  kPlanColumns
};

// The header row: where each known column stands.
struct PlanHeader {
  static constexpr int kAbsent = -1;
  static constexpr size_t kMostColumns = 256;

  static absl::StatusOr<PlanHeader> Parse(std::string_view row);
  [[nodiscard]] bool Has(PlanColumn c) const { return column[c] != kAbsent; }

  std::string row;                       // as it stands in the file, without its line end
  std::array<int, kPlanColumns> column;  // kAbsent, or counted from 0
  size_t columns = 0;                    // number of columns in the file
  bool page_is_url = true;               // the page column is named url
  std::vector<size_t> planned_columns;   // columns of an earlier plan, which are not copied
};

struct PlanInputOptions {
  bool skip_bad = false;       // count bad rows instead of failing
  bool servers_matter = true;  // every server has a limit, so each page must have a server
  int threads = 1;
};

// What was read, all times in days. Rows that were skipped have no entry.
struct PlanInput {
  PlanHeader header;
  std::array<GrowingArray<double>, kPlanColumns> number;  // of the numeric columns in the file
  GrowingArray<uint32_t> server;
  std::vector<std::string> server_name;
  std::vector<double> server_interval;  // greatest min_interval of the server's pages
  std::vector<uint64_t> bad_lines;      // line numbers of the rows skipped, ascending
  struct Chunk {
    uint64_t first_line;
    uint64_t first_row;
  };
  std::vector<Chunk> chunks;  // of the file as ChunkReader cuts it

  [[nodiscard]] size_t pages() const { return server.size(); }
};

// The size of the pieces in which the file is read, the same in both passes.
inline constexpr size_t kPlanChunk = size_t{2} << 20;

// Reads all rows. `progress` is called now and then. A failure's message starts with LINE:COLUMN of
// the first bad row, counted from 1; `warn` is told of each row skipped.
absl::StatusOr<PlanInput> ReadPlanInput(ChunkReader& reader, const PlanInputOptions& options,
                                        const std::function<void(uint64_t pages)>& progress,
                                        const std::function<void(const std::string&)>& warn);

// The host of a URL, without user and port: the part between "//" and the path. Empty when there is
// none.
std::string_view HostOf(std::string_view url);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_PLAN_INPUT_H_

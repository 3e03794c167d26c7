// Rows of comma-separated values, as RFC 4180 describes them, except that a value holds no line
// end.
#ifndef ESCALONA_CLI_CSV_H_
#define ESCALONA_CLI_CSV_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace escalona::cli {

// A value and where it starts, counted from 0, in its row.
struct CsvField {
  std::string_view text;
  size_t offset = 0;
};

// Cuts rows into fields. Keeps the memory for quoted values, so one splitter serves many rows; the
// fields are valid until the next row. Not thread safe.
class CsvSplitter {
 public:
  // Puts the first fields of `row`, which has no line end, into fields[0..limit) and returns how
  // many the row has in all. Fails for a quote that does not close; error_offset() says where.
  absl::StatusOr<size_t> Split(std::string_view row, CsvField* fields, size_t limit);
  // The same for the first line of `text`. `row` becomes that line, without its end ("\n" or
  // "\r\n"), and `text` what follows it, also when this fails.
  absl::StatusOr<size_t> SplitLine(std::string_view& text, CsvField* fields, size_t limit,
                                   std::string_view& row);
  [[nodiscard]] size_t error_offset() const { return error_offset_; }

 private:
  absl::StatusOr<size_t> SplitQuoted(std::string_view row, CsvField* fields, size_t limit);

  std::vector<std::string> unquoted_;
  size_t error_offset_ = 0;
};

// `text` as one field of a row: quoted where it must be.
std::string CsvQuoted(std::string_view text);

// `text` in small letters and without the spaces around it: how names of columns are compared.
std::string Plain(std::string_view text);

// What went wrong with `file`: "FILE:LINE:COLUMN: ..." for a status that starts with a place, as
// those of bad rows do (they are invalid arguments), "FILE: ..." for one about the file as a whole.
std::string InFile(std::string_view file, const absl::Status& status);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_CSV_H_

// Splitting of rows: a fast way for rows without quotes, a careful one for the others.
#include "cli/csv.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/byte_masks.h"

namespace escalona::cli {

namespace {

// Takes the first line off `text`, whose end is at `end`.
std::string_view TakeLine(std::string_view& text, size_t end) {
  std::string_view row = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
  return row;
}

}  // namespace

absl::StatusOr<size_t> CsvSplitter::Split(std::string_view row, CsvField* fields, size_t limit) {
  if (row.find('"') != std::string_view::npos) return SplitQuoted(row, fields, limit);
  size_t count = 0;
  for (size_t begin = 0;; ++count) {
    const size_t end = std::min(row.find(',', begin), row.size());
    if (count < limit) fields[count] = {row.substr(begin, end - begin), begin};
    if (end == row.size()) return count + 1;
    begin = end + 1;
  }
}

absl::StatusOr<size_t> CsvSplitter::SplitLine(std::string_view& text, CsvField* fields,
                                              size_t limit, std::string_view& row) {
  size_t count = 0;
  size_t begin = 0;
  size_t end = text.size();
  for (size_t from = 0; from < end; from += ByteBlock::kSize) {
    const ByteBlock block(text, from);
    uint64_t marks = (block.Equal(',') | block.Equal('\n') | block.Equal('"')) & block.valid();
    for (; marks != 0 && end == text.size(); marks &= marks - 1) {
      const size_t at = from + static_cast<size_t>(std::countr_zero(marks));
      if (text[at] == '\n') {
        end = at;
        break;
      }
      if (text[at] == '"') {
        row = TakeLine(text, std::min(text.find('\n', at), text.size()));
        return SplitQuoted(row, fields, limit);
      }
      if (count < limit) fields[count] = {text.substr(begin, at - begin), begin};
      ++count;
      begin = at + 1;
    }
  }
  row = TakeLine(text, end);
  if (count < limit) fields[count] = {row.substr(begin), begin};
  return count + 1;
}

absl::StatusOr<size_t> CsvSplitter::SplitQuoted(std::string_view row, CsvField* fields,
                                                size_t limit) {
  size_t count = 0;
  size_t at = 0;
  unquoted_.resize(limit);  // before any view of its elements exists
  while (true) {
    const size_t start = at;
    std::string_view text;
    if (at < row.size() && row[at] == '"') {
      std::string value;
      for (++at;; ++at) {
        const size_t quote = row.find('"', at);
        if (quote == std::string_view::npos) {
          error_offset_ = start;
          return absl::InvalidArgumentError("this quote is not closed on its line");
        }
        value.append(row, at, quote - at);
        at = quote + 1;
        if (at >= row.size() || row[at] != '"') break;
        value += '"';
      }
      if (at < row.size() && row[at] != ',') {
        error_offset_ = at;
        return absl::InvalidArgumentError("a quoted value must be followed by a comma");
      }
      if (count < limit) {
        unquoted_[count] = std::move(value);
        text = unquoted_[count];
      }
    } else {
      at = std::min(row.find(',', at), row.size());
      text = row.substr(start, at - start);
    }
    if (count < limit) fields[count] = {text, start};
    ++count;
    if (at >= row.size()) return count;
    ++at;
  }
}

std::string CsvQuoted(std::string_view text) {
  if (text.find_first_of("\",\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string Plain(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  std::string plain(text);
  for (char& c : plain) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return plain;
}

std::string InFile(std::string_view file, const absl::Status& status) {
  const char* const colon = absl::IsInvalidArgument(status) ? ":" : ": ";
  return absl::StrCat(std::string(file), colon, std::string(status.message()));
}

}  // namespace escalona::cli

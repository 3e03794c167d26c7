// Splitting of rows: a fast way for rows without quotes, a careful one for the others.
#include "cli/csv.h"

#include <algorithm>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace escalona::cli {

absl::StatusOr<size_t> CsvSplitter::Split(std::string_view row, CsvField* fields, size_t limit) {
  if (std::memchr(row.data(), '"', row.size()) != nullptr) return SplitQuoted(row, fields, limit);
  const char* begin = row.data();
  const char* const end = row.data() + row.size();
  size_t count = 0;
  while (true) {
    const void* found = std::memchr(begin, ',', static_cast<size_t>(end - begin));
    const char* stop = found == nullptr ? end : static_cast<const char*>(found);
    if (count < limit) {
      fields[count] = {{begin, static_cast<size_t>(stop - begin)},
                       static_cast<size_t>(begin - row.data())};
    }
    ++count;
    if (found == nullptr) return count;
    begin = stop + 1;
  }
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

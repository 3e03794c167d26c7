#include "url/command_url.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/byte_masks.h"

namespace escalona {
namespace {

constexpr std::string_view kScheme = "http://";
constexpr std::string_view kWww = "www.";

bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
char Lower(char c) { return IsUpper(c) ? static_cast<char>(c | 0x20) : c; }

bool HasHttpScheme(std::string_view line) {
  return line.size() > kScheme.size() && Lower(line[0]) == 'h' && Lower(line[1]) == 't' &&
         Lower(line[2]) == 't' && Lower(line[3]) == 'p' && line[4] == ':' && line[5] == '/' &&
         line[6] == '/';
}

// Whether the path, which starts at `start` of `text` and reaches to its end, names a file that
// holds no links: a picture, sound, a film, a document.
bool HasDiscardedExtension(std::string_view text, size_t start) {
  if (text.size() < start + 4 || text[text.size() - 4] != '.') return false;
  const std::string_view extension = text.substr(text.size() - 3);
  for (std::string_view discarded : {"jpg", "gif", "mp3", "avi", "doc", "pdf"}) {
    if (extension == discarded) return true;
  }
  return false;
}

// The marks of a URL behind its scheme, found in one pass.
struct Marks {
  size_t host_end;          // first '/' or '?', or end
  size_t path_end;          // first '?', or end
  size_t end;               // first '#', or the end of the text
  uint32_t slashes = 0;     // between host_end and path_end
  bool upper_host = false;  // the host holds capitals
};

uint64_t Below(int bit) { return (uint64_t{1} << bit) - 1; }

Marks FindMarks(std::string_view text) {
  constexpr size_t kNotFound = std::string_view::npos;
  Marks marks = {kNotFound, kNotFound, text.size()};
  for (size_t from = 0; from < marks.end; from += ByteBlock::kSize) {
    const ByteBlock block(text, from);
    uint64_t rest = block.valid();
    if (const uint64_t hash = block.Equal('#') & rest) {
      marks.end = from + static_cast<size_t>(std::countr_zero(hash));
      rest &= Below(std::countr_zero(hash));
    }
    const uint64_t slashes = block.Equal('/');
    const uint64_t questions = block.Equal('?');
    if (marks.host_end == kNotFound) {
      const uint64_t stop = (slashes | questions) & rest;
      const uint64_t host = stop != 0 ? Below(std::countr_zero(stop)) : ~uint64_t{0};
      marks.upper_host |= (block.InRange('A', 'Z') & rest & host) != 0;
      rest &= ~host;
      if (stop != 0) marks.host_end = from + static_cast<size_t>(std::countr_zero(stop));
    }
    if (marks.path_end == kNotFound) {
      if (const uint64_t question = questions & rest) {
        marks.path_end = from + static_cast<size_t>(std::countr_zero(question));
        rest &= Below(std::countr_zero(question));
      }
      marks.slashes += static_cast<uint32_t>(std::popcount(slashes & rest));
    }
  }
  marks.host_end = std::min(marks.host_end, marks.end);
  marks.path_end = std::min(marks.path_end, marks.end);
  return marks;
}

}  // namespace

std::string_view TrimBlanks(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

void AppendLowerCase(std::string_view text, std::string& out) {
  for (char c : text) out.push_back(Lower(c));
}

bool ParseCommandUrl(std::string_view line, std::string& scratch, CommandUrl& url) {
  line = TrimBlanks(line);
  if (!HasHttpScheme(line)) return false;
  line.remove_prefix(kScheme.size());

  Marks marks = FindMarks(line);
  url.host = line.substr(0, marks.host_end);
  if (marks.upper_host) {
    scratch.clear();
    AppendLowerCase(url.host, scratch);
    url.host = scratch;
  }
  if (url.host.starts_with(kWww)) url.host.remove_prefix(kWww.size());
  if (url.host.empty()) return false;

  while (marks.end > marks.host_end && line[marks.end - 1] == '/') {
    if (marks.path_end == marks.end) {
      --marks.path_end;
      --marks.slashes;
    }
    --marks.end;
  }
  if (HasDiscardedExtension(line.substr(0, marks.path_end), marks.host_end)) return false;
  url.path = line.substr(marks.host_end, marks.end - marks.host_end);
  url.depth = marks.slashes;
  return true;
}

}  // namespace escalona

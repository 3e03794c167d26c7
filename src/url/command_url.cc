#include "url/command_url.h"

#include <algorithm>
#include <cstring>

namespace escalona {
namespace {

constexpr std::string_view kScheme = "http://";
constexpr std::string_view kWww = "www.";

bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
char Lower(char c) { return IsUpper(c) ? static_cast<char>(c | 0x20) : c; }

bool HasHttpScheme(std::string_view line) {
  return line.size() > kScheme.size() &&
         std::equal(kScheme.begin(), kScheme.end(), line.begin(),
                    [](char want, char have) { return want == Lower(have); });
}

// Files that hold no links: pictures, sound, films, documents.
bool HasDiscardedExtension(std::string_view path) {
  if (path.size() < 4 || path[path.size() - 4] != '.') return false;
  const std::string_view extension = path.substr(path.size() - 3);
  for (std::string_view discarded : {"jpg", "gif", "mp3", "avi", "doc", "pdf"}) {
    if (extension == discarded) return true;
  }
  return false;
}

std::string_view WithoutTrailingSlashes(std::string_view text) {
  while (!text.empty() && text.back() == '/') text.remove_suffix(1);
  return text;
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
  line = line.substr(0, line.find('#'));
  if (!HasHttpScheme(line)) return false;
  line.remove_prefix(kScheme.size());

  size_t host_size = 0;
  bool upper = false;
  for (; host_size < line.size(); ++host_size) {
    const char c = line[host_size];
    if (c == '/' || c == '?') break;
    upper |= IsUpper(c);
  }
  url.host = line.substr(0, host_size);
  if (upper) {
    scratch.clear();
    AppendLowerCase(url.host, scratch);
    url.host = scratch;
  }
  if (url.host.starts_with(kWww)) url.host.remove_prefix(kWww.size());
  if (url.host.empty()) return false;

  url.path = WithoutTrailingSlashes(line.substr(host_size));
  const std::string_view path = url.path.substr(0, url.path.find('?'));
  if (HasDiscardedExtension(path)) return false;
  url.depth = static_cast<uint32_t>(std::count(path.begin(), path.end(), '/'));
  return true;
}

}  // namespace escalona

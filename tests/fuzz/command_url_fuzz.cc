// The URL rules of command files on any bytes: they agree with a naive parser, never lengthen a
// URL, and applied to their own result they change nothing.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "url/command_url.h"

namespace {

struct Parsed {
  std::string host;
  std::string path;
  size_t depth;
  bool operator==(const Parsed&) const = default;
  std::string Text() const { return "http://" + host + path; }
};

std::optional<Parsed> Parse(std::string_view line) {
  std::string scratch;
  escalona::CommandUrl url;
  if (!escalona::ParseCommandUrl(line, scratch, url)) return std::nullopt;
  return Parsed{std::string(url.host), std::string(url.path), url.depth};
}

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return text;
}

// Rule by rule, on copies.
std::optional<Parsed> NaiveParse(std::string text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(" \t") + 1 - first);
  text = text.substr(0, text.find('#'));
  if (Lower(text.substr(0, 7)) != "http://") return std::nullopt;
  text = text.substr(7);
  std::string host = Lower(text.substr(0, text.find_first_of("/?")));
  std::string rest = text.substr(host.size());
  if (host.starts_with("www.")) host = host.substr(4);
  if (host.empty()) return std::nullopt;
  while (rest.ends_with('/')) rest.pop_back();
  const std::string path = rest.substr(0, rest.find('?'));
  for (const char* extension : {".jpg", ".gif", ".mp3", ".avi", ".doc", ".pdf"}) {
    if (path.ends_with(extension)) return std::nullopt;
  }
  return Parsed{host, rest, static_cast<size_t>(std::count(path.begin(), path.end(), '/'))};
}

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const std::optional<Parsed> once = Parse(line);
  Require(once == NaiveParse(std::string(line)), "the naive parser agrees");
  if (!once) return 0;
  const std::string text = once->Text();
  Require(text.size() <= size, "the result is no longer than the line");
  Require(!once->host.empty(), "a host is not empty");
  Require(text.find('#') == std::string::npos, "no fragment is left");
  const std::optional<Parsed> twice = Parse(text);
  // The rules take away one "www.", and blanks around a line but not those a cut lays bare.
  if (once->host.starts_with("www.") || text.ends_with(' ') || text.ends_with('\t')) return 0;
  Require(twice == once, "the result gives itself");
  return 0;
}

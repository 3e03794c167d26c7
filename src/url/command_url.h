// The command-file profile: the URL rules of `escalona run`.
#ifndef ESCALONA_URL_COMMAND_URL_H_
#define ESCALONA_URL_COMMAND_URL_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace escalona {

// A line that passed the rules. What is printed is "http://" + host + path.
// The views point into the line, or into the scratch string that was given along with it.
struct CommandUrl {
  std::string_view
      host;  // lower case, one leading "www." removed, never empty; a port belongs to it
  std::string_view path;  // path and query, as written, without slashes at the end
  uint32_t depth = 0;     // number of '/' before the first '?' of `path`
};

// Applies the rules to one line of an ADD_URLS block (without its line end). Returns false when the
// line is to be discarded; `url` is then unspecified. `scratch` is used only for hosts that hold
// upper-case letters. O(length); allocates only for scratch.
//
// Idempotent: "http://" + host + path of an accepted URL is accepted and gives the same, unless the
// host starts with "www." once more.
[[nodiscard]] bool ParseCommandUrl(std::string_view line, std::string& scratch, CommandUrl& url);

// `text` without the blanks (spaces and tabs) around it.
[[nodiscard]] std::string_view TrimBlanks(std::string_view text);

// Appends `text` to `out` with the letters A to Z in lower case.
void AppendLowerCase(std::string_view text, std::string& out);

}  // namespace escalona

#endif  // ESCALONA_URL_COMMAND_URL_H_

// Says where JSON is wrong.
#include "server/json_text.h"

#include <boost/json/parser.hpp>

#include "base/utf8.h"

namespace escalona::server {
namespace {

// How many bytes of the front are UTF-8.
size_t Utf8Bytes(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t size = Utf8CharacterSize(text.substr(at));
    if (size == 0) break;
    at += size;
  }
  return at;
}

std::string Wrong(const std::string& what, size_t at) {
  return what + " at byte " + std::to_string(at + 1);
}

}  // namespace

bool ParseJson(std::string_view text, boost::json::value& value, std::string& wrong) {
  boost::json::parser parser;
  boost::json::error_code code;
  const size_t end = parser.write_some(text.data(), text.size(), code);
  if (!code && end < text.size()) code = boost::json::error::extra_data;
  if (!code) {
    value = parser.release();
    return true;
  }
  const size_t valid = Utf8Bytes(text);
  if (text.empty()) {
    wrong = "is empty, and should be JSON";
  } else if (valid < text.size()) {
    wrong = Wrong("is not UTF-8, as JSON must be,", valid);
  } else {
    wrong = Wrong("is not JSON: " + code.message(), end);
  }
  return false;
}

}  // namespace escalona::server

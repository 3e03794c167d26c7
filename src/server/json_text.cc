// Says where JSON is wrong.
#include "server/json_text.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <limits>
#include <optional>
#include <vector>

#include "base/utf8.h"

namespace escalona::server {
namespace {

namespace json = boost::json;

// Makes a value of what the parser reads, as json::parser does, and looks at the names.
class DocumentBuilder {
 public:
  // NOLINTBEGIN(readability-identifier-naming): names the parser asks for
  static constexpr size_t max_object_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_array_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_key_size = std::numeric_limits<size_t>::max();
  static constexpr size_t max_string_size = std::numeric_limits<size_t>::max();
  // NOLINTEND(readability-identifier-naming)
  using Text = json::string_view;
  using Error = json::error_code;

  json::value Release() { return stack_.release(); }
  // A name that an object has twice.
  const std::optional<std::string>& twice() const { return twice_; }

  bool on_document_begin(Error&) {
    stack_.reset();
    return true;
  }
  bool on_document_end(Error&) { return true; }
  bool on_object_begin(Error&) { return true; }
  bool on_object_end(size_t n, Error& error) {
    // Those of objects within are gone already.
    const auto first = names_.end() - static_cast<ptrdiff_t>(n);
    std::sort(first, names_.end());
    const auto found = std::adjacent_find(first, names_.end());
    if (found != names_.end()) {
      twice_ = *found;
      error = json::error::syntax;
      return false;
    }
    names_.erase(first, names_.end());
    stack_.push_object(n);
    return true;
  }
  bool on_array_begin(Error&) { return true; }
  bool on_array_end(size_t n, Error&) {
    stack_.push_array(n);
    return true;
  }
  bool on_key_part(Text text, size_t, Error&) {
    name_.append(text.data(), text.size());
    stack_.push_chars(text);
    return true;
  }
  bool on_key(Text text, size_t, Error&) {
    name_.append(text.data(), text.size());
    names_.push_back(name_);
    name_.clear();
    stack_.push_key(text);
    return true;
  }
  bool on_string_part(Text text, size_t, Error&) {
    stack_.push_chars(text);
    return true;
  }
  bool on_string(Text text, size_t, Error&) {
    stack_.push_string(text);
    return true;
  }
  bool on_number_part(Text, Error&) { return true; }
  bool on_int64(int64_t number, Text, Error&) {
    stack_.push_int64(number);
    return true;
  }
  bool on_uint64(uint64_t number, Text, Error&) {
    stack_.push_uint64(number);
    return true;
  }
  bool on_double(double number, Text, Error&) {
    stack_.push_double(number);
    return true;
  }
  bool on_bool(bool value, Error&) {
    stack_.push_bool(value);
    return true;
  }
  bool on_null(Error&) {
    stack_.push_null();
    return true;
  }
  bool on_comment_part(Text, Error&) { return true; }
  bool on_comment(Text, Error&) { return true; }

 private:
  json::value_stack stack_;
  std::vector<std::string> names_;  // of the objects that are open
  std::string name_;                // its beginning
  std::optional<std::string> twice_;
};

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

bool ParseJson(std::string_view text, json::value& value, std::string& wrong) {
  json::basic_parser<DocumentBuilder> parser{json::parse_options()};
  json::error_code code;
  const size_t end = parser.write_some(false, text.data(), text.size(), code);
  if (!code && end < text.size()) code = json::error::extra_data;
  if (!code) {
    value = parser.handler().Release();
    return true;
  }
  if (const auto& name = parser.handler().twice(); name.has_value()) {
    wrong = "has '" + *name + "' twice in one object";
    return false;
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

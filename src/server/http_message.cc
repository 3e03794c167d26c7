// Requests, responses and errors.
#include "server/http_message.h"

#include <algorithm>

#include "base/utf8.h"

namespace escalona::server {
namespace {

char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = LowerAscii(c);
  if (lower >= 'a' && lower <= 'f') return lower - 'a' + 10;
  return -1;
}

constexpr char kHex[] = "0123456789abcdef";

void AppendEscaped(char c, std::string& json) {
  switch (c) {
    case '"':
      json += "\\\"";
      return;
    case '\\':
      json += "\\\\";
      return;
    case '\n':
      json += "\\n";
      return;
    case '\r':
      json += "\\r";
      return;
    case '\t':
      json += "\\t";
      return;
    default:
      json += "\\u00";
      json += kHex[(c >> 4) & 0xF];
      json += kHex[c & 0xF];
  }
}

bool IsPlain(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

}  // namespace

std::string_view MethodName(Method method) {
  static constexpr std::string_view kNames[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "OTHER"};
  return kNames[static_cast<size_t>(method)];
}

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return LowerAscii(x) == LowerAscii(y); });
}

std::string_view Request::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (EqualIgnoringCase(key, name)) return value;
  }
  return {};
}

std::optional<std::string> Request::Query(std::string_view name) const {
  std::string_view rest = query;
  std::string decoded;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view item = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t equals = std::min(item.find('='), item.size());
    if (!PercentDecode(item.substr(0, equals), true, decoded) || decoded != name) continue;
    const std::string_view value = equals < item.size() ? item.substr(equals + 1) : "";
    if (!PercentDecode(value, true, decoded)) return std::nullopt;
    return decoded;
  }
  return std::nullopt;
}

std::string_view Request::ContentType() const {
  std::string_view type = Header("content-type");
  type = type.substr(0, std::min(type.find(';'), type.size()));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return type;
}

void Response::Clear() {
  status = 200;
  content_type = "application/json";
  body.clear();
  headers.clear();
  source.reset();
  deferred = false;
}

void SetError(int status, std::string_view code, std::string_view message, std::string_view field,
              Response& response) {
  response.status = status;
  response.content_type = "application/json";
  response.source.reset();
  response.body = "{\"code\":";
  AppendJsonString(code, response.body);
  response.body += ",\"message\":";
  AppendJsonString(message, response.body);
  if (!field.empty()) {
    response.body += ",\"field\":";
    AppendJsonString(field, response.body);
  }
  response.body += '}';
}

void SetError(const absl::Status& error, std::string_view field, Response& response) {
  const auto message = error.message();
  SetError(HttpStatusOf(error.code()), CodeName(error.code()), {message.data(), message.size()},
           field, response);
}

int HttpStatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kFailedPrecondition:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

std::string_view CodeName(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return "invalid_argument";
    case absl::StatusCode::kUnauthenticated:
      return "unauthenticated";
    case absl::StatusCode::kPermissionDenied:
      return "permission_denied";
    case absl::StatusCode::kNotFound:
      return "not_found";
    case absl::StatusCode::kAlreadyExists:
      return "already_exists";
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kFailedPrecondition:
      return "failed_precondition";
    case absl::StatusCode::kResourceExhausted:
      return "resource_exhausted";
    case absl::StatusCode::kUnimplemented:
      return "unimplemented";
    case absl::StatusCode::kUnavailable:
      return "unavailable";
    case absl::StatusCode::kDeadlineExceeded:
      return "deadline_exceeded";
    case absl::StatusCode::kDataLoss:
      return "data_loss";
    default:
      return "internal";
  }
}

void AppendJsonString(std::string_view text, std::string& json) {
  json += '"';
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && IsPlain(text[plain])) ++plain;
    json.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const size_t length = Utf8CharacterSize(text);
    if (length == 0) {
      json += "\xEF\xBF\xBD";
    } else if (length > 1) {
      json.append(text.substr(0, length));
    } else {
      AppendEscaped(text.front(), json);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  json += '"';
}

bool PercentDecode(std::string_view text, bool plus_is_blank, std::string& decoded) {
  decoded.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const int high = text.size() - i > 2 ? HexDigit(text[i + 1]) : -1;
      const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
      if (low < 0) return false;
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += plus_is_blank && text[i] == '+' ? ' ' : text[i];
    }
  }
  return true;
}

bool IsPercentEncoded(std::string_view text) {
  for (size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 3)) {
    if (text.size() - at < 3 || HexDigit(text[at + 1]) < 0 || HexDigit(text[at + 2]) < 0) {
      return false;
    }
  }
  return true;
}

void AppendPercentEncoded(std::string_view text, std::string& encoded) {
  for (const char c : text) {
    const char lower = LowerAscii(c);
    if ((lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
        c == '_' || c == '~') {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kHex[(c >> 4) & 0xF];
      encoded += kHex[c & 0xF];
    }
  }
}

}  // namespace escalona::server

// Parses one request: Beast's parser, with the pieces kept in two strings that are used again.
#ifndef ESCALONA_SERVER_HTTP_PARSER_H_
#define ESCALONA_SERVER_HTTP_PARSER_H_

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/verb.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "server/http_message.h"

namespace escalona::server {

// What a parser fills in. Kept by the connection from request to request for its memory.
struct ParsedRequest {
  struct Field {
    uint32_t name, name_size, value, value_size;  // in `text`
  };
  std::string text;  // the target, then names and values
  size_t target_size = 0;
  std::vector<Field> fields;
  std::string body;  // of a sink's route: what it has not taken yet
  Method method = Method::kOther;
  int version = 11;  // 10 times that of HTTP
  bool is_head = false;
  size_t hosts = 0;     // Host headers
  bool frozen = false;  // views into `text` are in use: what trailers say is ignored
  size_t max_body_bytes = std::numeric_limits<size_t>::max();

  void Clear() {
    text.clear();
    fields.clear();
    body.clear();
    target_size = 0;
    method = Method::kOther;
    version = 11;
    is_head = frozen = false;
    hosts = 0;
    max_body_bytes = std::numeric_limits<size_t>::max();
  }
  // Sets the views of `request` to what is kept here.
  void Fill(Request& request) const {
    const std::string_view all = text;
    std::string_view target = all.substr(0, target_size);
    if (target.starts_with("http://")) {  // as a proxy is asked
      target.remove_prefix(std::min(target.find('/', 7), target.size()));
    }
    const size_t question = std::min(target.find('?'), target.size());
    request.method = method;
    request.path = target.substr(0, question);
    request.query = question < target.size() ? target.substr(question + 1) : "";
    request.headers.clear();
    for (const Field& field : fields) {
      request.headers.emplace_back(all.substr(field.name, field.name_size),
                                   all.substr(field.value, field.value_size));
    }
    request.body = body;
  }
};

class RequestParser : public boost::beast::http::basic_parser<true> {
 public:
  RequestParser(size_t max_header_bytes, ParsedRequest& request) : request_(request) {
    header_limit(static_cast<uint32_t>(max_header_bytes));
    body_limit(boost::none);  // known only when the route is
  }

 private:
  using ErrorCode = boost::beast::error_code;
  using Text = boost::beast::string_view;

  static Method MethodOf(boost::beast::http::verb verb) {
    switch (verb) {
      case boost::beast::http::verb::get:
      case boost::beast::http::verb::head:
        return Method::kGet;
      case boost::beast::http::verb::post:
        return Method::kPost;
      case boost::beast::http::verb::put:
        return Method::kPut;
      case boost::beast::http::verb::patch:
        return Method::kPatch;
      case boost::beast::http::verb::delete_:
        return Method::kDelete;
      default:
        return Method::kOther;
    }
  }

  void on_request_impl(boost::beast::http::verb verb, Text, Text target, int version,
                       ErrorCode&) override {
    request_.version = version;
    request_.method = MethodOf(verb);
    request_.is_head = verb == boost::beast::http::verb::head;
    request_.text.assign(target.data(), target.size());
    request_.target_size = target.size();
  }
  void on_response_impl(int, Text, int, ErrorCode&) override {}
  void on_field_impl(boost::beast::http::field field, Text name, Text value,
                     ErrorCode& error) override {
    if (request_.frozen) return;
    // Where the body ends is told by chunks or by a length. Beast takes any other encoding for no
    // body, and what is in it for the next request.
    if (field == boost::beast::http::field::transfer_encoding && !chunked()) {
      error = boost::beast::http::error::bad_transfer_encoding;
      return;
    }
    const auto at = static_cast<uint32_t>(request_.text.size());
    const auto name_size = static_cast<uint32_t>(name.size());
    if (field == boost::beast::http::field::host) ++request_.hosts;
    request_.fields.push_back({at, name_size, at + name_size, static_cast<uint32_t>(value.size())});
    request_.text.append(name.data(), name.size()).append(value.data(), value.size());
  }
  void on_header_impl(ErrorCode&) override {}
  void on_body_init_impl(const boost::optional<uint64_t>&, ErrorCode&) override {}
  size_t on_body_impl(Text piece, ErrorCode& error) override { return Take(piece, error); }
  void on_chunk_header_impl(uint64_t, Text, ErrorCode&) override {}
  size_t on_chunk_body_impl(uint64_t, Text piece, ErrorCode& error) override {
    return Take(piece, error);
  }
  void on_finish_impl(ErrorCode&) override {}

  size_t Take(Text piece, ErrorCode& error) {
    if (piece.size() > request_.max_body_bytes - request_.body.size()) {
      error = boost::beast::http::error::body_limit;
      return 0;
    }
    request_.body.append(piece.data(), piece.size());
    return piece.size();
  }

  ParsedRequest& request_;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_HTTP_PARSER_H_

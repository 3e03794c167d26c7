// Routes as a tree of path segments.
#include "server/router.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

namespace escalona::server {

struct Router::Node {
  std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
  std::unique_ptr<Node> any;   // a segment in braces
  std::unique_ptr<Node> rest;  // "{rest...}"
  std::array<std::unique_ptr<Route>, kRoutedMethods> routes;
};

namespace {

[[noreturn]] void Mistake(std::string_view pattern, const char* what) {
  std::fprintf(stderr, "escalona: route %s: %s\n", std::string(pattern).c_str(), what);
  std::abort();
}

// Takes the segment behind the '/' at the front.
std::string_view TakeSegment(std::string_view& path) {
  path.remove_prefix(1);
  const size_t end = std::min(path.find('/'), path.size());
  const std::string_view segment = path.substr(0, end);
  path.remove_prefix(end);
  return segment;
}

}  // namespace

Router::Router() : root_(std::make_unique<Node>()) {}
Router::~Router() = default;

void Router::Add(Method method, std::string_view pattern, Handler handler, RouteOptions options) {
  Insert(method, pattern, {std::string(pattern), options, std::move(handler), nullptr});
}

void Router::AddUpload(Method method, std::string_view pattern, UploadHandler handler,
                       RouteOptions options) {
  Insert(method, pattern, {std::string(pattern), options, nullptr, std::move(handler)});
}

void Router::Insert(Method method, std::string_view pattern, Route route) {
  if (pattern.empty() || pattern.front() != '/') Mistake(pattern, "does not begin with '/'");
  if (method == Method::kOther) Mistake(pattern, "has no method");
  Node* node = root_.get();
  for (std::string_view path = pattern; !path.empty();) {
    const std::string_view segment = TakeSegment(path);
    std::unique_ptr<Node>* next = nullptr;
    if (segment.size() < 2 || segment.front() != '{') {
      next = &node->literals[std::string(segment)];
    } else if (segment.ends_with("...}")) {
      if (!path.empty()) Mistake(pattern, "has segments after the rest");
      next = &node->rest;
    } else {
      next = &node->any;
    }
    if (*next == nullptr) *next = std::make_unique<Node>();
    node = next->get();
  }
  std::unique_ptr<Route>& slot = node->routes[static_cast<size_t>(method)];
  if (slot != nullptr) Mistake(pattern, "is there already");
  slot = std::make_unique<Route>(std::move(route));
  list_.push_back(std::string(MethodName(method)) + " " + std::string(pattern));
}

// One search: the segments that stand for braces, and the methods seen where the path fits.
struct Router::Walk {
  size_t method;
  std::vector<std::string_view>& values;
  std::array<bool, kRoutedMethods> seen = {};

  const Route* At(const Node& node) {
    if (method < kRoutedMethods && node.routes[method] != nullptr) return node.routes[method].get();
    for (size_t i = 0; i < kRoutedMethods; ++i) seen[i] |= node.routes[i] != nullptr;
    return nullptr;
  }

  const Route* Below(const Node& node, std::string_view path) {
    if (path.empty()) return At(node);
    const std::string_view whole = path;
    const std::string_view segment = TakeSegment(path);
    if (const auto found = node.literals.find(segment); found != node.literals.end()) {
      if (const Route* route = Below(*found->second, path); route != nullptr) return route;
    }
    const size_t depth = values.size();
    if (node.any != nullptr) {
      values.push_back(segment);
      if (const Route* route = Below(*node.any, path); route != nullptr) return route;
      values.resize(depth);
    }
    if (node.rest == nullptr) return nullptr;
    values.push_back(whole.substr(1));
    if (const Route* route = At(*node.rest); route != nullptr) return route;
    values.resize(depth);
    return nullptr;
  }
};

Router::Match Router::Find(Method method, std::string_view path,
                           std::vector<std::string>& params) const {
  Match match;
  if (path.empty() || path.front() != '/') return match;
  thread_local std::vector<std::string_view> values;
  values.clear();
  Walk walk{static_cast<size_t>(method), values};
  match.route = walk.Below(*root_, path);
  if (match.route == nullptr) {
    for (size_t i = 0; i < kRoutedMethods; ++i) {
      if (!walk.seen[i]) continue;
      if (!match.allowed.empty()) match.allowed += ", ";
      match.allowed += MethodName(static_cast<Method>(i));
    }
    return match;
  }
  params.resize(values.size());
  const bool has_rest = match.route->pattern.ends_with("...}");
  for (size_t i = 0; i < values.size(); ++i) {
    if (has_rest && i + 1 == values.size()) {
      params[i] = values[i];
    } else if (!PercentDecode(values[i], false, params[i])) {
      match.bad_encoding = true;
    }
  }
  return match;
}

std::vector<std::string> Router::List() const { return list_; }

}  // namespace escalona::server

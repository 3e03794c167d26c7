// Bodies and paths of association requests: what is read in place must be what Boost.JSON reads,
// and a stream must mean the same however it is cut.
#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assoc/namespaces.h"
#include "escalona/clock.h"
#include "server/association_items.h"
#include "server/association_stream.h"
#include "server/router.h"
#include "store/store.h"

namespace {

namespace json = boost::json;
using escalona::server::AssociationItem;
using escalona::server::ItemError;
using escalona::server::ItemParser;

void Require(bool holds) {
  if (!holds) std::abort();
}

// The text of a member, by either spelling; null if there is none or it is no string.
const json::string* Text(const json::object& object, const char* lower, const char* upper) {
  if (object.contains(lower) && object.contains(upper)) return nullptr;
  const json::value* value = object.if_contains(lower);
  if (value == nullptr) value = object.if_contains(upper);
  return value != nullptr ? value->if_string() : nullptr;
}

// What an item says according to Boost.JSON alone; nothing if it should be refused. Counts and
// event ids are not looked at: an item with them is skipped.
struct Pair {
  std::string key, associated_key;
};
std::optional<Pair> Expected(const json::value& value) {
  const json::object* object = value.if_object();
  if (object == nullptr) return std::nullopt;
  const json::string* key = Text(*object, "key", "Key");
  const json::string* other = Text(*object, "associatedKey", "AssociatedKey");
  if (key == nullptr || other == nullptr) return std::nullopt;
  const auto good = [](const json::string& text) { return !text.empty() && text.size() <= 1024; };
  if (!good(*key) || !good(*other)) return std::nullopt;
  return Pair{std::string(*key), std::string(*other)};
}

bool HasMore(std::string_view text) {
  for (const char* word : {"ount", "requency", "vent", "\\u"}) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  return false;
}

// Boost.JSON takes the last of two members of one name, we take none.
bool IsTwice(const ItemError& error) {
  return error.message.find("twice in one object") != std::string::npos;
}

void CheckOne(std::string_view text) {
  ItemParser parser;
  AssociationItem item;
  ItemError error;
  const bool good = parser.ParseOne(text, item, error);
  Require(good || !error.message.empty());
  if (HasMore(text) || IsTwice(error)) return;
  json::error_code code;
  const json::value value = json::parse({text.data(), text.size()}, code);
  const auto expected = code ? std::nullopt : Expected(value);
  Require(good == expected.has_value());
  if (good) Require(item.key == expected->key && item.associated_key == expected->associated_key);
}

void CheckArray(std::string_view text) {
  ItemParser parser;
  std::vector<AssociationItem> items;
  std::vector<uint64_t> indices;
  std::vector<escalona::server::IndexedItemError> wrong;
  ItemError error;
  const bool good = parser.ParseArray(text, items, indices, wrong, error);
  Require(items.size() == indices.size());
  if (IsTwice(error)) return;
  json::error_code code;
  const json::value value = json::parse({text.data(), text.size()}, code);
  Require(good == (!code && value.is_array()));
  if (!good || HasMore(text)) return;
  const json::array& array = value.get_array();
  Require(items.size() + wrong.size() == array.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const auto expected = Expected(array[indices[i]]);
    Require(expected.has_value() && items[i].key == expected->key &&
            items[i].associated_key == expected->associated_key);
  }
}

std::string Stream(std::string_view text, size_t cut, escalona::server::StreamFormat format) {
  const escalona::SystemClock clock;
  const auto store = escalona::store::NewMemoryStore();
  const auto spaces = escalona::assoc::Namespaces::Open(*store, clock, {}).value();
  const auto sink =
      escalona::server::NewBatchSink(spaces->Default(), clock, format, size_t{1} << 20);
  escalona::server::Response response;
  for (size_t at = 0; at < text.size(); at += cut) {
    if (sink->Take(text.substr(at, cut), response)) continue;
    Require(response.status == 400);  // a header of CSV that cannot be used
    return response.body;
  }
  sink->Finish(response);
  return response.body;
}

void CheckPath(std::string_view path) {
  static const auto* const router = [] {
    auto* made = new escalona::server::Router();
    for (const char* pattern :
         {"/associations/{key}", "/associations/{key}/{other}", "/w/{r...}"}) {
      made->Add(escalona::server::Method::kGet, pattern, [](const auto&, auto&) {});
    }
    return made;
  }();
  std::vector<std::string> params;
  const auto match = router->Find(escalona::server::Method::kGet, path, params);
  if (match.route == nullptr || match.bad_encoding) return;
  if (match.route->pattern != "/associations/{key}") return;
  std::string encoded = "/associations/";
  escalona::server::AppendPercentEncoded(params[0], encoded);
  const std::string key = params[0];
  Require(router->Find(escalona::server::Method::kGet, encoded, params).route == match.route);
  Require(params[0] == key);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const size_t cut = 1 + data[1] % 32;
  switch (data[0] % 5) {
    case 0:
      CheckOne(text);
      break;
    case 1:
      CheckArray(text);
      break;
    case 2:
    case 3: {
      const auto format = data[0] % 5 == 2 ? escalona::server::StreamFormat::kNdjson
                                           : escalona::server::StreamFormat::kCsv;
      if (text.find("vent") != std::string_view::npos || size > 4096) break;
      Require(Stream(text, cut, format) == Stream(text, text.size() + 1, format));
      break;
    }
    default:
      CheckPath(text);
  }
  return 0;
}

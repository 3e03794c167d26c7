// Parses associations.
#include "server/association_items.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "escalona/associations.h"
#include "server/http_message.h"
#include "server/json_text.h"

namespace escalona::server {
namespace {

namespace json = boost::json;

enum Member : uint8_t { kKey = 1, kAssociatedKey = 2, kCount = 4, kEventId = 8 };

constexpr std::string_view kCountWords = "a whole number from 1 to 18446744073709551615";

// The member of that name; 0 if it is none of ours.
uint8_t MemberOf(std::string_view name) {
  switch (name.size()) {
    case 3:
      return name == "key" || name == "Key" ? kKey : 0;
    case 13:
      return name == "associatedKey" || name == "AssociatedKey" ? kAssociatedKey : 0;
    case 5:
      return name == "count" || name == "Count" ? kCount : 0;
    case 9:
      return name == "frequency" || name == "Frequency" ? kCount : 0;
    case 7:
      return name == "eventId" || name == "EventId" ? kEventId : 0;
    default:
      return 0;
  }
}

std::string_view FieldOf(uint8_t member) {
  switch (member) {
    case kKey:
      return "key";
    case kAssociatedKey:
      return "associatedKey";
    case kCount:
      return "count";
    default:
      return "eventId";
  }
}

// A member that is text.
std::string_view& MemberIn(AssociationItem& item, uint8_t member) {
  return member == kKey ? item.key : member == kAssociatedKey ? item.associated_key : item.event_id;
}

std::string NamesOf(const std::vector<uint8_t>& members) {
  std::string names;
  for (const uint8_t member : members) {
    if (!names.empty()) names += ',';
    names += FieldOf(member);
  }
  return names;
}

bool CheckKey(std::string_view text, std::string_view field, ItemError& error) {
  if (!text.empty() && text.size() <= kMaxAssociationKeyBytes) return true;
  error = {field, text.empty() ? "must not be empty"
                               : "may have " + std::to_string(kMaxAssociationKeyBytes) +
                                     " bytes, and has " + std::to_string(text.size())};
  return false;
}

bool CheckItem(uint8_t seen, const AssociationItem& item, ItemError& error) {
  for (const uint8_t member : {kKey, kAssociatedKey}) {
    if ((seen & member) == 0) {
      error = {FieldOf(member), "is missing"};
      return false;
    }
  }
  if (!CheckKey(item.key, "key", error)) return false;
  if (!CheckKey(item.associated_key, "associatedKey", error)) return false;
  if ((seen & kEventId) != 0 && !CheckKey(item.event_id, "eventId", error)) return false;
  if (item.count != 0) return true;
  error = {"count", "must be " + std::string(kCountWords)};
  return false;
}

// Reads the usual form in place. Null where it meets anything else: then Boost.JSON has to look.
class FastReader {
 public:
  explicit FastReader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool Object(AssociationItem& item, uint8_t& seen) {
    item = {};
    seen = 0;
    if (!Skip('{')) return false;
    do {
      std::string_view name;
      if (!String(name) || !Skip(':')) return false;
      const uint8_t member = MemberOf(name);
      if (member == 0 || (seen & member) != 0) return false;
      seen |= member;
      if (member == kCount) {
        if (!Number(item.count)) return false;
      } else if (!String(MemberIn(item, member))) {
        return false;
      }
    } while (Skip(','));
    return Skip('}');
  }

  // Whether the next character that is no blank is `c`; then it has been passed.
  bool Skip(char c) {
    Blanks();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  bool AtEnd() {
    Blanks();
    return at_ == end_;
  }

 private:
  void Blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  bool String(std::string_view& text) {
    if (!Skip('"')) return false;
    const char* const begin = at_;
    // Eight bytes at a time as long as none is a quote, a backslash, a control or not ASCII.
    for (; end_ - at_ >= 8; at_ += 8) {
      uint64_t bytes;
      std::memcpy(&bytes, at_, 8);
      constexpr uint64_t kOnes = 0x0101010101010101;
      constexpr uint64_t kHigh = 0x8080808080808080;
      const uint64_t quote = bytes ^ (kOnes * '"');
      const uint64_t backslash = bytes ^ (kOnes * '\\');
      const uint64_t special = ((quote - kOnes) & ~quote) | ((backslash - kOnes) & ~backslash) |
                               ((bytes - kOnes * 0x20) & ~bytes) | bytes;
      if ((special & kHigh) != 0) break;
    }
    while (at_ != end_) {
      const auto c = static_cast<unsigned char>(*at_);
      if (c == '"') {
        text = {begin, static_cast<size_t>(at_ - begin)};
        ++at_;
        return true;
      }
      if (c == '\\' || c < 0x20) return false;
      const size_t length =
          c < 0x80 ? 1 : Utf8CharacterSize({at_, static_cast<size_t>(end_ - at_)});
      if (length == 0) return false;
      at_ += length;
    }
    return false;
  }

  bool Number(uint64_t& number) {
    Blanks();
    if (at_ == end_ || *at_ < '1' || *at_ > '9') return false;
    const auto end = std::from_chars(at_, end_, number);
    if (end.ec != std::errc()) return false;
    at_ = end.ptr;
    return at_ != end_ && (*at_ == ',' || *at_ == '}' || *at_ == ' ');
  }

  const char* at_;
  const char* end_;
};

std::string_view ViewOf(const json::string& text) { return {text.data(), text.size()}; }

bool ReadCount(const json::value& value, uint64_t& count, ItemError& error) {
  if (value.is_uint64()) {
    count = value.get_uint64();
  } else if (value.is_int64() && value.get_int64() > 0) {
    count = static_cast<uint64_t>(value.get_int64());
  } else {
    count = 0;
  }
  if (count != 0) return true;
  error = {"count", "must be " + std::string(kCountWords)};
  return false;
}

bool ReadItem(const json::value& value, AssociationItem& item, ItemError& error) {
  if (!value.is_object()) {
    error = {"", "must be an object with key and associatedKey"};
    return false;
  }
  item = {};
  uint8_t seen = 0;
  for (const auto& [name, member_value] : value.get_object()) {
    const uint8_t member = MemberOf({name.data(), name.size()});
    if (member == 0) continue;
    if ((seen & member) != 0) {
      error = {FieldOf(member), "is there twice"};
      return false;
    }
    seen |= member;
    if (member == kCount) {
      if (!ReadCount(member_value, item.count, error)) return false;
      continue;
    }
    if (!member_value.is_string()) {
      error = {FieldOf(member), "must be a string"};
      return false;
    }
    MemberIn(item, member) = ViewOf(member_value.get_string());
  }
  return CheckItem(seen, item, error);
}

bool ParseDocument(std::string_view text, json::value& value, ItemError& error) {
  std::string wrong;
  if (ParseJson(text, value, wrong)) return true;
  error = {"", std::move(wrong)};
  return false;
}

bool ReadBasket(const json::value& value, Basket& basket, ItemError& error) {
  const json::object* const object = value.if_object();
  const json::value* const keys = object != nullptr ? object->if_contains("keys") : nullptr;
  if (keys == nullptr || !keys->is_array()) {
    error = {"keys", "must be an array of strings"};
    return false;
  }
  for (const json::value& key : keys->get_array()) {
    if (!key.is_string()) {
      error = {"keys", "must be an array of strings"};
      return false;
    }
    const std::string_view text = ViewOf(key.get_string());
    if (!CheckKey(text, "keys", error)) return false;
    basket.keys.emplace_back(text);
  }
  std::vector<std::string> sorted = basket.keys;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    std::vector<std::string> distinct;
    for (std::string& key : basket.keys) {
      if (std::find(distinct.begin(), distinct.end(), key) == distinct.end()) {
        distinct.push_back(std::move(key));
      }
      if (distinct.size() > kMaxBasketKeys) break;
    }
    basket.keys = std::move(distinct);
  }
  if (basket.keys.size() < 2 || basket.keys.size() > kMaxBasketKeys) {
    error = {"keys", "must be 2 to " + std::to_string(kMaxBasketKeys) + " different keys"};
    return false;
  }
  if (const json::value* count = object->if_contains("count"); count != nullptr) {
    if (!ReadCount(*count, basket.count, error)) return false;
  }
  if (const json::value* id = object->if_contains("eventId"); id != nullptr) {
    if (!id->is_string() || !CheckKey(ViewOf(id->get_string()), "eventId", error)) {
      error.field = "eventId";
      if (error.message.empty()) error.message = "must be a string";
      return false;
    }
    basket.event_id = ViewOf(id->get_string());
  }
  return true;
}

// Takes a value off the front of a row, and the comma behind it; `more` is whether there was one.
// False: a quote does not close.
bool TakeCsvValue(std::string_view& row, std::string& unquoted, std::string_view& value,
                  bool& more) {
  if (row.empty() || row.front() != '"') {
    const size_t comma = std::min(row.find(','), row.size());
    value = row.substr(0, comma);
    more = comma < row.size();
    row.remove_prefix(std::min(comma + 1, row.size()));
    return true;
  }
  unquoted.clear();
  size_t at = 1;
  while (true) {
    const size_t quote = row.find('"', at);
    if (quote == std::string_view::npos) return false;
    unquoted.append(row.substr(at, quote - at));
    at = quote + 1;
    if (at == row.size() || row[at] != '"') break;
    unquoted += '"';
    ++at;
  }
  value = unquoted;
  if (at < row.size() && row[at] != ',') return false;
  more = at < row.size();
  row.remove_prefix(std::min(at + 1, row.size()));
  return true;
}

std::string_view WithoutBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// The member of a column of that name; 0 if it is none of ours.
uint8_t ColumnOf(std::string_view name) {
  for (const char* ours : {"key", "associatedKey", "count", "frequency", "eventId"}) {
    if (EqualIgnoringCase(name, ours)) return MemberOf(ours);
  }
  return 0;
}

// The names in a row of CSV. False: a quote does not close.
bool ReadNames(std::string_view row, std::vector<std::string>& names) {
  bool more = true;
  while (more) {
    std::string unquoted;
    std::string_view value;
    row.remove_prefix(std::min(row.find_first_not_of(" \t"), row.size()));
    if (!TakeCsvValue(row, unquoted, value, more)) return false;
    names.emplace_back(WithoutBlanks(value));
  }
  return true;
}

bool ReadValue(uint8_t column, std::string_view value, AssociationItem& item, ItemError& error) {
  if (column == kCount) {
    const char* const end = value.data() + value.size();
    const auto read = std::from_chars(value.data(), end, item.count);
    if (read.ec != std::errc() || read.ptr != end) item.count = 0;
    return true;
  }
  if (!IsUtf8(value)) {
    error = {FieldOf(column), "is not UTF-8"};
    return false;
  }
  MemberIn(item, column) = value;
  return true;
}

}  // namespace

struct ItemParser::Document {
  json::value value;
};

ItemParser::ItemParser()
    : document_(std::make_unique<Document>()), columns_{kKey, kAssociatedKey, kCount} {}
ItemParser::~ItemParser() = default;

bool ItemParser::ParseOne(std::string_view text, AssociationItem& item, ItemError& error) {
  FastReader fast(text);
  uint8_t seen;
  if (fast.Object(item, seen) && fast.AtEnd()) return CheckItem(seen, item, error);
  if (!ParseDocument(text, document_->value, error)) return false;
  return ReadItem(document_->value, item, error);
}

bool ItemParser::ParseArray(std::string_view text, std::vector<AssociationItem>& items,
                            std::vector<uint64_t>& indices, std::vector<IndexedItemError>& wrong,
                            ItemError& error) {
  FastReader fast(text);
  AssociationItem item;
  ItemError item_error;
  uint64_t index = 0;
  const auto take = [&](bool good) {
    if (good) {
      items.push_back(item);
      indices.push_back(index);
    } else {
      wrong.push_back({index, item_error});
    }
    ++index;
  };
  bool usual = fast.Skip('[');
  if (usual) {
    do {
      uint8_t seen;
      usual = fast.Object(item, seen);
      if (usual) take(CheckItem(seen, item, item_error));
    } while (usual && fast.Skip(','));
  }
  if (usual && fast.Skip(']') && fast.AtEnd()) return true;

  items.clear();
  indices.clear();
  wrong.clear();
  index = 0;
  if (!ParseDocument(text, document_->value, error)) return false;
  if (!document_->value.is_array()) {
    error = {"", "must be an array of objects"};
    return false;
  }
  for (const json::value& value : document_->value.get_array()) {
    take(ReadItem(value, item, item_error));
  }
  return true;
}

ItemParser::Header ItemParser::TakeHeader(std::string_view row, ItemError& error) {
  std::vector<std::string> names;
  if (!ReadNames(row, names)) return Header::kNone;
  uint8_t seen = 0;
  for (const std::string& name : names) seen |= ColumnOf(name);
  if ((seen & kKey) == 0 || (seen & kAssociatedKey) == 0) return Header::kNone;
  columns_.clear();
  for (const std::string& name : names) {
    const uint8_t column = ColumnOf(name);
    if (column != 0 && std::find(columns_.begin(), columns_.end(), column) == columns_.end()) {
      columns_.push_back(column);
      continue;
    }
    constexpr size_t kShown = 64;
    error = {"header",
             std::string(column != 0 ? "names a column twice: '" : "names an unknown column: '") +
                 name.substr(0, kShown) +
                 "'; there are key, associatedKey, count (or frequency) and eventId"};
    return Header::kWrong;
  }
  return Header::kTaken;
}

bool ItemParser::ParseRow(std::string_view row, AssociationItem& item, ItemError& error) {
  item = {};
  uint8_t seen = 0;
  bool more = true;
  for (size_t i = 0; more; ++i) {
    if (i == columns_.size()) {
      error = {"", "has more values than there are columns, which are " + NamesOf(columns_)};
      return false;
    }
    std::string_view value;
    if (!TakeCsvValue(row, unquoted_[i], value, more)) {
      error = {"", "a quote is not closed, or is followed by more than a comma"};
      return false;
    }
    if (!ReadValue(columns_[i], value, item, error)) return false;
    seen |= columns_[i];
  }
  return CheckItem(seen, item, error);
}

bool ParseBaskets(std::string_view text, std::vector<Basket>& baskets,
                  std::vector<uint64_t>& indices, std::vector<IndexedItemError>& wrong,
                  ItemError& error) {
  json::value value;
  if (!ParseDocument(text, value, error)) return false;
  if (!value.is_array()) value = json::array{std::move(value)};
  uint64_t index = 0;
  for (const json::value& one : value.get_array()) {
    Basket basket;
    ItemError item_error;
    if (ReadBasket(one, basket, item_error)) {
      baskets.push_back(std::move(basket));
      indices.push_back(index);
    } else {
      wrong.push_back({index, item_error});
    }
    ++index;
  }
  return true;
}

void AppendCsvValue(std::string_view text, std::string& row) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    row.append(text);
    return;
  }
  row += '"';
  for (const char c : text) {
    if (c == '"') row += '"';
    row += c;
  }
  row += '"';
}

}  // namespace escalona::server

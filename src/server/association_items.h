// Associations in requests: JSON objects, arrays of them, lines of them, rows of CSV.
#ifndef ESCALONA_SERVER_ASSOCIATION_ITEMS_H_
#define ESCALONA_SERVER_ASSOCIATION_ITEMS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "escalona/event_window.h"

namespace escalona::server {

// One write: {"key": ..., "associatedKey": ..., "count": n, "eventId": ...}. The names may begin
// with a capital letter; the count may be called frequency. The views are into what was parsed.
struct AssociationItem {
  std::string_view key;
  std::string_view associated_key;
  std::string_view event_id;  // empty: none
  uint64_t count = 1;
};

inline std::optional<EventId> EventOf(const AssociationItem& item) {
  if (item.event_id.empty()) return std::nullopt;
  return EventIdOf(item.event_id);
}

// What is wrong with an item.
struct ItemError {
  std::string_view field;  // a constant; empty: the whole
  std::string message;
};

struct IndexedItemError {
  uint64_t index = 0;
  ItemError error;
};

// Reads items and checks them: keys of 1 to kMaxAssociationKeyBytes bytes of UTF-8, counts from 1
// on. Members of other names are ignored. The usual form is read in place, anything else (escapes,
// other members) by Boost.JSON; both take the same and give the same. Not thread safe; what it
// gives is valid until its next call, and as long as the text.
class ItemParser {
 public:
  ItemParser();
  ~ItemParser();

  // One object. False: `error` says why.
  bool ParseOne(std::string_view json, AssociationItem& item, ItemError& error);

  // An array of objects. False: it is none, and `error` says why. Items that are wrong are left out
  // and listed; `indices` has the place of each item in the array.
  bool ParseArray(std::string_view json, std::vector<AssociationItem>& items,
                  std::vector<uint64_t>& indices, std::vector<IndexedItemError>& wrong,
                  ItemError& error);

  // Whether a row of CSV is a header: `key` and `associatedKey` are among its values, whatever
  // their case and the blanks around them. Rows after it have the columns it names. kWrong: it
  // names a column we do not know, or one twice, and `error` says which.
  enum class Header : uint8_t { kNone, kTaken, kWrong };
  Header TakeHeader(std::string_view row, ItemError& error);

  // One row. Without a header its columns are key, associatedKey, count. The last ones may be left
  // out if they are not needed.
  bool ParseRow(std::string_view row, AssociationItem& item, ItemError& error);

 private:
  struct Document;
  std::unique_ptr<Document> document_;
  std::vector<uint8_t> columns_;  // members; none is there twice
  std::string unquoted_[4];       // values, by column
};

// {"keys": [...], "count": n, "eventId": ...}, or an array of them: each stands for all ordered
// pairs of its keys, which are different (repeated ones count once).
struct Basket {
  std::vector<std::string> keys;
  std::string event_id;
  uint64_t count = 1;
};
inline constexpr size_t kMaxBasketKeys = 256;

bool ParseBaskets(std::string_view json, std::vector<Basket>& baskets,
                  std::vector<uint64_t>& indices, std::vector<IndexedItemError>& wrong,
                  ItemError& error);

// Appends `text` as a value of CSV.
void AppendCsvValue(std::string_view text, std::string& row);

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_ASSOCIATION_ITEMS_H_

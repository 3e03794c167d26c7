// Applies associations of a request to a namespace and gathers the answer.
#ifndef ESCALONA_SERVER_ASSOCIATION_WRITER_H_
#define ESCALONA_SERVER_ASSOCIATION_WRITER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "assoc/namespaces.h"
#include "escalona/clock.h"
#include "escalona/event_window.h"
#include "server/association_items.h"
#include "server/http_message.h"

namespace escalona::server {

// When a namespace is full, nobody knows when there will be room; this keeps clients from hurrying.
inline constexpr absl::Duration kRetryFull = absl::Seconds(60);

// A refusal for a quota: 429 with Retry-After.
void SetQuotaError(const absl::Status& status, absl::Duration retry_after, Response& response);

// Whether the namespace may make `n` writes now; if not, `response` says so.
bool AdmitWrites(assoc::Namespace& space, uint64_t n, const Clock& clock, Response& response);

// The answer is {"accepted": n, "duplicates": n, "errors": [{"index", "field", "message"}, ...]};
// duplicates are items whose event id was known, left out if there are none; the field is left out
// where nothing in the item is wrong by itself. Of many errors the
// first kShownErrors are listed and the others counted in "moreErrors". A stream that was too fast
// is told so by a 429 that has these, too, and in "next" the index of the item to go on with.
class AssociationWriter {
 public:
  static constexpr size_t kShownErrors = 1000;

  // The namespace is there whenever a member is called.
  explicit AssociationWriter(assoc::Namespace& space) : space_(space) {}

  assoc::Namespace& space() const { return space_; }
  // Counts the items; `indices` are their places in the request.
  void Write(std::span<const AssociationItem> items, std::span<const uint64_t> indices);
  // All ordered pairs of the basket. Those that are refused are one error; if all are, its event
  // id is forgotten.
  void Write(const Basket& basket, uint64_t index);
  // Replaces the list of `key`; `indices` are the places of its entries. A list is taken or refused
  // as a whole: each entry is an error then.
  void Replace(std::string_view key, std::span<const CountedKey> list,
               std::span<const uint64_t> indices);
  void Refuse(uint64_t index, const ItemError& error);
  // The request as a whole is wrong.
  void Fail(const ItemError& error);
  // Whether a stream may write its items from number `next` on. If not, that is the answer, with
  // what was done of those before.
  bool MayGoOn(uint64_t next, const Clock& clock);

  // The store's error, or what is wrong with the whole: after it nothing else should be written.
  const absl::Status& failed() const { return failed_; }
  void Respond(Response& response) const;

 private:
  // Counts the items but for those whose event id is known; what is wrong with which of them is in
  // wrong_.
  void Count(std::span<const AssociationItem> items);
  // Takes the counter's answer, and of wrong_ those that are not wrong but known.
  void Take(const absl::StatusOr<uint64_t>& counted);
  void Refuse(uint64_t index, const absl::Status& status);
  // "accepted", "duplicates", "errors", "moreErrors".
  std::string Result() const;

  assoc::Namespace& space_;
  uint64_t accepted_ = 0;
  uint64_t duplicates_ = 0;
  uint64_t refused_ = 0;
  std::vector<IndexedItemError> errors_;
  absl::Status failed_;
  std::string_view failed_field_;
  std::optional<uint64_t> next_;  // where a stream was too fast: its first item nobody looked at
  absl::Duration retry_after_;
  std::vector<AssociationBatchError> wrong_;
  // Kept for their memory.
  std::vector<AssociationIncrement> increments_;
  std::vector<std::optional<EventId>> events_;  // of the increments; empty: none has one
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_ASSOCIATION_WRITER_H_

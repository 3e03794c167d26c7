// Counts associations (associator -> key -> count) and answers at once which keys go with an
// associator most often. This is the counter of one namespace; several counters share nothing.
#ifndef ESCALONA_ASSOCIATIONS_H_
#define ESCALONA_ASSOCIATIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace escalona {

// Associators and keys are any bytes, 1 to kMaxAssociationKeyBytes of them.
inline constexpr size_t kMaxAssociationKeyBytes = 1024;

struct AssociationOptions {
  // A count that has reached this stops counting; touching its key still moves it in front of all
  // others that have this count, which is the front of the list. Must be at least 2.
  // kSaturate32Bit is the rule of the 32-bit counters.
  uint64_t max_count = std::numeric_limits<uint64_t>::max();
  static constexpr uint64_t kSaturate32Bit = std::numeric_limits<uint32_t>::max();

  // The most pairs the counter takes; a write that would add one more is refused with
  // ResourceExhausted and changes nothing. Counting pairs that are there goes on.
  uint64_t max_pairs = std::numeric_limits<uint64_t>::max();

  // Store every key once and refer to it in 4 bytes. Pays where the same keys stand in many lists
  // (a catalogue); costs about 20 bytes per pair more where every key stands in one list. Keys that
  // are neither GUIDs nor 16 bytes long are always stored so.
  bool intern_ids = false;

  // Whether a list of which nothing is left after a half-life stays, empty, until somebody writes
  // to it or deletes it: for who keeps lists elsewhere, too, and must know which are here.
  bool keep_faded = false;

  // Mixed into every hash. A server that counts strings of strangers sets it to a random number.
  uint64_t hash_seed = 0;
};

// One entry of a list.
struct CountedKey {
  std::string key;
  uint64_t count = 0;
  friend bool operator==(const CountedKey&, const CountedKey&) = default;
};

// One write of a batch. The views are read during the call only.
struct AssociationIncrement {
  std::string_view associator;
  std::string_view key;
  uint64_t weight = 1;
};

// A write of a batch that was refused; the others were done.
struct AssociationBatchError {
  size_t index = 0;
  absl::Status status;
};

// Where a pair stands: rank 1 is the head of the list.
struct PairStanding {
  uint64_t count = 0;
  uint64_t rank = 0;
};

struct AssociatorTotals {
  uint64_t pairs = 0;
  uint64_t count = 0;  // the sum of the counts, modulo 2^64
};

struct AssociationTotals {
  uint64_t associators = 0;
  uint64_t pairs = 0;
  uint64_t count = 0;  // the sum of the counts, modulo 2^64
};

// The order, for one associator, read from the front:
//   - an unknown key is appended at the very end with count 1;
//   - a known key's count grows by 1 and the key moves in front of all others that have its new
//     count; the head stays where it is;
//   - a write of weight n is n writes of weight 1.
// So counts descend; among equal counts >= 2 the key that reached the count last comes first, at
// count 1 the key that came first comes first.
//
// Thread safety: every function may be called from any thread at any time, except the destructor.
// Each call on one associator is atomic: a reader sees the list before a write or after it, never
// a key half-moved. A reader waits only for a writer of the same associator, never for a writer of
// another; writers of two associators meet only where one of them is created or deleted, or where
// a key is interned. Calls that visit many associators (ForEachAssociator, DeleteKeyEverywhere)
// are atomic for each of them, not as a whole: an associator present during the whole call is
// visited exactly once.
//
// Embeddable: starts no thread, opens no file or socket, reads no clock, keeps no global.
//
// Costs: n = keys of the associator, d = distinct counts among them, K = entries returned. Times
// are amortised over the growth of arrays (one write may copy the index of its list).
//   Increment, weight 1     O(1), whatever n
//   Increment, weight w     O(min(w, d, 64)); a list in which a walk passed 64 counts keeps an
//                           index of its counts from then on: O(log d) for its weighted writes and
//                           for those of its writes that make a count appear or vanish
//   Top                     O(K), plus O(d + offset/32) to reach an offset
//   CountAndRank            O(d + n/32)
//   DeletePair              O(1);  DeleteAssociator O(n);  DeleteKeyEverywhere O(associators)
//
// Memory per pair, keys of 16 bytes or GUIDs: about 21 bytes in lists of 100 keys, about 37 in
// lists of 100,000 (docs/associations.md has the arithmetic). A GUID in its usual text form
// (8-4-4-4-12 hexadecimal digits, letters all lower-case or all upper-case) is stored in 16 bytes
// and given back exactly as it was written; any other spelling (braces, mixed case, no hyphens) is
// a key like any other and is a different key.
class AssociationCounter {
 public:
  explicit AssociationCounter(const AssociationOptions& options = {});
  AssociationCounter(const AssociationCounter&) = delete;
  AssociationCounter& operator=(const AssociationCounter&) = delete;
  ~AssociationCounter();

  // Counts (associator, key) `weight` times; returns the new count. InvalidArgument: an empty or
  // over-long string, or weight 0. ResourceExhausted: max_pairs. On failure nothing has changed.
  [[nodiscard]] absl::StatusOr<uint64_t> Increment(std::string_view associator,
                                                   std::string_view key, uint64_t weight = 1);

  // The same as Increment for each item in turn, faster: the memory the next items need is
  // fetched while the present one is counted. Returns how many were accepted; what was refused is
  // appended to `errors` (may be null) by index. Not atomic as a whole.
  uint64_t IncrementBatch(std::span<const AssociationIncrement> items,
                          std::vector<AssociationBatchError>* errors);

  // The entries from position `offset` (0 is the head) on, at most k, those with count >= min.
  // Empty for an unknown associator. InvalidArgument: k < 1 or offset < 0.
  [[nodiscard]] absl::StatusOr<std::vector<CountedKey>> Top(std::string_view associator, int64_t k,
                                                            int64_t offset = 0,
                                                            uint64_t min = 0) const;

  // Nothing for an unknown pair.
  [[nodiscard]] std::optional<PairStanding> CountAndRank(std::string_view associator,
                                                         std::string_view key) const;

  // Whether the pair was there. An associator whose last pair goes is gone.
  bool DeletePair(std::string_view associator, std::string_view key);

  // The number of pairs that went. A later write starts at 1.
  uint64_t DeleteAssociator(std::string_view associator);

  // The number of lists the key was removed from.
  uint64_t DeleteKeyEverywhere(std::string_view key);

  // Whether there is a list, be it a faded one that is kept.
  [[nodiscard]] bool Contains(std::string_view associator) const;

  // {0, 0} for an unknown associator.
  [[nodiscard]] AssociatorTotals TotalsOf(std::string_view associator) const;

  // Exact when no writer is active.
  [[nodiscard]] AssociationTotals Totals() const;

  // Calls `visit` for each entry of one list, in list order, until it returns false. A writer of
  // this associator waits meanwhile; `visit` must not call the counter.
  void ForEachKey(std::string_view associator,
                  const std::function<bool(std::string_view key, uint64_t count)>& visit) const;

  // Calls `visit` for each associator, in no order, until it returns false. No lock is held:
  // `visit` may call the counter. Takes memory for 1/64 of the associators' names.
  void ForEachAssociator(const std::function<bool(std::string_view associator)>& visit) const;

  // Replaces the associator's list by `list`, given in list order: counts descending, in
  // [1, max_count], keys distinct. An empty list deletes the associator. On failure nothing has
  // changed. With ForEachKey, Load restores a list exactly: the order is all there is to keep.
  [[nodiscard]] absl::Status Load(std::string_view associator, std::span<const CountedKey> list);

  // Removes the associator and returns its list, in one step; empty if unknown.
  [[nodiscard]] std::vector<CountedKey> Extract(std::string_view associator);

  // Up to `limit` associators that nobody touched since an earlier call passed them by (a clock
  // with a second chance): what to move out of memory first. Calls are to be made one at a time.
  [[nodiscard]] std::vector<std::string> ColdAssociators(size_t limit);

  // Half-life. `half_lives` is how many of them have passed since the counter began, as the
  // caller's clock says; it never goes back (a smaller number is ignored). When it grows by h,
  // every count is divided by 2^h, rounding down; keys that reach 0 go; the others keep their
  // places. Lists are brought up to date when they are next touched, so the call itself is O(1)
  // and no reader sees an old count; Totals and memory include lists not touched since as they
  // were, until Settle has visited them.
  void SetAge(uint64_t half_lives);
  [[nodiscard]] uint64_t Age() const;
  void Settle();

  // Bytes of the heap in use by this counter, malloc's own overhead included.
  [[nodiscard]] size_t MemoryBytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace escalona

#endif  // ESCALONA_ASSOCIATIONS_H_

// A counter that survives restarts and may be larger than memory.
#ifndef ESCALONA_ASSOC_DURABLE_H_
#define ESCALONA_ASSOC_DURABLE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "assoc/change_log.h"
#include "assoc/record.h"
#include "assoc/stored_events.h"
#include "escalona/associations.h"
#include "escalona/event_window.h"
#include "store/store.h"

namespace escalona::assoc {

// How safe a write is when it returns.
enum class Durability : uint8_t {
  kSync,      // on disk
  kInterval,  // in memory until the next Sync(), or with the store's log after 64 KiB of changes
  kNone,      // in memory until the next Checkpoint()
};

struct DurableOptions {
  AssociationOptions counter = {};
  Durability durability = Durability::kInterval;
  // Above it, lists that nobody touched lately live in the store only. One list is always whole
  // in memory while it is used, so the longest lists in use are the least the budget can be.
  size_t memory_bytes = std::numeric_limits<size_t>::max();
  size_t event_window = 100000;  // ids of events that are remembered
  // Of every key in the store; one counter, one prefix, and none begins with another.
  std::string prefix = "assoc/";
};

// Design. In the store stand, under the prefix,
//   A<associator>   the list as of some change (record.h), with that change's number
//   T<associator>   the head of that record, so that opening need not read the lists
//   L<number>       the changes since, several to a record (change_log.h)
//   E<number>       ids of events that the log no longer has (stored_events.h)
//   H               the age in half-lives
// A write changes the list in memory, appends to the log, and returns when the log is as safe as
// asked. Checkpoint writes the lists changed since the last one, a few at a time, and then cuts the
// log. What the log says of a list is applied again when the list is loaded, if it does not contain
// it yet: the numbers tell. So a list may be written at any time, which is what eviction and
// checkpoints do, and counts neither twice nor never; the log goes ahead of the list, so what is
// found after a crash is the state at one moment. Lists are loaded when they are touched: opening
// reads their heads, and sorts the log by associator.
//
// Order: an associator belongs to one of 16 stripes; under the stripe's mutex a change is made in
// memory and gets its place in the log, so the log has the changes of an associator (deletes too)
// in the order they happened. Readers take the mutex only if the list is not in memory.
//
// Invariant: a list with changes to be applied (Stripe::replay) is not in memory.
//
// Events: an increment may have the id of an event. It goes to the log with the increment, and at a
// checkpoint to rows of its own, so that after a crash an id is known if, and only if, its event
// has been counted; but for kNone, where no log says what is in the lists.
//
// Age: SetAge makes a checkpoint first, so that all changes in the log are of one age.
//
// Starts no thread: the owner calls Sync (each second, say, with kInterval) and Checkpoint (when
// LogChanges() has grown). Thread-safe. The store outlives it. If the store fails to write the log,
// this and every later write is refused with its error; reading goes on.
class DurableAssociations {
 public:
  static absl::StatusOr<std::unique_ptr<DurableAssociations>> Open(store::Store& store,
                                                                   const DurableOptions& options);
  DurableAssociations(const DurableAssociations&) = delete;
  DurableAssociations& operator=(const DurableAssociations&) = delete;
  // Writes what is left of the log; call Sync before to know that it succeeded.
  ~DurableAssociations();

  // As in AssociationCounter, with the errors of the store besides. AlreadyExists: nothing was
  // counted, since the event's id is one of the last SetEventWindow(n) that were.
  [[nodiscard]] absl::StatusOr<uint64_t> Increment(std::string_view associator,
                                                   std::string_view key, uint64_t weight = 1,
                                                   const std::optional<EventId>& event = {});
  // `events` is empty, or has an entry for each item.
  [[nodiscard]] absl::StatusOr<uint64_t> IncrementBatch(
      std::span<const AssociationIncrement> items, std::vector<AssociationBatchError>* errors,
      std::span<const std::optional<EventId>> events = {});
  // All items are one event: they are counted at one moment, of which a crash leaves everything or
  // nothing. The id is known afterwards if at least one was counted. Holds all writers up.
  [[nodiscard]] absl::StatusOr<uint64_t> IncrementTogether(
      std::span<const AssociationIncrement> items, const EventId& event,
      std::vector<AssociationBatchError>* errors);
  [[nodiscard]] absl::StatusOr<std::vector<CountedKey>> Top(std::string_view associator, int64_t k,
                                                            int64_t offset = 0, uint64_t min = 0);
  [[nodiscard]] absl::StatusOr<std::optional<PairStanding>> CountAndRank(
      std::string_view associator, std::string_view key);
  [[nodiscard]] absl::StatusOr<AssociatorTotals> TotalsOf(std::string_view associator);
  [[nodiscard]] absl::StatusOr<bool> DeletePair(std::string_view associator, std::string_view key);
  [[nodiscard]] absl::StatusOr<uint64_t> DeleteAssociator(std::string_view associator);
  // Looks at every list once, then, while writers wait, again at those that changed meanwhile, and
  // removes the key from all that have it at that moment, of which a crash leaves everything or
  // nothing. Lists that are not in memory stay away.
  [[nodiscard]] absl::StatusOr<uint64_t> DeleteKeyEverywhere(std::string_view key);
  // As AssociationCounter::Load: the list becomes this one.
  [[nodiscard]] absl::Status Replace(std::string_view associator, std::span<const CountedKey> list);
  [[nodiscard]] absl::Status SetAge(uint64_t half_lives);

  // Makes a checkpoint, then visits the associators in order of their stored names.
  [[nodiscard]] absl::Status ForEachAssociator(
      absl::FunctionRef<bool(std::string_view associator)> visit);

  // The next associators in order of their stored names, after `after` (none: empty), at most
  // `limit`; those that a checkpoint has seen.
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> AssociatorsAfter(std::string_view after,
                                                                          size_t limit);

  // Gives the head of a list that is in memory, without copying it: at most k entries, those with
  // count >= min. A writer of this associator waits meanwhile; `visit` must not call the counter.
  // False if there was nothing: the list may be away (IsAway), or have no such entry.
  bool VisitHead(std::string_view associator, int64_t k, uint64_t min,
                 absl::FunctionRef<void(std::string_view key, uint64_t count)> visit) const;

  // Whether a call for this associator may have to read the store.
  [[nodiscard]] bool IsAway(std::string_view associator) const;
  [[nodiscard]] bool AnyAway() const { return !NothingAway(); }

  // From now on; all may be changed at any time.
  void SetMaxPairs(uint64_t max_pairs) { max_pairs_ = max_pairs; }
  void SetMemoryBytes(size_t memory_bytes) { memory_bytes_ = memory_bytes; }
  void SetEventWindow(size_t ids) { events_.SetCapacity(ids); }

  // Those in memory and those in the store; without what the log says of lists not touched since
  // the opening, until a checkpoint.
  [[nodiscard]] AssociationTotals Totals() const;
  [[nodiscard]] size_t MemoryBytes() const { return counter_.MemoryBytes(); }
  // Changes made since the last checkpoint: what a restart has to go through.
  [[nodiscard]] uint64_t LogChanges() const;
  // Whether the log found on opening is still kept in memory: a checkpoint applies it.
  [[nodiscard]] bool HasReplay() const { return replayed_later_ != 0; }

  [[nodiscard]] absl::Status Sync();
  // Gives the log to the store; the store's Sync then makes it safe.
  [[nodiscard]] absl::Status Flush() { return log_.Flush(); }
  // Holds a writer up for as long as a few lists of its stripe (or one long one) take to be
  // written, readers of lists in memory never.
  [[nodiscard]] absl::Status Checkpoint();

 private:
  static constexpr size_t kStripes = 16;

  // A change of the log as it was found on opening: where it stands in log_records_, its number,
  // and the next change of the same associator.
  struct ReplayChange {
    const char* bytes;
    uint32_t size;
    uint32_t next;  // in replay_; kNoChange: none
    uint64_t number;
  };
  static constexpr uint32_t kNoChange = std::numeric_limits<uint32_t>::max();
  struct ReplayChain {
    uint32_t first = kNoChange;
    uint32_t last = kNoChange;
  };

  struct Stripe {
    std::mutex mutex;
    // Associators that differ from what is stored (or are stored and gone): their last change.
    absl::flat_hash_map<std::string, uint64_t> changed;
    // What the log said on opening of associators that were not touched since.
    absl::flat_hash_map<std::string, ReplayChain> replay;
    // While all lists are being looked at: those that changed since it began.
    std::optional<absl::flat_hash_set<std::string>> watched;
    std::string change;  // on its way to the log; kept for its memory
  };
  class AllStripes;

  DurableAssociations(store::Store& store, const DurableOptions& options);

  absl::Status Recover();
  absl::Status ReadHeads(uint64_t& newest);
  // An id that the store has; if twice, it came again when it had left the window.
  void AdmitStored(const EventId& id);
  // Sorts a record of the log by associator; the number of its changes.
  absl::StatusOr<uint64_t> KeepForReplay(uint64_t first, std::string_view changes);
  std::string ListKey(std::string_view associator) const;
  std::string HeadKey(std::string_view associator) const;
  Stripe& StripeOf(std::string_view associator);
  // Whether every list is in memory, and none has faded there.
  bool NothingAway() const {
    return away_associators_.load(std::memory_order_relaxed) == 0 &&
           replayed_later_.load(std::memory_order_relaxed) == 0 && counter_.Age() == 0;
  }
  // Reads the list into memory, with what the log says of it, unless it is there or nowhere; the
  // stripe is locked.
  absl::Status Load(Stripe& stripe, std::string_view associator);
  // Nothing is left of the list: it goes from memory and from the store; the stripe is locked.
  absl::Status DropFaded(std::string_view associator);
  absl::StatusOr<ListRecord> ReadRecord(std::string_view associator);
  // Applies the changes that the record does not contain; true if there were any.
  absl::StatusOr<bool> Replay(std::string_view associator, const ReplayChain& chain,
                              ListRecord& record);
  // What a reader takes down before it looks for a list in memory, so that it knows what it means
  // if there is none.
  struct Glance {
    uint64_t evictions;
    bool nothing_away;
  };
  Glance Look() const {
    const uint64_t evictions = evictions_.load();
    return {evictions, NothingAway()};
  }
  // For a reader that found nothing in memory: loads the list and reads again, if it may be stored.
  absl::Status ReadStored(const Glance& glance, std::string_view associator,
                          absl::FunctionRef<void()> read);
  void MarkChanged(Stripe& stripe, std::string_view associator, uint64_t number);
  // As in Totals(), also while lists come and go.
  uint64_t PairsInAll() const;
  // Exact for one writer at a time; writers in different stripes may each add one pair more.
  absl::Status CheckQuota(const AssociationIncrement& item) const;
  // Counts an item of a stripe that is locked, and appends what happened to `changes`.
  absl::StatusOr<uint64_t> CountInMemory(Stripe& stripe, const AssociationIncrement& item,
                                         std::string& changes);
  // Counts one item, or all items, of a stripe that is locked and appends them to the log; `number`
  // becomes that of the last change, if there was one.
  absl::StatusOr<uint64_t> CountOne(Stripe& stripe, const AssociationIncrement& item,
                                    const std::optional<EventId>& event, uint64_t& number);
  absl::Status Count(Stripe& stripe, std::span<const AssociationIncrement> items, uint64_t& number,
                     std::vector<AssociationBatchError>& refused);
  // All items, stripe by stripe, or one by one: with a quota, whether there is room for an item
  // depends on those before, and with events, whether it is counted does. `last` becomes the number
  // of the last change.
  absl::Status CountByStripe(std::span<const AssociationIncrement> items, uint64_t& last,
                             std::vector<AssociationBatchError>& refused);
  absl::Status CountInOrder(std::span<const AssociationIncrement> items,
                            std::span<const std::optional<EventId>> events, uint64_t& last,
                            std::vector<AssociationBatchError>& refused);
  // All items as one event; all stripes are locked.
  uint64_t CountLocked(std::span<const AssociationIncrement> items, const EventId& event,
                       std::vector<AssociationBatchError>& refused);
  // The same for the items at `indices`, which are all of the stripe; locks it.
  absl::Status CountStripe(Stripe& stripe, std::span<const AssociationIncrement> items,
                           std::span<const size_t> indices, uint64_t& number,
                           std::vector<AssociationBatchError>& refused);
  // Adds to the batch what makes the stored list equal to the one in memory; the stripe is locked.
  void Store(std::string_view associator, uint64_t number, store::Batch& batch);
  // Writes the lists of a stripe that have changed, in slices; `upto` is in the log already.
  absl::Status CheckpointStripe(Stripe& stripe, uint64_t upto);
  absl::Status CheckpointSlice(Stripe& stripe, std::span<const std::string> names, uint64_t upto,
                               size_t& done);
  // Cuts the log after that number, of which the lists have everything.
  absl::Status CutLog(uint64_t number, store::Batch& batch);
  // All changed lists, and cuts the log; all stripes are locked.
  absl::Status CheckpointLocked(store::Batch batch);
  // Whether the list has the key, wherever it is; its stripe is locked.
  absl::StatusOr<bool> HasKey(std::string_view associator, std::string_view key);
  // The associators whose lists had the key when they were looked at.
  absl::StatusOr<std::vector<std::string>> ListsWith(std::string_view key);
  // Makes them those that have it now: looks at what was watched, and at all if halving may have
  // removed it. All stripes are locked, as they are for the two below.
  absl::Status LookAgain(std::string_view key, bool at_all, std::vector<std::string>& lists);
  // Removes the key from lists that have it: those in memory there, the others in the store, where
  // the change `number` becomes the last that they contain. If the store fails meanwhile it takes
  // no further write, and the log has it all for the next opening.
  absl::Status EraseFrom(std::span<const std::string> lists, std::string_view key);
  absl::Status EraseStored(std::span<const std::string> lists, std::string_view key,
                           uint64_t number);
  absl::Status EvictIfNeeded();
  absl::Status Evict(std::string_view associator);

  store::Store& store_;
  const DurableOptions options_;
  AssociationCounter counter_;
  ChangeLog log_;
  EventWindow events_;
  StoredEvents stored_events_;
  std::array<Stripe, kStripes> stripes_;
  std::mutex evict_mutex_;
  std::mutex watch_mutex_;                       // one that watches at a time; first of all
  std::mutex checkpoint_mutex_;                  // one at a time; before any stripe
  std::mutex scratch_mutex_;                     // after any stripe
  std::unique_ptr<AssociationCounter> scratch_;  // where changes are replayed, out of sight
  // While a list moves between memory and store, and its pairs count twice or not at all; last.
  mutable std::mutex moving_mutex_;
  std::atomic<uint64_t> max_pairs_;
  std::atomic<size_t> memory_bytes_;
  std::atomic<uint64_t> replayed_later_ = 0;  // associators in Stripe::replay
  // Written by Recover only; freed by the first checkpoint, after which no chain is left.
  std::deque<std::string> log_records_;  // which does not move them
  std::vector<ReplayChange> replay_;
  std::atomic<uint64_t> checkpointed_ = 0;
  std::atomic<uint64_t> evictions_ = 0;
  // Of the lists that are in the store and not in memory.
  std::atomic<uint64_t> away_associators_ = 0;
  std::atomic<uint64_t> away_pairs_ = 0;
  std::atomic<uint64_t> away_count_ = 0;
};

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_DURABLE_H_

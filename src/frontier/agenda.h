// Which queue may be served now, and which when.
#ifndef ESCALONA_FRONTIER_AGENDA_H_
#define ESCALONA_FRONTIER_AGENDA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "frontier/queue.h"

namespace escalona::frontier {

// Queues that share one slot.
struct Group : Waiter {
  std::string name;
  int64_t open_at = kUnset;       // closed before
  const Queue* holder = nullptr;  // the one of its queues that is being served
  absl::flat_hash_map<Crawl*, std::unique_ptr<GroupPart>> parts;
};

// The queues of a group in one crawl that only wait for the group. While the group is open it
// stands in the crawl's tree, at the place of its first queue.
struct GroupPart : ReadyNode {
  Crawl* crawl = nullptr;
  Group* group = nullptr;
  uint64_t queues = 0;  // that belong to it, ready or not
  ReadyTree ready;
};

// Every known queue is in one of these places, by what its record, its leases and the time say:
//   ready    in the tree of its crawl, or of its part of a group: it can be served now
//   waiting  in the heap: it can be served at a later moment, if nothing happens before
//   taken    by a call that serves it
//   nowhere  nothing to serve before something happens
// Place() brings it where it belongs after something about it changed; Advance() after time did. If
// the clock steps back, Take() finds ready queues that may not be served any more, and has them
// wait. Cost: O(log queues) each. Not thread-safe; keeps no queue, only refers to them.
class Agenda {
 public:
  struct Options {
    uint32_t max_in_process = kNoLimit;
    int64_t default_delay = 0;
  };
  explicit Agenda(const Options& options) : options_(options) {}

  int64_t default_delay() const { return options_.default_delay; }
  void SetDefaultDelay(int64_t delay, int64_t now);
  int64_t DelayOf(const Queue& queue) const {
    return queue.record.delay == kUnset ? options_.default_delay : queue.record.delay;
  }
  // The first moment at which its own slot is open.
  int64_t SlotOf(const Queue& queue) const;

  // Leases end, queues and groups wake.
  void Advance(int64_t now);

  // A queue becomes known; its id and record are set.
  void Add(Queue& queue);
  // It is dead: forgets it, and its leases. The caller frees it when nothing refers to it.
  void Remove(Queue& queue, int64_t now);
  // Changes its record, and the sums of its crawl with it.
  void SetRecord(Queue& queue, const QueueRecord& record);
  void SetGroup(Queue& queue, std::string_view name, int64_t now);  // empty: none
  void SetStrategy(Crawl& crawl, Strategy strategy, int64_t now);
  void Place(Queue& queue, int64_t now);

  void AddLease(Queue& queue, const Fingerprint& url, const Lease& lease);
  void EndLease(Queue& queue, const Fingerprint& url);  // if there is one

  // The next queue of the crawl (null: of all in turn) that may be served to a request with this
  // gate; null if there is none. It is taken, and no other of its group is, until Release.
  Queue* Take(Crawl* crawl, uint32_t gate, int64_t now);
  // Which crawl was asked last, to go back to when nothing came of it.
  uint32_t last_asked() const { return last_asked_; }
  void SetLastAsked(uint32_t crawl) { last_asked_ = crawl; }
  bool TakeThis(Queue& queue, uint32_t gate, int64_t now);
  // A queue that was taken may still be served: nothing came in between.
  bool Confirm(const Queue& queue, uint32_t gate, int64_t now) const;
  void Release(Queue& queue, int64_t now);
  // One that was taken cannot be read: it can never be served.
  static void SetDamaged(Queue& queue);

  // Frees the queue, and its crawl, if it is dead and nothing refers to it.
  static void FreeIfUnused(Queue* queue);

  uint64_t live_leases() const { return live_leases_; }

 private:
  struct LeaseEnd {
    int64_t deadline;
    uint64_t lease;
    Queue* queue;
    Fingerprint url;
  };
  struct Later {
    bool operator()(const LeaseEnd& a, const LeaseEnd& b) const { return a.deadline > b.deadline; }
  };

  int64_t WakeOf(const Queue& queue) const;
  static ReadyKey KeyOf(const Queue& queue);
  void Detach(Queue& queue, int64_t now);
  void MakeReady(Queue& queue, int64_t now);
  void Wait(Queue& queue, int64_t wake, int64_t now);
  void Insert(Crawl& crawl, ReadyNode& node);
  void Erase(Crawl& crawl, ReadyNode& node);
  void Refresh(GroupPart& part, int64_t now);
  void RefreshAll(Group& group, int64_t now);
  Queue* TakeFrom(Crawl& crawl, uint32_t gate, int64_t now);
  void TakeOut(Queue& queue, int64_t now);
  // Its group may go on, from the moment its record tells.
  void Settle(Queue& queue, int64_t now);
  void LeaveGroup(Queue& queue);
  void DropLeaseEnd();
  void CompactLeaseEnds();

  Options options_;
  WaitingHeap waiting_;
  absl::flat_hash_map<std::string, std::unique_ptr<Group>> groups_;
  absl::btree_map<uint32_t, Crawl*> ready_crawls_;  // whose tree is not empty
  uint32_t last_asked_ = 0;
  std::vector<LeaseEnd> lease_ends_;  // a heap; of leases that ended otherwise, some are left
  uint64_t live_leases_ = 0;
};

// The date from which a URL at this place, created then, is due.
inline int64_t DateOf(const UrlRecord& url) {
  return url.place.cls == UrlClass::kDepth ? url.created : static_cast<int64_t>(url.place.rank);
}

}  // namespace escalona::frontier

#endif  // ESCALONA_FRONTIER_AGENDA_H_

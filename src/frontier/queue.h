// What the frontier keeps in memory of a crawl, a queue, a lease.
#ifndef ESCALONA_FRONTIER_QUEUE_H_
#define ESCALONA_FRONTIER_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "escalona/frontier.h"
#include "frontier/ready_tree.h"
#include "frontier/stored.h"
#include "frontier/waiting.h"

namespace escalona::frontier {

struct Queue;
struct GroupPart;

struct Lease {
  uint64_t id = 0;
  int64_t deadline = 0;
  UrlRecord url;
  bool live = true;  // false: it ended by time, and its record is still stored
};
struct LeaseTable : absl::flat_hash_map<Fingerprint, Lease> {
  int64_t freed_due = kNever;  // a date; the earliest of URLs whose lease ended by time
};

// Queues in the order they became known.
struct KnownBefore {
  using is_transparent = void;
  static uint64_t IdOf(uint64_t id) { return id; }
  static uint64_t IdOf(const Queue* queue);
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return IdOf(a) < IdOf(b);
  }
};

struct Crawl {
  uint32_t id = 0;
  std::string name;
  std::atomic<bool> stored = false;
  bool dead = false;
  std::optional<Strategy> told_strategy;
  std::optional<UrlOrder> told_order;
  Strategy strategy = Strategy::kBreadthFirst;
  UrlOrder order = UrlOrder::kDate;

  ReadyTree ready;
  absl::btree_set<Queue*, KnownBefore> queues;  // known ones
  uint64_t objects = 0;                         // queues that refer to it, known or not
  uint64_t scheduled = 0;
  uint64_t completed = 0;
  uint64_t leased = 0;
  uint64_t active_queues = 0;
  uint64_t damaged_queues = 0;
  // URLs known and those about to be: what the budget is compared with.
  std::atomic<uint64_t> claimed = 0;
};

// Guarded by: S the mutex of its stripe, A that of the agenda, S+A both to write and one to read.
// Its key stands behind it, in the same piece of memory: most memory of a large frontier is queues
// that have nothing to do.
struct Queue : ReadyNode, Waiter {
  static Queue* New(std::string_view key) {
    void* const memory = ::operator new(sizeof(Queue) + key.size());
    auto* const queue = new (memory) Queue;
    queue->key_size = static_cast<uint16_t>(key.size());
    if (!key.empty()) std::memcpy(static_cast<void*>(queue + 1), key.data(), key.size());
    return queue;
  }
  static void Delete(Queue* queue) {
    queue->~Queue();
    ::operator delete(queue);
  }
  std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_size}; }

  // First what fits where the bases leave room.
  bool known = false;  // S+A: it has had a URL
  bool told = false;   // S: not known, but there is a record of what was told about it
  bool dead = false;   // S+A
  Crawl* crawl = nullptr;
  uint64_t id = 0;                       // S+A
  QueueRecord record;                    // S+A
  std::unique_ptr<std::string> address;  // S+A
  // S. A place (and URL) in its schedule below which nothing stands that is not leased; null: the
  // beginning.
  std::unique_ptr<std::string> head_text;
  std::string_view head() const { return head_text == nullptr ? std::string_view() : *head_text; }
  void SetHead(std::string_view head) {
    head_text = head.empty() ? nullptr : std::make_unique<std::string>(head);
  }
  std::unique_ptr<LeaseTable> leases;  // A; null: none
  GroupPart* part = nullptr;           // A; null: it is for itself
  uint32_t touched = 0;                // S: of the call that holds the stripe
  uint32_t live_leases = 0;            // A
  uint32_t references = 0;             // A: who must find it, also when it is dead
  uint16_t key_size = 0;
  bool taken : 1 = false;      // A: being served
  bool journaled : 1 = false;  // A: its record in the store may be older than the journal
  bool damaged : 1 = false;    // A: it could not be read, and is not served any more

  QueueId Id() const { return {crawl->id, id}; }
  // Live or ended by time; null: none, as of a dead queue.
  Lease* FindLease(const Fingerprint& url) const {
    if (leases == nullptr) return nullptr;
    const auto found = leases->find(url);
    return found == leases->end() ? nullptr : &found->second;
  }
  bool IsLeased(const Fingerprint& url) const {
    const Lease* const lease = FindLease(url);
    return lease != nullptr && lease->live;
  }
  int64_t freed_due() const { return leases == nullptr ? kNever : leases->freed_due; }
};

inline uint64_t KnownBefore::IdOf(const Queue* queue) { return queue->id; }

}  // namespace escalona::frontier

#endif  // ESCALONA_FRONTIER_QUEUE_H_

// What the frontier keeps in memory of a crawl, a queue, a lease.
#ifndef ESCALONA_FRONTIER_QUEUE_H_
#define ESCALONA_FRONTIER_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/btree_map.h"
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
using LeaseTable = absl::flat_hash_map<Fingerprint, Lease>;

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
  absl::btree_map<uint64_t, Queue*> queues;  // known ones, in the order they became known
  uint64_t objects = 0;                      // queues that refer to it, known or not
  uint64_t scheduled = 0;
  uint64_t completed = 0;
  uint64_t leased = 0;
  uint64_t active_queues = 0;
  // URLs known and those about to be: what the budget is compared with.
  std::atomic<uint64_t> claimed = 0;
};

// Guarded by: S the mutex of its stripe, A that of the agenda, S+A both to write and one to read.
struct Queue : ReadyNode, Waiter {
  Crawl* crawl = nullptr;
  std::string key;
  uint64_t id = 0;                       // S+A
  QueueRecord record;                    // S+A
  std::unique_ptr<std::string> address;  // S+A
  // S. A place (and URL) in its schedule below which nothing stands that is not leased; empty: the
  // beginning.
  std::string head;
  uint32_t touched = 0;                // S: of the call that holds the stripe
  std::unique_ptr<LeaseTable> leases;  // A; null: none
  uint32_t live_leases = 0;            // A
  uint32_t references = 0;             // A: who must find it, also when it is dead
  int64_t freed_due = kNever;          // A: a date; the earliest of URLs whose lease ended by time
  GroupPart* part = nullptr;           // A; null: it is for itself
  bool known = false;                  // S+A: it has had a URL
  bool told = false;   // S: not known, but there is a record of what was told about it
  bool dead = false;   // S+A
  bool taken = false;  // A: being served

  QueueId Id() const { return {crawl->id, id}; }
};

}  // namespace escalona::frontier

#endif  // ESCALONA_FRONTIER_QUEUE_H_

// Changes of queues, many in one record, until they are folded into the records of the queues.
#ifndef ESCALONA_FRONTIER_QUEUE_JOURNAL_H_
#define ESCALONA_FRONTIER_QUEUE_JOURNAL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "frontier/queue.h"
#include "frontier/stored.h"
#include "store/store.h"

namespace escalona::frontier {

// What one write changes of queues that have a record already. A batch of URLs changes as many
// queues as URLs, at places far apart; as one record that stands at the end of the journal it costs
// one search instead of many.
class QueueChanges {
 public:
  void Add(Queue& queue, const QueueRecord& record);

  bool empty() const { return queues_.empty(); }
  const std::vector<Queue*>& queues() const { return queues_; }
  std::string_view value() const { return value_; }  // of the record

 private:
  std::vector<Queue*> queues_;
  std::string value_;
};

// The journal of a store as it was found: the last change of each queue. Where there is one, it
// holds instead of the queue's own record; of queues that are gone some may be left.
class StoredJournal {
 public:
  // DataLoss if a record cannot be read.
  [[nodiscard]] absl::Status Read(store::Store& store);

  bool empty() const { return places_.empty(); }
  uint64_t end() const { return end_; }  // above all numbers of records
  // False, and nothing changed, if there is no change of this queue.
  bool Find(QueueId id, QueueRecord& record) const;

 private:
  std::string changes_;
  absl::flat_hash_map<uint64_t, size_t> places_;  // of the last change of a queue
  uint64_t end_ = 1;
};

}  // namespace escalona::frontier

#endif  // ESCALONA_FRONTIER_QUEUE_JOURNAL_H_

// One Get: leases URLs of several queues.
#ifndef ESCALONA_FRONTIER_GET_CALL_H_
#define ESCALONA_FRONTIER_GET_CALL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontier/core.h"

namespace escalona::frontier {

// In rounds: take some queues from the agenda, read their due URLs, write leases and slots of all
// of them at once, hand the URLs out with nothing locked. A queue that was taken stays so until the
// end, so that it is served once. One that cannot be read is put aside, and holds nobody up.
class GetCall {
 public:
  GetCall(Core& core, const GetRequest& request);
  ~GetCall();
  absl::StatusOr<uint64_t> Run(absl::FunctionRef<void(const LeasedUrl&)> visit);

 private:
  struct Found {
    UrlRecord record;
    Fingerprint url;
    size_t begin;     // in Serving::text
    size_t url_size;  // the metadata follow
    size_t metadata_size;
    uint64_t lease;
  };
  struct Serving {
    Queue* queue = nullptr;
    QueueRecord record;
    std::vector<Found> found;
    std::string text;
    std::string head;
    std::vector<Fingerprint> freed;  // leases that ended by time
    int64_t freed_due = kNever;
    uint32_t live_leases = 0;
    int64_t delay = 0;
    bool confirmed = false;
    absl::Status damage;  // why it cannot be read
  };

  void Take(uint32_t most);
  void Begin(Serving& serving);
  absl::Status Read(Serving& serving);
  absl::Status ReadSome(Serving& serving, std::string& from, uint64_t wanted, bool& done);
  bool IsLeased(const Queue& queue, const Fingerprint& url) const;
  void DropLeased(Serving& serving, size_t first);
  void AppendTo(store::Batch& batch, QueueChanges& changes, Serving& serving);
  absl::Status Serve();
  void Commit(Serving& serving);
  uint64_t HandOut(absl::FunctionRef<void(const LeasedUrl&)> visit);
  void TellDamage() const;

  Core& core_;
  const GetRequest& request_;
  const int64_t now_;
  const int64_t deadline_;
  const uint32_t gate_;
  const uint32_t max_urls_;  // of a queue
  std::string crawl_;
  uint32_t last_asked_ = 0;
  std::vector<Serving> servings_;  // of this round
  std::vector<Queue*> taken_;      // of all rounds
};

}  // namespace escalona::frontier

#endif  // ESCALONA_FRONTIER_GET_CALL_H_

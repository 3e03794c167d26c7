// One Put: many items, one write.
#ifndef ESCALONA_FRONTIER_PUT_CALL_H_
#define ESCALONA_FRONTIER_PUT_CALL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "frontier/core.h"

namespace escalona::frontier {

// The steps: find the queues, with their stripes locked; find what is known of the URLs, in memory
// and then in the store, all at once; decide item by item, as if each were alone; write; make the
// same changes in memory.
class PutCall {
 public:
  PutCall(Core& core, std::span<const FrontierPut> items);
  std::vector<PutStatus> Run(absl::Status* error);

 private:
  // What is known of a URL, with what the items before have done.
  struct UrlState {
    std::optional<UrlRecord> record;
    uint64_t lease = 0;      // the live one
    bool has_lease = false;  // live or not: its record is stored
  };
  struct Item {
    Core::QueueName name;
    size_t hash = 0;         // of the name
    Queue* queue = nullptr;  // null: it has no key that could be used
    Fingerprint url;
    UrlState state;
    bool ask = false;  // the store must be asked
  };
  // A queue that an item belongs to, and what becomes of it.
  struct Touched {
    Queue* queue = nullptr;
    QueueRecord record;
    bool becomes_known = false;
    bool changed = false;
    bool next_due_left = false;  // the URL that was due first may be among those taken away
    // The lowest place in its schedule that something was put at.
    std::optional<Place> lowest;
    std::string_view lowest_url;
  };

  Core::StripeSet NameItems();
  void FindQueues();
  static bool NeedsRecord(const FrontierPut& put);
  void FindLeases();
  absl::Status FindKnown();
  UrlState& StateOf(Item& item);
  PutStatus Decide(const FrontierPut& put, Item& item);
  bool ClaimRoom(Touched& touched);
  Place PlaceOf(const FrontierPut& put, Touched& touched) const;
  void Store(const FrontierPut& put, const Item& item, UrlState& state, Touched& touched);
  absl::Status Write();
  void Commit();
  void GiveUp();

  Core& core_;
  const std::span<const FrontierPut> puts_;
  const int64_t now_;
  std::vector<Item> items_;
  std::vector<Touched> touched_;
  std::vector<PutStatus> statuses_;
  // Of URLs that occur in this call: where the state is that holds now.
  absl::flat_hash_map<Fingerprint, uint32_t> latest_;
  std::vector<std::pair<Queue*, Fingerprint>> ended_leases_;
  std::vector<Fingerprint> new_urls_;
  std::vector<Crawl*> claims_;
  store::Batch batch_;
  QueueChanges changes_;
  std::string key_;
  std::string value_;
};

}  // namespace escalona::frontier

#endif  // ESCALONA_FRONTIER_PUT_CALL_H_

// The list of one associator as bytes: what a store keeps.
#ifndef ESCALONA_ASSOC_RECORD_H_
#define ESCALONA_ASSOC_RECORD_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "escalona/associations.h"

namespace escalona::assoc {

// A list and where it stands in the history of its counter.
struct ListRecord {
  uint64_t sequence = 0;  // the last change it contains
  uint64_t age = 0;       // the half-lives it has been divided for
  std::vector<CountedKey> list;
};

// What stands at the front of a record and can be read without the keys.
struct ListHead {
  uint64_t sequence = 0;
  uint64_t age = 0;
  uint64_t pairs = 0;
  uint64_t total = 0;  // the sum of the counts, modulo 2^64
};

// version, sequence, age, size, total; the kind of the keys if it is the same for all; then, in
// list order, for each key by how much its count is below the one before (the first: its count) and
// the key: 16 bytes if the kind is one of those, else its kind and length in one number and its
// bytes. Numbers are LEB128. About 17 bytes per pair for GUIDs and 16-byte keys.
std::string EncodeList(const ListRecord& record);

// The same, key by key and without a string for each.
class ListEncoder {
 public:
  // The next key in list order.
  void Add(std::string_view key, uint64_t count);
  bool empty() const { return pairs_ == 0; }
  ListHead Head(uint64_t sequence, uint64_t age) const { return {sequence, age, pairs_, total_}; }
  std::string Encode(const ListHead& head) const;

 private:
  // Writes the keys so far, all of one kind, as keys of any kind.
  void Mix();

  std::string keys_;
  uint8_t kind_ = 0;  // of all keys, once there is one
  uint64_t pairs_ = 0;
  uint64_t total_ = 0;
  uint64_t last_ = 0;
};

ListHead HeadOf(const ListRecord& record);

// DataLoss if the bytes are no record, whatever they are: cut off, too long, counts that do not
// descend or reach 0, a length over kMaxAssociationKeyBytes. Keys may repeat; Load refuses that.
absl::StatusOr<ListRecord> DecodeList(std::string_view bytes);

// The head alone, as bytes: the front of a record.
std::string EncodeListHead(const ListHead& head);
absl::StatusOr<ListHead> DecodeListHead(std::string_view bytes);

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_RECORD_H_

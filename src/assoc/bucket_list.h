// A long list: keys of equal count in chained chunks, found by a hash index.
#ifndef ESCALONA_ASSOC_BUCKET_LIST_H_
#define ESCALONA_ASSOC_BUCKET_LIST_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"
#include "assoc/cells.h"
#include "assoc/key.h"
#include "assoc/key_index.h"
#include "assoc/memory_account.h"
#include "assoc/node_pages.h"
#include "assoc/reclaimer.h"

namespace escalona::assoc {

// The list in order is a chain of chunks, each an array of up to 61 keys of one count. The chunks
// of one count stand side by side and are its bucket; a bucket of several chunks has a record of
// its ends, so that its front is one step away from any of its chunks. A node holds a key's cell
// and the chunk the key is in. Compared with a key-by-key chain this touches fewer lines of memory
// per move, takes fewer bytes, and ranks and offsets skip whole chunks.
//
// Invariants: counts strictly descend from bucket to bucket; no chunk is empty; two neighbouring
// chunks of a bucket have been left at less than a quarter full only if they do not fit into one.
//
// Costs: Find O(1); Raise by 1, Insert with count 1 and Erase O(1) amortised (a chunk is moved by
// at most 61 keys); by more as far as the buckets passed, at most 64, then O(log buckets).
//
// Thread safety: as a const object for readers under the list's lock, except the Prefetch
// functions, which need no lock while a Reclaimer::Guard is held.
class BucketList {
 public:
  static constexpr uint32_t kNotFound = KeyIndex::kNotFound;

  BucketList(CellKind kind, uint32_t capacity, MemoryAccount& memory, Reclaimer& reclaimer);
  BucketList(const BucketList&) = delete;
  BucketList& operator=(const BucketList&) = delete;
  ~BucketList();

  uint32_t size() const { return size_; }
  uint32_t high_water() const { return nodes_.high_water(); }
  CellKind cell_kind() const { return nodes_.cell_kind(); }

  uint32_t Find(const Key& key, const Cells& cells) const;
  uint64_t CountOf(uint32_t node) const { return ChunkOf(node)->count; }
  const char* CellOf(uint32_t node) const { return nodes_.Cell(node); }
  // How many keys stand before it.
  uint64_t PositionOf(uint32_t node) const;

  // Gives the key the count (not below its own) and the place the order asks for.
  void Raise(uint32_t node, uint64_t count);

  // Adds a key that is not there: at the very end if `count` is 1, else in front of its equals.
  void Insert(const Key& key, uint64_t count, const Cells& cells);

  // Adds a cell at the very end; `count` is at most that of the last. The list owns the cell.
  void PushBack(const char* cell, uint32_t hash32, uint64_t count, const Cells& cells);

  // Removes the key; its cell has been released or taken over by the caller.
  void Erase(uint32_t node, const Cells& cells);

  // Calls `visit` in list order from position `offset` on, until it returns false.
  void Visit(uint64_t offset,
             absl::FunctionRef<bool(const char* cell, uint64_t count)> visit) const;

  // Fetches ahead what Find and Raise will touch, each step what the step before has brought.
  static constexpr int kPrefetchSteps = 5;
  void Prefetch(uint32_t hash32, int step) const;
  // Under the list's lock: the `depth`-th thing on the way from the key's chunk to where the key
  // will go. In lists longer than this it is not worth the trouble: there can be only few of them,
  // and their buckets' fronts stay in the cache.
  static constexpr uint32_t kWorthTheWay = 1U << 15;
  void PrefetchWay(uint32_t hash32, int depth) const;

  // For Reclaimer::Retire; `context` is the MemoryAccount.
  static void Delete(void* list, void* context);

 private:
  struct Chunk;
  struct Bucket {
    Chunk* first;
    Chunk* last;
  };
  // sizeof(Chunk) without keys is 36, so that these fill what malloc gives: 56, 88,
  // 152, 280 and 536 bytes.
  static constexpr std::array<uint16_t, 5> kCapacities = {5, 13, 29, 61, 125};
  struct Chunk {
    Chunk* previous;
    Chunk* next;
    Bucket* bucket;  // null: this chunk is its bucket
    uint64_t count;
    uint16_t size;
    uint8_t size_class;
    uint8_t unused;
    // From the back of the list to its front: keys come in at the front, which is the end here.
    uint32_t nodes[kCapacities.back()];

    uint16_t capacity() const { return kCapacities[size_class]; }
  };
  using CountIndex =
      absl::btree_map<uint64_t, Chunk*, std::less<>,
                      AccountAllocator<std::pair<const uint64_t, Chunk*>>>;  // front of each bucket

  Chunk* ChunkOf(uint32_t node) const { return static_cast<Chunk*>(nodes_.Chunk(node)); }
  static Chunk* FrontOf(Chunk* chunk) { return chunk->bucket ? chunk->bucket->first : chunk; }
  static Chunk* BackOf(Chunk* chunk) { return chunk->bucket ? chunk->bucket->last : chunk; }

  Chunk* NewChunk(uint64_t count, uint8_t size_class);
  // Links `chunk` after `previous` (null: at the head).
  void LinkAfter(Chunk* previous, Chunk* chunk);
  void Unlink(Chunk* chunk);
  void FrontChanged(uint64_t count, Chunk* front);
  // Moves the keys of `chunk` to one of another class, which takes its place and is returned.
  Chunk* Recast(Chunk* chunk, uint8_t size_class);
  // Adds a chunk of its count before the front or after the back of the bucket of `chunk`.
  Chunk* ExtendBucket(Chunk* chunk, bool at_front);

  // The back of the nearest bucket with a count >= `count` before the bucket of `from` (null: seen
  // from the end of the list); null if there is none.
  Chunk* Above(Chunk* from, uint64_t count);
  void BuildCountIndex();

  // Puts the node at the front of the bucket of `count`, given Above(..., count).
  void PushFront(Chunk* above, uint64_t count, uint32_t node);
  void PushNodeBack(uint64_t count, uint32_t node);
  // Takes the node out of its chunk and lets the chunk shrink, merge with a neighbour or go.
  void TakeOut(Chunk* chunk, uint32_t node);
  void Tidy(Chunk* chunk);
  bool TryMerge(Chunk* front, Chunk* back);
  void RemoveChunk(Chunk* chunk);

  MemoryAccount& memory_;
  NodePages nodes_;
  KeyIndex index_;
  Chunk* head_ = nullptr;
  Chunk* tail_ = nullptr;
  uint32_t size_ = 0;
  std::unique_ptr<CountIndex> by_count_;  // null until a walk was long
};

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_BUCKET_LIST_H_

// Texts in the order they came, packed into chunks.
#ifndef ESCALONA_FRONTIER_RECORD_QUEUE_H_
#define ESCALONA_FRONTIER_RECORD_QUEUE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "frontier/chunk_pool.h"

namespace escalona {

// One stored text and whose it is. Starts at an eight-byte unit of the pool; the text follows.
struct Record {
  uint32_t owner;
  uint32_t size;  // bytes of the text, or one of the two marks below

  static constexpr uint32_t kMaxInline = 32 << 10;
  static constexpr uint32_t kLong = UINT32_MAX;            // a std::string* follows
  static constexpr uint32_t kEndOfChunk = UINT32_MAX - 1;  // go on in the next chunk

  static const Record& At(const ChunkPool& pool, ChunkPool::Reference reference) {
    return *reinterpret_cast<const Record*>(pool.At(reference));
  }
  // Points into the pool, or to the long text; valid until the record is removed.
  std::string_view text() const {
    const char* bytes = reinterpret_cast<const char*>(this + 1);
    if (size != kLong) [[likely]]
      return {bytes, size};
    return *long_text();
  }
  std::string* long_text() const { return *reinterpret_cast<std::string* const*>(this + 1); }
};
static_assert(sizeof(Record) == ChunkPool::kUnit);

// A first-in first-out queue of records in a pool that is passed to each call. Records stand one
// behind the other in chunks that grow from just fitting to 4 KiB, so a queue is read in the order
// of memory, and a short one wastes little. A chunk is freed when its last record is taken.
//
// Invariant: unless the queue is empty, head_ is a record of head_chunk_ or its end mark, and each
// chunk but the last has an end mark. 20 bytes; the owner clears it before it goes.
class RecordQueue {
 public:
  using Reference = ChunkPool::Reference;

  bool empty() const { return head_ == tail_; }

  // Appends a text and returns its reference; kNone, and nothing changed, when the pool is full.
  Reference Append(ChunkPool& pool, uint32_t owner, std::string_view text);

  // The oldest record. The queue is not empty.
  Reference Front(ChunkPool& pool) {
    if (Record::At(pool, head_).size == Record::kEndOfChunk) [[unlikely]]
      DropHeadChunk(pool);
    return head_;
  }
  // Removes the record that Front() returned.
  void PopFront(ChunkPool& pool) {
    const Record& front = Record::At(pool, head_);
    if (front.size == Record::kLong) [[unlikely]]
      delete front.long_text();
    head_ += Units(front.size);
    if (empty()) [[unlikely]]
      Release(pool);
  }

  // Removes all records.
  void Clear(ChunkPool& pool) {
    while (!empty()) {
      Front(pool);
      PopFront(pool);
    }
  }

  // Calls visit(reference) for each record, oldest first.
  template <typename Visit>
  void ForEach(const ChunkPool& pool, Visit visit) const {
    Reference chunk = head_chunk_;
    for (Reference at = head_; at != tail_;) {
      const Record& record = Record::At(pool, at);
      if (record.size == Record::kEndOfChunk) {
        chunk = Header(pool, chunk).next;
        at = chunk + 1;
        continue;
      }
      const uint32_t units = Units(record.size);
      visit(at);
      at += units;
    }
  }

  void PrefetchTail(const ChunkPool& pool) const {
    if (tail_ != ChunkPool::kNone) pool.Prefetch(tail_);
  }
  void PrefetchHead(const ChunkPool& pool) const {
    if (head_ != ChunkPool::kNone) pool.Prefetch(head_);
  }

 private:
  struct ChunkHeader {
    Reference next;
    int32_t size;  // as ChunkPool counts sizes
  };
  static_assert(sizeof(ChunkHeader) == ChunkPool::kUnit);
  static constexpr int kUsualMaximum = ChunkPool::SizeFor(4096);

  static ChunkHeader& Header(const ChunkPool& pool, Reference chunk) {
    return *reinterpret_cast<ChunkHeader*>(pool.At(chunk));
  }
  // Units of a record with this `size`, its head included.
  static uint32_t Units(uint32_t size) {
    return size == Record::kLong ? 2 : 1 + (size + ChunkPool::kUnit - 1) / ChunkPool::kUnit;
  }
  bool AppendChunk(ChunkPool& pool, uint32_t units);
  void DropHeadChunk(ChunkPool& pool);
  void Release(ChunkPool& pool);

  Reference head_chunk_ = ChunkPool::kNone;
  Reference head_ = ChunkPool::kNone;
  Reference tail_chunk_ = ChunkPool::kNone;
  Reference tail_ = ChunkPool::kNone;      // where the next record or end mark goes
  Reference tail_end_ = ChunkPool::kNone;  // the last unit of the tail chunk, kept for the end mark
};

}  // namespace escalona

#endif  // ESCALONA_FRONTIER_RECORD_QUEUE_H_

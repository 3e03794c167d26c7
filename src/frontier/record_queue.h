// Texts in the order they came, packed into chunks.
#ifndef ESCALONA_FRONTIER_RECORD_QUEUE_H_
#define ESCALONA_FRONTIER_RECORD_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "frontier/chunk_pool.h"

namespace escalona {

// One stored text and whose it is: six bytes, then the text. Starts at an eight-byte unit of the
// pool.
struct Record {
  uint32_t owner;
  uint16_t size;        // bytes of the text, or one of the marks below
  uint16_t unused = 0;  // the first two bytes of the text

  static constexpr size_t kHead = 6;
  static constexpr uint16_t kMaxInline = 32 << 10;
  static constexpr uint16_t kLong = UINT16_MAX;  // the text is a std::string*
  static constexpr uint16_t kOutside = UINT16_MAX - ChunkPool::kSizes - 1;  // see Outside
  // From here up to kLong: no record but the end of a chunk. `owner` is the first record of the
  // next chunk, size - kEndOfChunk the size of this one, as the pool counts sizes.
  static constexpr uint16_t kEndOfChunk = UINT16_MAX - ChunkPool::kSizes;

  static Record& At(const ChunkPool& pool, ChunkPool::Reference reference) {
    return *reinterpret_cast<Record*>(pool.At(reference));
  }
  bool is_end_of_chunk() const { return size >= kEndOfChunk && size != kLong; }

  // A text that somebody else keeps: what stands in its place.
  struct Outside {
    const char* begin;
    uint16_t size;
  };
  static constexpr size_t kOutsideBytes = sizeof(void*) + sizeof(uint16_t);

  // Points into the pool, or to the text outside; valid until the record is removed.
  std::string_view text() const {
    if (size < kOutside) [[likely]]
      return {bytes(), size};
    if (size == kLong) return *long_text();
    const Outside text = outside();
    return {text.begin, text.size};
  }
  Outside outside() const {
    Outside text;
    std::memcpy(&text.begin, bytes(), sizeof(void*));
    std::memcpy(&text.size, bytes() + sizeof(void*), sizeof(uint16_t));
    return text;
  }
  // Asks for the text, if it is not here. A load that nothing waits for: a mere prefetch is dropped
  // by some processors when the translation of the page is not at hand, which is the rule in a
  // large file.
  void PrefetchText() const {
    if (size != kOutside) return;
    const Outside text = outside();
    (void)*static_cast<const volatile char*>(text.begin);
    __builtin_prefetch(text.begin + text.size - 1);
  }
  std::string* long_text() const {
    std::string* text;
    std::memcpy(&text, bytes(), sizeof(void*));
    return text;
  }
  const char* bytes() const { return reinterpret_cast<const char*>(this) + kHead; }
  char* bytes() { return reinterpret_cast<char*>(this) + kHead; }
};
static_assert(sizeof(Record) == ChunkPool::kUnit);

// A first-in first-out queue of records in a pool that is passed to each call. Records stand one
// behind the other in chunks that grow from just fitting to 4 KiB, so a queue is read in the order
// of memory, and a short one wastes little. A chunk is freed when its last record is taken.
//
// Invariant: unless the queue is empty, head_ is a record of head_chunk_ or its end, tail_ is where
// the next one goes, and behind tail_ there is room for left_ units and the end of the chunk, which
// each chunk but the last has. 16 bytes; the owner clears the queue before it goes.
class RecordQueue {
 public:
  using Reference = ChunkPool::Reference;

  bool empty() const { return head_ == tail_; }

  // Appends a text and returns its reference; kNone, and nothing changed, when the pool is full. If
  // the text `stays` where it is, only its place is kept, unless it is short.
  Reference Append(ChunkPool& pool, uint32_t owner, std::string_view text, bool stays);

  // The oldest record. The queue is not empty.
  Reference Front(ChunkPool& pool) {
    if (Record::At(pool, head_).is_end_of_chunk()) DropHeadChunk(pool);
    return head_;
  }
  // Removes the record that Front() returned.
  void PopFront(ChunkPool& pool) {
    const Record& front = Record::At(pool, head_);
    if (front.size == Record::kLong) delete front.long_text();
    head_ += Units(front.size);
    if (empty()) Release(pool);
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
    for (Reference at = head_; at != tail_;) {
      const Record& record = Record::At(pool, at);
      if (record.is_end_of_chunk()) {
        at = record.owner;
        continue;
      }
      const uint32_t units = Units(record.size);
      visit(at);
      at += units;
    }
  }

  void PrefetchTail(const ChunkPool& pool) const { pool.Prefetch(tail_); }
  void PrefetchHead(const ChunkPool& pool) const { pool.Prefetch(head_); }
  // Each touches what the one before it has fetched.
  void PrefetchFront(ChunkPool& pool) {
    if (!Record::At(pool, head_).is_end_of_chunk()) return;
    DropHeadChunk(pool);
    PrefetchHead(pool);
  }
  void PrefetchFrontText(const ChunkPool& pool) const { Record::At(pool, head_).PrefetchText(); }

  // Runs some records ahead of one who takes them from the front, and asks for their texts.
  class Scout {
   public:
    static constexpr uint32_t kAhead = 8;
    // For one who is about to take `count`.
    Scout(const ChunkPool& pool, const RecordQueue& queue, uint32_t count) : at_(queue.head_) {
      for (uint32_t i = 1; i < std::min(kAhead, count); ++i) Step(pool, queue);
    }
    // One record further, before one is taken.
    void Step(const ChunkPool& pool, const RecordQueue& queue) {
      if (at_ == queue.tail_) return;
      const Record* record = &Record::At(pool, at_);
      if (record->is_end_of_chunk()) {
        at_ = record->owner;
        record = &Record::At(pool, at_);
      }
      record->PrefetchText();
      at_ += Units(record->size);
    }

   private:
    Reference at_;
  };

 private:
  // A text up to this stands in its record also if it could stay: the record is not much larger.
  static constexpr size_t kShort = 18;
  static constexpr int kUsualMaximum = ChunkPool::SizeFor(4096);

  // Units of a record with this `size`.
  static uint32_t Units(uint16_t size) {
    const uint32_t bytes = size < Record::kOutside ? size
                           : size == Record::kLong ? sizeof(void*)
                                                   : Record::kOutsideBytes;
    return (Record::kHead + bytes + ChunkPool::kUnit - 1) / ChunkPool::kUnit;
  }
  static uint32_t ChunkUnits(int size) {
    return static_cast<uint32_t>(ChunkPool::Bytes(size) / ChunkPool::kUnit);
  }
  bool AppendChunk(ChunkPool& pool, uint32_t units);
  void DropHeadChunk(ChunkPool& pool);
  void Release(ChunkPool& pool);

  Reference head_chunk_ = ChunkPool::kNone;
  Reference head_ = ChunkPool::kNone;
  Reference tail_ = ChunkPool::kNone;
  uint16_t left_ = 0;
  uint8_t tail_size_ = 0;  // of the chunk that tail_ stands in, as the pool counts sizes
};

}  // namespace escalona

#endif  // ESCALONA_FRONTIER_RECORD_QUEUE_H_

#include "frontier/record_queue.h"

#include <algorithm>
#include <cstring>

namespace escalona {

bool RecordQueue::AppendChunk(ChunkPool& pool, uint32_t units) {
  const uint32_t needed = units + 2;  // chunk header and end mark
  int size = ChunkPool::SizeFor(needed * ChunkPool::kUnit);
  if (tail_chunk_ != ChunkPool::kNone) {
    size = std::max(size, std::min(Header(pool, tail_chunk_).size + 1, kUsualMaximum));
  }
  const Reference chunk = pool.Allocate(size);
  if (chunk == ChunkPool::kNone) return false;
  Header(pool, chunk) = {ChunkPool::kNone, size};
  if (tail_chunk_ == ChunkPool::kNone) {
    head_chunk_ = chunk;
    head_ = chunk + 1;
  } else {
    Header(pool, tail_chunk_).next = chunk;
    *reinterpret_cast<Record*>(pool.At(tail_)) = {0, Record::kEndOfChunk};
  }
  tail_chunk_ = chunk;
  tail_ = chunk + 1;
  tail_end_ = chunk + static_cast<Reference>(ChunkPool::Bytes(size) / ChunkPool::kUnit) - 1;
  return true;
}

RecordQueue::Reference RecordQueue::Append(ChunkPool& pool, uint32_t owner, std::string_view text) {
  const bool is_long = text.size() > Record::kMaxInline;
  const uint32_t size = is_long ? Record::kLong : static_cast<uint32_t>(text.size());
  const uint32_t units = Units(size);
  if (tail_end_ - tail_ < units && !AppendChunk(pool, units)) return ChunkPool::kNone;
  const Reference reference = tail_;
  auto* record = reinterpret_cast<Record*>(pool.At(reference));
  *record = {owner, size};
  if (is_long) {
    *reinterpret_cast<std::string**>(record + 1) = new std::string(text);
  } else {
    std::memcpy(record + 1, text.data(), text.size());
  }
  tail_ += units;
  return reference;
}

void RecordQueue::DropHeadChunk(ChunkPool& pool) {
  const ChunkHeader header = Header(pool, head_chunk_);
  pool.Free(head_chunk_, header.size);
  head_chunk_ = header.next;
  head_ = header.next + 1;
}

void RecordQueue::Release(ChunkPool& pool) {
  pool.Free(head_chunk_, Header(pool, head_chunk_).size);
  *this = RecordQueue();
}

}  // namespace escalona

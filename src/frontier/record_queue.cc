#include "frontier/record_queue.h"

#include <algorithm>
#include <cstring>

namespace escalona {

bool RecordQueue::AppendChunk(ChunkPool& pool, uint32_t units) {
  int size = ChunkPool::SizeFor((units + 1) * ChunkPool::kUnit);
  if (!empty()) size = std::max(size, std::min(tail_size_ + 1, kUsualMaximum));
  const Reference chunk = pool.Allocate(size);
  if (chunk == ChunkPool::kNone) return false;
  if (empty()) {
    head_chunk_ = head_ = chunk;
  } else {
    const auto end = static_cast<uint16_t>(Record::kEndOfChunk + tail_size_);
    Record::At(pool, tail_) = {chunk, end};
  }
  tail_ = chunk;
  left_ = static_cast<uint16_t>(ChunkUnits(size) - 1);
  tail_size_ = static_cast<uint8_t>(size);
  return true;
}

RecordQueue::Reference RecordQueue::Append(ChunkPool& pool, uint32_t owner, std::string_view text,
                                           bool stays) {
  const bool is_outside = stays && text.size() > kShort && text.size() <= UINT16_MAX;
  const bool is_long = !is_outside && text.size() > Record::kMaxInline;
  const uint16_t size = is_outside ? Record::kOutside
                        : is_long  ? Record::kLong
                                   : static_cast<uint16_t>(text.size());
  const uint32_t units = Units(size);
  if (left_ < units && !AppendChunk(pool, units)) return ChunkPool::kNone;
  const Reference reference = tail_;
  Record& record = Record::At(pool, reference);
  record = {owner, size};
  if (is_outside) {
    const char* begin = text.data();
    const auto length = static_cast<uint16_t>(text.size());
    std::memcpy(record.bytes(), &begin, sizeof(void*));
    std::memcpy(record.bytes() + sizeof(void*), &length, sizeof(length));
  } else if (is_long) {
    const auto* copy = new std::string(text);
    std::memcpy(record.bytes(), &copy, sizeof(void*));
  } else {
    std::memcpy(record.bytes(), text.data(), text.size());
  }
  tail_ += units;
  left_ = static_cast<uint16_t>(left_ - units);
  return reference;
}

void RecordQueue::DropHeadChunk(ChunkPool& pool) {
  const Record end = Record::At(pool, head_);
  pool.Free(head_chunk_, end.size - Record::kEndOfChunk);
  head_chunk_ = head_ = end.owner;
}

void RecordQueue::Release(ChunkPool& pool) {
  pool.Free(head_chunk_, tail_size_);
  *this = RecordQueue();
}

}  // namespace escalona

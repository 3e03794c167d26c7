#include "frontier/host_queue.h"

#include <algorithm>
#include <cstring>

namespace escalona {

// Makes room for one depth more.
bool HostQueue::MakeRoom(ChunkPool& pool) {
  if (empty()) return true;  // there is room for one here
  const size_t needed = (size_t{count_} + 1) * sizeof(Depth);
  if (!is_inline() && needed <= ChunkPool::Bytes(size_)) return true;
  if (needed > ChunkPool::kMaxChunk) return false;
  const int size = ChunkPool::SizeFor(needed);
  const Reference larger = pool.Allocate(size);
  if (larger == ChunkPool::kNone) return false;
  std::memcpy(pool.At(larger), Depths(pool), count_ * sizeof(Depth));
  if (!is_inline()) pool.Free(depths_, size_);
  depths_ = larger;
  size_ = static_cast<int16_t>(size);
  return true;
}

HostQueue::Reference HostQueue::AppendAtNewDepth(ChunkPool& pool, uint32_t host, uint32_t place,
                                                 uint32_t depth, std::string_view path,
                                                 bool stays) {
  RecordQueue records;
  const Reference reference = records.Append(pool, host, path, stays);
  if (reference == ChunkPool::kNone) return ChunkPool::kNone;
  if (!MakeRoom(pool)) {
    records.Clear(pool);
    return ChunkPool::kNone;
  }
  Depth* depths = Depths(pool);
  std::copy_backward(depths + place, depths + count_, depths + count_ + 1);
  depths[place] = {depth, records};
  ++count_;
  return reference;
}

void HostQueue::Release(ChunkPool& pool) {
  if (!is_inline()) pool.Free(depths_, size_);
  *this = HostQueue();
}

void HostQueue::Clear(ChunkPool& pool) {
  for (uint32_t i = 0; i < count_; ++i) Depths(pool)[i].records.Clear(pool);
  Release(pool);
}

}  // namespace escalona

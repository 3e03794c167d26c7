#include "frontier/host_queue.h"

#include <algorithm>
#include <cstring>

namespace escalona {

// Makes the array large enough for one depth more.
bool HostQueue::MakeRoom(ChunkPool& pool) {
  const size_t needed = (size_t{count_} + 1) * sizeof(Depth);
  if (count_ > 0 && needed <= ChunkPool::Bytes(size_)) return true;
  if (needed > ChunkPool::kMaxChunk) return false;
  const int size = ChunkPool::SizeFor(needed);
  const Reference larger = pool.Allocate(size);
  if (larger == ChunkPool::kNone) return false;
  if (count_ > 0) {
    std::memcpy(pool.At(larger), pool.At(depths_), count_ * sizeof(Depth));
    pool.Free(depths_, size_);
  }
  depths_ = larger;
  size_ = size;
  return true;
}

HostQueue::Reference HostQueue::AppendAtNewDepth(ChunkPool& pool, uint32_t host, uint32_t place,
                                                 uint32_t depth, std::string_view path) {
  RecordQueue records;
  const Reference reference = records.Append(pool, host, path);
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
  pool.Free(depths_, size_);
  *this = HostQueue();
}

void HostQueue::Clear(ChunkPool& pool) {
  for (uint32_t i = 0; i < count_; ++i) Depths(pool)[i].records.Clear(pool);
  if (count_ > 0) Release(pool);
}

}  // namespace escalona

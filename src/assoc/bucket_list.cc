// The long list.
#include "assoc/bucket_list.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

namespace escalona::assoc {
namespace {

// How many buckets a weighted write passes one by one before an index of the counts takes over.
constexpr int kWalk = 64;
constexpr int kWalkWithIndex = 8;

// A chunk of a longer bucket that has become smaller than kSparse joins a neighbour if both
// together leave some room.
constexpr int kSparse = 40;
constexpr int kMerged = 100;

}  // namespace

BucketList::BucketList(CellKind kind, uint32_t capacity, MemoryAccount& memory,
                       Reclaimer& reclaimer)
    : memory_(memory), nodes_(kind, memory, reclaimer), index_(capacity, memory, reclaimer) {}

BucketList::~BucketList() {
  for (Chunk* chunk = head_; chunk != nullptr;) {
    Chunk* next = chunk->next;
    if (chunk->bucket != nullptr && chunk->bucket->last == chunk) memory_.Free(chunk->bucket);
    memory_.Free(chunk);
    chunk = next;
  }
}

void BucketList::Delete(void* list, void* context) {
  static_cast<BucketList*>(list)->~BucketList();
  static_cast<MemoryAccount*>(context)->Free(list);
}

uint32_t BucketList::Find(const Key& key, const Cells& cells) const {
  return index_.Find(key.Hash32(), [&](uint32_t node) {
    return cells.Equal(nodes_.cell_kind(), nodes_.Cell(node), key);
  });
}

uint64_t BucketList::PositionOf(uint32_t node) const {
  const Chunk* own = ChunkOf(node);
  const uint32_t* at = std::find(own->nodes, own->nodes + own->size, node);
  uint64_t position = own->nodes + own->size - at - 1;
  for (const Chunk* chunk = head_; chunk != own; chunk = chunk->next) position += chunk->size;
  return position;
}

void BucketList::Visit(uint64_t offset,
                       absl::FunctionRef<bool(const char* cell, uint64_t count)> visit) const {
  const Chunk* chunk = head_;
  for (; chunk != nullptr && offset >= chunk->size; chunk = chunk->next) offset -= chunk->size;
  for (; chunk != nullptr; chunk = chunk->next, offset = 0) {
    for (uint64_t i = chunk->size - offset; i-- > 0;) {
      if (!visit(nodes_.Cell(chunk->nodes[i]), chunk->count)) return;
    }
  }
}

void BucketList::Prefetch(uint32_t hash32, int step) const {
  switch (step) {
    case 0:
      index_.PrefetchHead();
      nodes_.PrefetchHead();
      return;
    case 1:
      index_.PrefetchSlot(hash32);
      return;
    case 2:
      nodes_.PrefetchPage(index_.Guess(hash32));
      return;
    case 3:
      nodes_.PrefetchNode(index_.Guess(hash32));
      return;
    default:
      const auto* chunk = static_cast<const char*>(nodes_.PeekChunk(index_.Guess(hash32)));
      if (chunk == nullptr) return;
      constexpr size_t kLines = 5;  // most chunks are not full
      for (size_t line = 0; line < kLines; ++line) __builtin_prefetch(chunk + line * 64, 1);
  }
}

void BucketList::PrefetchWay(uint32_t hash32, int depth) const {
  const uint32_t node = index_.Guess(hash32);
  if (node == kNotFound) return;
  const auto reached = [&depth](const void* thing) {
    if (depth-- != 0) return false;
    __builtin_prefetch(thing, 1);
    return true;
  };
  const Chunk* chunk = ChunkOf(node);
  if (chunk->bucket != nullptr) {
    if (reached(chunk->bucket)) return;
    chunk = chunk->bucket->first;
    if (reached(chunk)) return;
  }
  const Chunk* above = chunk->previous;
  if (above == nullptr || reached(above)) return;
  if (above->bucket != nullptr) {
    if (reached(above->bucket)) return;
    above = above->bucket->first;
    if (reached(above)) return;
  }
  reached(&above->nodes[above->size]);
}

BucketList::Chunk* BucketList::NewChunk(uint64_t count, uint8_t size_class) {
  const size_t bytes = offsetof(Chunk, nodes) + kCapacities[size_class] * sizeof(uint32_t);
  auto* chunk = static_cast<Chunk*>(memory_.Allocate(bytes));
  chunk->previous = nullptr;
  chunk->next = nullptr;
  chunk->bucket = nullptr;
  chunk->count = count;
  chunk->size = 0;
  chunk->size_class = size_class;
  return chunk;
}

void BucketList::LinkAfter(Chunk* previous, Chunk* chunk) {
  Chunk* next = previous == nullptr ? head_ : previous->next;
  chunk->previous = previous;
  chunk->next = next;
  (previous == nullptr ? head_ : previous->next) = chunk;
  (next == nullptr ? tail_ : next->previous) = chunk;
}

void BucketList::Unlink(Chunk* chunk) {
  (chunk->previous == nullptr ? head_ : chunk->previous->next) = chunk->next;
  (chunk->next == nullptr ? tail_ : chunk->next->previous) = chunk->previous;
}

void BucketList::FrontChanged(uint64_t count, Chunk* front) {
  if (by_count_ != nullptr) (*by_count_)[count] = front;
}

BucketList::Chunk* BucketList::Recast(Chunk* chunk, uint8_t size_class) {
  Chunk* other = NewChunk(chunk->count, size_class);
  other->size = chunk->size;
  for (int i = 0; i < chunk->size; ++i) {
    other->nodes[i] = chunk->nodes[i];
    nodes_.SetChunk(other->nodes[i], other);
  }
  LinkAfter(chunk, other);
  Unlink(chunk);
  memory_.Free(chunk);
  FrontChanged(other->count, other);
  return other;
}

BucketList::Chunk* BucketList::ExtendBucket(Chunk* chunk, bool at_front) {
  if (chunk->bucket == nullptr) {
    chunk->bucket = static_cast<Bucket*>(memory_.Allocate(sizeof(Bucket)));
    *chunk->bucket = {chunk, chunk};
  }
  Bucket* bucket = chunk->bucket;
  Chunk* added = NewChunk(chunk->count, kCapacities.size() - 1);
  added->bucket = bucket;
  if (at_front) {
    LinkAfter(bucket->first->previous, added);
    bucket->first = added;
    FrontChanged(added->count, added);
  } else {
    LinkAfter(bucket->last, added);
    bucket->last = added;
  }
  return added;
}

void BucketList::BuildCountIndex() {
  by_count_ = std::make_unique<CountIndex>(CountIndex::allocator_type(memory_));
  for (Chunk* front = head_; front != nullptr; front = BackOf(front)->next) {
    by_count_->emplace(front->count, front);
  }
}

BucketList::Chunk* BucketList::Above(Chunk* from, uint64_t count) {
  Chunk* at = from == nullptr ? tail_ : FrontOf(from)->previous;
  const int walk = by_count_ == nullptr ? kWalk : kWalkWithIndex;
  for (int passed = 0; at != nullptr && at->count < count; ++passed) {
    if (passed == walk) {
      if (by_count_ == nullptr) BuildCountIndex();
      const auto found = by_count_->lower_bound(count);
      return found == by_count_->end() ? nullptr : BackOf(found->second);
    }
    at = FrontOf(at)->previous;
  }
  return at;
}

void BucketList::PushFront(Chunk* above, uint64_t count, uint32_t node) {
  Chunk* chunk;
  if (above == nullptr || above->count != count) {
    chunk = NewChunk(count, 0);
    LinkAfter(above, chunk);
    FrontChanged(count, chunk);
  } else {
    chunk = FrontOf(above);
    if (chunk->size == chunk->capacity()) {
      chunk = chunk->size_class + 1U < kCapacities.size() ? Recast(chunk, chunk->size_class + 1)
                                                          : ExtendBucket(chunk, true);
    }
  }
  chunk->nodes[chunk->size++] = node;
  nodes_.SetChunk(node, chunk);
}

void BucketList::PushNodeBack(uint64_t count, uint32_t node) {
  Chunk* chunk = tail_;
  if (chunk == nullptr || chunk->count != count) {
    chunk = NewChunk(count, 0);
    LinkAfter(tail_, chunk);
    FrontChanged(count, chunk);
  } else if (chunk->size == chunk->capacity()) {
    chunk = chunk->size_class + 1U < kCapacities.size() ? Recast(chunk, chunk->size_class + 1)
                                                        : ExtendBucket(chunk, false);
  }
  std::memmove(chunk->nodes + 1, chunk->nodes, chunk->size * sizeof(uint32_t));
  chunk->nodes[0] = node;
  ++chunk->size;
  nodes_.SetChunk(node, chunk);
}

void BucketList::RemoveChunk(Chunk* chunk) {
  Bucket* bucket = chunk->bucket;
  Unlink(chunk);
  if (bucket == nullptr) {
    if (by_count_ != nullptr) by_count_->erase(chunk->count);
  } else {
    if (bucket->last == chunk) bucket->last = chunk->previous;
    if (bucket->first == chunk) {
      bucket->first = chunk->next;
      FrontChanged(chunk->count, bucket->first);
    }
    if (bucket->first == bucket->last) {
      bucket->first->bucket = nullptr;
      memory_.Free(bucket);
    }
  }
  memory_.Free(chunk);
}

bool BucketList::TryMerge(Chunk* front, Chunk* back) {
  if (front->size + back->size > kMerged) return false;
  Chunk* kept = front->size >= back->size ? front : back;
  Chunk* moved = kept == front ? back : front;
  uint32_t* to = kept->nodes + (kept == back ? kept->size : 0);
  if (kept == front) {
    std::memmove(kept->nodes + moved->size, kept->nodes, kept->size * sizeof(uint32_t));
  }
  for (int i = 0; i < moved->size; ++i) {
    to[i] = moved->nodes[i];
    nodes_.SetChunk(to[i], kept);
  }
  kept->size = static_cast<uint16_t>(kept->size + moved->size);
  RemoveChunk(moved);
  return true;
}

void BucketList::Tidy(Chunk* chunk) {
  if (chunk->size == 0) return RemoveChunk(chunk);
  if (chunk->bucket == nullptr) {
    if (chunk->size_class > 0 && chunk->size * 2 <= kCapacities[chunk->size_class - 1]) {
      Recast(chunk, chunk->size_class - 1);
    }
    return;
  }
  if (chunk->size >= kSparse) return;
  const Bucket* bucket = chunk->bucket;
  if (bucket->last != chunk && TryMerge(chunk, chunk->next)) return;
  if (bucket->first != chunk) TryMerge(chunk->previous, chunk);
}

void BucketList::TakeOut(Chunk* chunk, uint32_t node) {
  uint32_t* end = chunk->nodes + chunk->size;
  uint32_t* at = std::find(chunk->nodes, end, node);
  std::memmove(at, at + 1, (end - at - 1) * sizeof(uint32_t));
  --chunk->size;
  Tidy(chunk);
}

void BucketList::Raise(uint32_t node, uint64_t count) {
  Chunk* chunk = ChunkOf(node);
  if (chunk->count == count) {  // saturated: to the front of its own bucket
    if (const Chunk* front = FrontOf(chunk); front->nodes[front->size - 1] == node) return;
    Chunk* before = FrontOf(chunk)->previous;
    TakeOut(chunk, node);
    PushFront(before == nullptr ? head_ : before->next, count, node);
    return;
  }
  Chunk* above = Above(chunk, count);
  const bool alone = chunk->size == 1 && chunk->bucket == nullptr;
  if (alone && above == chunk->previous && (above == nullptr || above->count != count)) {
    if (by_count_ != nullptr) by_count_->erase(chunk->count);
    chunk->count = count;
    FrontChanged(count, chunk);
    return;
  }
  TakeOut(chunk, node);
  PushFront(above, count, node);
}

void BucketList::Insert(const Key& key, uint64_t count, const Cells& cells) {
  const uint32_t node = nodes_.Allocate();
  cells.Write(nodes_.cell_kind(), nodes_.Cell(node), key);
  index_.Insert(key.Hash32(), node, [&](uint32_t other) {
    return cells.Hash32(nodes_.cell_kind(), nodes_.Cell(other));
  });
  ++size_;
  if (count == 1) {
    PushNodeBack(count, node);
  } else {
    PushFront(Above(nullptr, count), count, node);
  }
}

void BucketList::PushBack(const char* cell, uint32_t hash32, uint64_t count, const Cells& cells) {
  const uint32_t node = nodes_.Allocate();
  std::memcpy(nodes_.Cell(node), cell, CellBytes(nodes_.cell_kind()));
  index_.Insert(hash32, node, [&](uint32_t other) {
    return cells.Hash32(nodes_.cell_kind(), nodes_.Cell(other));
  });
  ++size_;
  PushNodeBack(count, node);
}

void BucketList::Erase(uint32_t node, const Cells& cells) {
  const auto hash_of = [&](uint32_t other) {
    return cells.Hash32(nodes_.cell_kind(), nodes_.Cell(other));
  };
  index_.Erase(hash_of(node), node, hash_of);
  TakeOut(ChunkOf(node), node);
  nodes_.Free(node);
  --size_;
}

}  // namespace escalona::assoc

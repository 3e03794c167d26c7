// The short list.
#include "assoc/flat_list.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

namespace escalona::assoc {
namespace {

uint8_t BytesFor(uint64_t count) {
  if (count <= std::numeric_limits<uint8_t>::max()) return 1;
  if (count <= std::numeric_limits<uint16_t>::max()) return 2;
  if (count <= std::numeric_limits<uint32_t>::max()) return 4;
  return 8;
}

// Small steps: a list grows at most 20 times in its life as a flat one, and the slack is paid for
// by every list.
uint32_t CapacityFor(uint32_t size) {
  const uint32_t step = size <= 16 ? 4 : 8;
  return (size + step - 1) / step * step;
}

// Runs `body` with the counts as what they are.
template <typename Byte, typename Body>
auto WithCounts(Byte* counts, uint8_t count_bytes, const Body& body) {
  constexpr bool kConst = std::is_const_v<Byte>;
  switch (count_bytes) {
    case 1:
      return body(counts);
    case 2:
      return body(reinterpret_cast<std::conditional_t<kConst, const uint16_t, uint16_t>*>(counts));
    case 4:
      return body(reinterpret_cast<std::conditional_t<kConst, const uint32_t, uint32_t>*>(counts));
    default:
      return body(reinterpret_cast<std::conditional_t<kConst, const uint64_t, uint64_t>*>(counts));
  }
}

}  // namespace

FlatList* FlatList::Make(CellKind kind, uint32_t capacity, uint64_t max_count,
                         MemoryAccount& memory) {
  capacity = CapacityFor(std::max<uint32_t>(capacity, 1));
  const uint8_t count_bytes = BytesFor(max_count);
  const size_t bytes = sizeof(FlatList) + capacity * (2 + count_bytes + CellBytes(kind));
  auto* list = new (memory.Allocate(bytes)) FlatList;
  list->size_ = 0;
  list->capacity_ = static_cast<uint8_t>(capacity);
  list->count_bytes_ = count_bytes;
  list->cell_kind_ = kind;
  return list;
}

int FlatList::Find(const Key& key, const Cells& cells) const {
  const uint8_t tag = Tag(key.Hash32());
  const uint8_t* end = tags() + size_;
  for (const uint8_t* at = tags(); at != end; ++at) {
    at = static_cast<const uint8_t*>(std::memchr(at, tag, end - at));
    if (at == nullptr) break;
    const auto position = static_cast<uint32_t>(at - tags());
    if (cells.Equal(cell_kind_, CellAt(position), key)) return static_cast<int>(position);
  }
  return kNotFound;
}

uint64_t FlatList::CountAt(uint32_t position) const {
  return WithCounts(counts(), count_bytes_,
                    [&](const auto* counts) -> uint64_t { return counts[position]; });
}

void FlatList::SetCountAt(uint32_t position, uint64_t count) {
  WithCounts(counts(), count_bytes_, [&](auto* counts) {
    counts[position] = static_cast<std::remove_reference_t<decltype(*counts)>>(count);
  });
}

uint32_t FlatList::FrontOf(uint64_t count) const {
  return WithCounts(counts(), count_bytes_, [&](const auto* counts) {
    const auto* front =
        std::partition_point(counts, counts + size_, [&](uint64_t other) { return other > count; });
    return static_cast<uint32_t>(front - counts);
  });
}

void FlatList::ShiftBack(uint32_t from, uint32_t to) {
  const size_t moved = to - from;
  std::memmove(tags() + from + 1, tags() + from, moved);
  std::memmove(slots() + from + 1, slots() + from, moved);
  std::memmove(counts() + (from + size_t{1}) * count_bytes_, counts() + size_t{from} * count_bytes_,
               moved * count_bytes_);
}

FlatList* FlatList::Fit(uint32_t size, uint64_t count, MemoryAccount& memory) {
  const uint8_t count_bytes = std::max(count_bytes_, BytesFor(count));
  if (size <= capacity_ && count_bytes == count_bytes_) return this;
  return Resize(size, size_ == 0 ? count : std::max(count, CountAt(0)), memory);
}

FlatList* FlatList::Resize(uint32_t size, uint64_t max_count, MemoryAccount& memory) {
  FlatList* list = Make(cell_kind_, size, max_count, memory);
  list->size_ = size_;
  std::memcpy(list->tags(), tags(), size_);
  std::memcpy(list->slots(), slots(), size_);
  for (uint32_t i = 0; i < size_; ++i) list->SetCountAt(i, CountAt(i));
  std::memcpy(list->CellOf(0), CellOf(0), size_ * CellBytes(cell_kind_));
  memory.Free(this);
  return list;
}

FlatList* FlatList::Raise(uint32_t position, uint64_t count, MemoryAccount& memory) {
  FlatList* list = Fit(size_, count, memory);
  const uint32_t front = std::min(list->FrontOf(count), position);
  if (front != position) {
    const uint8_t tag = list->tags()[position];
    const uint8_t slot = list->slots()[position];
    list->ShiftBack(front, position);
    list->tags()[front] = tag;
    list->slots()[front] = slot;
  }
  list->SetCountAt(front, count);
  return list;
}

FlatList* FlatList::Insert(const Key& key, uint64_t count, const Cells& cells,
                           MemoryAccount& memory) {
  FlatList* list = Fit(size_ + 1U, count, memory);
  const uint32_t front = count == 1 ? list->size_ : list->FrontOf(count);
  list->ShiftBack(front, list->size_);
  list->tags()[front] = Tag(key.Hash32());
  list->slots()[front] = list->size_;
  list->SetCountAt(front, count);
  cells.Write(list->cell_kind_, list->CellOf(list->size_), key);
  ++list->size_;
  return list;
}

FlatList* FlatList::PushBack(const char* cell, uint8_t tag, uint64_t count, MemoryAccount& memory) {
  FlatList* list = Fit(size_ + 1U, count, memory);
  list->tags()[list->size_] = tag;
  list->slots()[list->size_] = list->size_;
  list->SetCountAt(list->size_, count);
  std::memcpy(list->CellOf(list->size_), cell, CellBytes(list->cell_kind_));
  ++list->size_;
  return list;
}

FlatList* FlatList::Erase(uint32_t position, MemoryAccount& memory) {
  const uint8_t slot = slots()[position];
  const size_t behind = size_ - position - 1;
  std::memmove(tags() + position, tags() + position + 1, behind);
  std::memmove(slots() + position, slots() + position + 1, behind);
  std::memmove(counts() + size_t{position} * count_bytes_,
               counts() + (position + size_t{1}) * count_bytes_, behind * count_bytes_);
  --size_;
  if (slot != size_) {
    // The cell in the last place fills the gap.
    std::memcpy(CellOf(slot), CellOf(size_), CellBytes(cell_kind_));
    *std::find(slots(), slots() + size_, size_) = slot;
  }
  if (size_ == 0 || CapacityFor(size_) * 2 > capacity_) return this;
  return Resize(size_, CountAt(0), memory);
}

void FlatList::Prefetch(const void* block) {
  constexpr size_t kLines = 6;  // tags, slots and counts of some 100 keys
  // Arithmetic on a number: the block may be gone, or none at all.
  const auto address = reinterpret_cast<uintptr_t>(block);
  for (size_t line = 0; line < kLines; ++line) {
    __builtin_prefetch(reinterpret_cast<const void*>(address + line * 64), 1);
  }
}

void FlatList::PrefetchCell(const Key& key) const {
  const void* at = std::memchr(tags(), Tag(key.Hash32()), size_);
  if (at == nullptr) return;
  __builtin_prefetch(CellAt(static_cast<uint32_t>(static_cast<const uint8_t*>(at) - tags())));
}

}  // namespace escalona::assoc

#include "frontier/fingerprint_index.h"

#include <cstring>
#include <new>
#include <utility>

#include "frontier/huge_pages.h"

namespace escalona {

FingerprintIndex::FingerprintIndex(FingerprintIndex&& other) noexcept
    : buckets_(std::move(other.buckets_)),
      bits_(std::exchange(other.bits_, 0)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

FingerprintIndex& FingerprintIndex::operator=(FingerprintIndex&& other) noexcept {
  buckets_ = std::move(other.buckets_);
  bits_ = std::exchange(other.bits_, 0);
  size_ = std::exchange(other.size_, 0);
  capacity_ = std::exchange(other.capacity_, 0);
  return *this;
}

std::unique_ptr<FingerprintIndex::Bucket[], FingerprintIndex::FreeDelete>
FingerprintIndex::NewBuckets(size_t count) {
  void* memory = AllocateHuge(count * sizeof(Bucket));
  std::memset(memory, 0, count * sizeof(Bucket));
  return std::unique_ptr<Bucket[], FreeDelete>(static_cast<Bucket*>(memory));
}

void FingerprintIndex::Place(uint64_t slot) {
  size_t b = Home(FingerprintOf(slot));
  while (IsFull(buckets_[b])) b = Next(b);
  uint64_t* free = buckets_[b].slots;
  while (*free != kEmpty) ++free;
  *free = slot;
}

void FingerprintIndex::Grow() {
  const size_t old_count = buckets_ ? size_t{1} << bits_ : 0;
  bits_ = buckets_ ? bits_ + 1 : kFirstBits;
  const size_t count = size_t{1} << bits_;
  capacity_ = count * kSlots * 4 / 5;
  const auto old = std::exchange(buckets_, NewBuckets(count));
  for (size_t b = 0; b < old_count; ++b) {
    for (uint64_t slot : old[b].slots) {
      if (slot != kEmpty) Place(slot);
    }
  }
}

void FingerprintIndex::Insert(uint32_t fingerprint, Reference reference) {
  if (size_ == capacity_) Grow();
  Place(uint64_t{fingerprint} << 32 | reference);
  ++size_;
}

void FingerprintIndex::RemoveFrom(size_t b, size_t i) {
  uint64_t* slots = buckets_[b].slots;
  size_t last = kSlots - 1;
  while (slots[last] == kEmpty) --last;
  slots[i] = slots[last];  // may be the same slot
  slots[last] = kEmpty;
}

void FingerprintIndex::Erase(uint32_t fingerprint, Reference reference) {
  const uint64_t wanted = uint64_t{fingerprint} << 32 | reference;
  size_t b = Home(fingerprint);
  size_t i = 0;
  while (buckets_[b].slots[i] != wanted) {
    if (++i == kSlots) {
      i = 0;
      b = Next(b);
    }
  }
  --size_;
  // A hole in a full bucket is filled by the nearest pair that had to pass it; that may leave a
  // hole further on, and so forth.
  bool was_full = IsFull(buckets_[b]);
  RemoveFrom(b, i);
  for (size_t from = Next(b), distance = 1; was_full; from = Next(from), ++distance) {
    Bucket& bucket = buckets_[from];
    const bool from_full = IsFull(bucket);
    for (size_t j = 0; j < kSlots && bucket.slots[j] != kEmpty; ++j) {
      if (Displacement(from, bucket.slots[j]) < distance) continue;
      buckets_[b].slots[kSlots - 1] = bucket.slots[j];
      RemoveFrom(from, j);
      b = from;
      distance = 0;
      break;
    }
    was_full = from_full;
  }
}

}  // namespace escalona

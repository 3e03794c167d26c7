#include "frontier/fingerprint_index.h"

#include <cstring>
#include <utility>

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

HugeArray<FingerprintIndex::Bucket> FingerprintIndex::NewBuckets(size_t count) {
  HugeArray<Bucket> buckets(AllocateHuge<Bucket>(count));
  std::memset(buckets.get(), 0, count * sizeof(Bucket));
  return buckets;
}

void FingerprintIndex::Place(uint32_t fingerprint, Reference reference) {
  size_t b = Home(fingerprint);
  while (IsFull(buckets_[b])) b = Next(b);
  Bucket& bucket = buckets_[b];
  const size_t i = Size(bucket);
  bucket.fingerprints[i] = fingerprint;
  bucket.references[i] = reference;
}

void FingerprintIndex::Grow() {
  const size_t old_count = buckets_ ? size_t{1} << bits_ : 0;
  bits_ = buckets_ ? bits_ + 1 : kFirstBits;
  const size_t count = size_t{1} << bits_;
  capacity_ = count * kSlots * 4 / 5;
  const auto old = std::exchange(buckets_, NewBuckets(count));
  for (size_t b = 0; b < old_count; ++b) {
    const size_t size = Size(old[b]);
    for (size_t i = 0; i < size; ++i) Place(old[b].fingerprints[i], old[b].references[i]);
  }
}

void FingerprintIndex::Insert(uint32_t fingerprint, Reference reference) {
  if (size_ == capacity_) Grow();
  Place(fingerprint, reference);
  ++size_;
}

void FingerprintIndex::RemoveFrom(Bucket& bucket, size_t i) {
  const size_t last = Size(bucket) - 1;
  bucket.fingerprints[i] = bucket.fingerprints[last];
  bucket.references[i] = bucket.references[last];
  bucket.references[last] = kNone;  // last may be i
}

void FingerprintIndex::Erase(uint32_t fingerprint, Reference reference) {
  size_t b = Home(fingerprint);
  uint32_t hit;
  while ((hit = EqualLanes(buckets_[b].references, reference)) == 0) b = Next(b);
  --size_;
  // A hole in a full bucket is filled by the nearest pair that had to pass it; that may leave a
  // hole further on, and so forth.
  bool was_full = IsFull(buckets_[b]);
  RemoveFrom(buckets_[b], static_cast<size_t>(std::countr_zero(hit)));
  for (size_t from = Next(b), distance = 1; was_full; from = Next(from), ++distance) {
    Bucket& bucket = buckets_[from];
    was_full = IsFull(bucket);
    const size_t size = Size(bucket);
    for (size_t i = 0; i < size; ++i) {
      if (Displacement(from, bucket.fingerprints[i]) < distance) continue;
      buckets_[b].fingerprints[kSlots - 1] = bucket.fingerprints[i];
      buckets_[b].references[kSlots - 1] = bucket.references[i];
      RemoveFrom(bucket, i);
      b = from;
      distance = 0;
      break;
    }
  }
}

}  // namespace escalona

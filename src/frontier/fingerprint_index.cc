#include "frontier/fingerprint_index.h"

#include <utility>
#include <vector>

namespace escalona {

void FingerprintIndex::Clear() {
  buckets_ = GrowingArray<Bucket>();
  bits_ = 0;
  size_ = capacity_ = 0;
}

void FingerprintIndex::Place(uint32_t fingerprint, Reference reference) {
  size_t b = Home(fingerprint);
  while (IsFull(buckets_[b])) b = Next(b);
  PlaceIn(buckets_[b], fingerprint, reference);
}

void FingerprintIndex::PlaceIn(Bucket& bucket, uint32_t fingerprint, Reference reference) {
  const size_t i = Size(bucket);
  bucket.fingerprints[i] = fingerprint;
  bucket.references[i] = reference;
}

void FingerprintIndex::Grow() {
  const size_t old_count = buckets_.size();
  bits_ = old_count > 0 ? bits_ + 1 : kFirstBits;
  buckets_.Grow(size_t{1} << bits_);
  capacity_ = buckets_.size() * kSlots * 4 / 5;
  Spread(old_count);
}

// Moves the pairs of the first half of the table to where they belong in all of it: from the last
// bucket to the first, since the home of a pair doubles, and everything behind has been moved by
// then. A pair that would land before, or beyond the end, waits until all others stand: these are a
// few at both ends.
void FingerprintIndex::Spread(size_t old_count) {
  std::vector<std::pair<uint32_t, Reference>> waiting;
  for (size_t b = old_count; b-- > 0;) {
    const Bucket bucket = buckets_[b];
    buckets_[b] = {};
    const size_t size = Size(bucket);
    for (size_t i = 0; i < size; ++i) {
      size_t place = Home(bucket.fingerprints[i]);
      const bool early = place < b;
      while (!early && place < buckets_.size() && IsFull(buckets_[place])) ++place;
      if (early || place == buckets_.size()) {
        waiting.emplace_back(bucket.fingerprints[i], bucket.references[i]);
      } else {
        PlaceIn(buckets_[place], bucket.fingerprints[i], bucket.references[i]);
      }
    }
  }
  for (const auto& [fingerprint, reference] : waiting) Place(fingerprint, reference);
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

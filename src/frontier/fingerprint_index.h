// A hash table from 32-bit fingerprints to 32-bit references: "have I seen this text, and where?"
#ifndef ESCALONA_FRONTIER_FINGERPRINT_INDEX_H_
#define ESCALONA_FRONTIER_FINGERPRINT_INDEX_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/growing_array.h"

namespace escalona {

// Holds (fingerprint, reference) pairs; the text itself lives where the reference points, and the
// caller compares it. Two texts may share a fingerprint: both are kept, so nothing is ever merged
// by a collision.
//
// Buckets of one cache line hold eight pairs. The home bucket of a pair is the first bits of its
// fingerprint; a pair that finds its bucket full stands in the next one that is not.
// Invariants: the pairs of a bucket stand before its empty slots; every bucket between a pair's
// home and its place is full. Hence a search ends at the first bucket that is not full, an
// erasure leaves no trace, and growing is one pass over the table in order, in place: no text is
// read, and no memory is needed beside the larger table.
//
// Cost: one cache line per operation, mostly; 8 bytes per slot at a load of 0.4 to 0.8. Prefetch()
// hides the miss when several texts are looked up together.
class FingerprintIndex {
 public:
  using Reference = uint32_t;
  static constexpr Reference kNone = 0;

  FingerprintIndex() = default;

  size_t size() const { return size_; }

  void Prefetch(uint32_t fingerprint) const {
    if (buckets_.size() > 0) __builtin_prefetch(&buckets_[Home(fingerprint)]);
  }

  // The first reference under `fingerprint` for which `is_it(reference)` holds, or kNone.
  template <typename IsIt>
  Reference Find(uint32_t fingerprint, IsIt is_it) const {
    if (buckets_.size() == 0) return kNone;
    for (size_t b = Home(fingerprint);; b = Next(b)) {
      const Bucket& bucket = buckets_[b];
      for (uint32_t hits = EqualLanes(bucket.fingerprints, fingerprint); hits != 0;
           hits &= hits - 1) {
        const Reference reference = bucket.references[std::countr_zero(hits)];
        if (reference != kNone && is_it(reference)) return reference;
      }
      if (!IsFull(bucket)) return kNone;
    }
  }

  // Adds a pair that is not there yet; `reference` is not kNone.
  void Insert(uint32_t fingerprint, Reference reference);

  // Removes a pair that is there.
  void Erase(uint32_t fingerprint, Reference reference);

  // Removes all pairs and gives the memory back.
  void Clear();

 private:
  static constexpr size_t kSlots = 8;
  static constexpr int kFirstBits = 4;  // 16 buckets: 1 KiB
  struct alignas(64) Bucket {
    uint32_t fingerprints[kSlots];
    Reference references[kSlots];  // kNone: the slot is empty
  };
  // Bit i is set when lanes[i] == value.
  static uint32_t EqualLanes(const uint32_t (&lanes)[kSlots], uint32_t value);

  size_t Home(uint32_t fingerprint) const { return fingerprint >> (32 - bits_); }
  size_t Next(size_t bucket) const { return (bucket + 1) & ((size_t{1} << bits_) - 1); }
  static bool IsFull(const Bucket& bucket) { return bucket.references[kSlots - 1] != kNone; }
  static size_t Size(const Bucket& bucket) {
    return static_cast<size_t>(
        std::countr_zero(EqualLanes(bucket.references, kNone) | 1 << kSlots));
  }
  // How far a pair in `bucket` stands from its home.
  size_t Displacement(size_t bucket, uint32_t fingerprint) const {
    return (bucket - Home(fingerprint)) & ((size_t{1} << bits_) - 1);
  }
  void Place(uint32_t fingerprint, Reference reference);
  static void PlaceIn(Bucket& bucket, uint32_t fingerprint, Reference reference);
  void Grow();
  void Spread(size_t old_count);
  // Takes slot `i` out of a bucket, which keeps its pairs together.
  static void RemoveFrom(Bucket& bucket, size_t i);

  GrowingArray<Bucket> buckets_;
  int bits_ = 0;
  size_t size_ = 0;
  size_t capacity_ = 0;  // pairs at which the table grows
};

inline uint32_t FingerprintIndex::EqualLanes(const uint32_t (&lanes)[kSlots], uint32_t value) {
#ifdef __SSE2__
  const __m128i wanted = _mm_set1_epi32(static_cast<int>(value));
  const auto* halves = reinterpret_cast<const __m128i*>(lanes);
  const __m128i low = _mm_cmpeq_epi32(_mm_load_si128(halves), wanted);
  const __m128i high = _mm_cmpeq_epi32(_mm_load_si128(halves + 1), wanted);
  const __m128i words = _mm_packs_epi32(low, high);
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(words, _mm_setzero_si128())));
#else
  uint32_t mask = 0;
  for (size_t i = 0; i < kSlots; ++i) mask |= uint32_t{lanes[i] == value} << i;
  return mask;
#endif
}

}  // namespace escalona

#endif  // ESCALONA_FRONTIER_FINGERPRINT_INDEX_H_

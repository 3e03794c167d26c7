// A hash table from 32-bit fingerprints to 32-bit references: "have I seen this text, and where?"
#ifndef ESCALONA_FRONTIER_FINGERPRINT_INDEX_H_
#define ESCALONA_FRONTIER_FINGERPRINT_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace escalona {

// Holds (fingerprint, reference) pairs; the text itself lives where the reference points, and the
// caller compares it. Two texts may share a fingerprint: both are kept, so nothing is ever merged
// by a collision.
//
// Buckets of one cache line hold eight pairs. The home bucket of a pair is the first bits of its
// fingerprint; a pair that finds its bucket full stands in the next one that is not.
// Invariants: the pairs of a bucket stand before its empty slots; every bucket between a pair's
// home and its place is full. Hence a search ends at the first bucket that is not full, an
// erasure leaves no trace, and growing is one pass over the old table in order: no text is read.
//
// Cost: one cache line per operation, mostly; 8 bytes per slot at a load of 0.4 to 0.8. Prefetch()
// hides the miss when several texts are looked up together.
class FingerprintIndex {
 public:
  using Reference = uint32_t;
  static constexpr Reference kNone = 0;

  FingerprintIndex() = default;
  FingerprintIndex(FingerprintIndex&& other) noexcept;
  FingerprintIndex& operator=(FingerprintIndex&& other) noexcept;

  size_t size() const { return size_; }

  void Prefetch(uint32_t fingerprint) const {
    if (buckets_) __builtin_prefetch(&buckets_[Home(fingerprint)]);
  }

  // The first reference under `fingerprint` for which `is_it(reference)` holds, or kNone.
  template <typename IsIt>
  Reference Find(uint32_t fingerprint, IsIt is_it) const {
    if (!buckets_) return kNone;
    for (size_t b = Home(fingerprint);; b = Next(b)) {
      for (uint64_t slot : buckets_[b].slots) {
        if (slot == kEmpty) return kNone;
        if (FingerprintOf(slot) == fingerprint && is_it(ReferenceOf(slot)))
          return ReferenceOf(slot);
      }
    }
  }

  // Adds a pair that is not there yet; `reference` is not kNone.
  void Insert(uint32_t fingerprint, Reference reference);

  // Removes a pair that is there.
  void Erase(uint32_t fingerprint, Reference reference);

  // Removes all pairs and gives the memory back.
  void Clear() { *this = FingerprintIndex(); }

 private:
  static constexpr uint64_t kEmpty = 0;
  static constexpr size_t kSlots = 8;
  static constexpr int kFirstBits = 4;  // 16 buckets: 1 KiB
  struct alignas(64) Bucket {
    uint64_t slots[kSlots];
  };
  struct FreeDelete {
    void operator()(void* memory) const { std::free(memory); }
  };

  static uint32_t FingerprintOf(uint64_t slot) { return static_cast<uint32_t>(slot >> 32); }
  static Reference ReferenceOf(uint64_t slot) { return static_cast<Reference>(slot); }
  static std::unique_ptr<Bucket[], FreeDelete> NewBuckets(size_t count);

  size_t Home(uint32_t fingerprint) const { return fingerprint >> (32 - bits_); }
  size_t Next(size_t bucket) const { return (bucket + 1) & ((size_t{1} << bits_) - 1); }
  static bool IsFull(const Bucket& bucket) { return bucket.slots[kSlots - 1] != kEmpty; }
  // How far a pair in `bucket` stands from its home.
  size_t Displacement(size_t bucket, uint64_t slot) const {
    return (bucket - Home(FingerprintOf(slot))) & ((size_t{1} << bits_) - 1);
  }
  void Place(uint64_t slot);
  void Grow();
  // Takes slot `i` out of bucket `b`, which keeps its pairs together.
  void RemoveFrom(size_t b, size_t i);

  std::unique_ptr<Bucket[], FreeDelete> buckets_;
  int bits_ = 0;
  size_t size_ = 0;
  size_t capacity_ = 0;  // pairs at which the table grows
};

}  // namespace escalona

#endif  // ESCALONA_FRONTIER_FINGERPRINT_INDEX_H_

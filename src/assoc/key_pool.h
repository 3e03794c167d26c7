// The keys of a namespace that are stored once and referred to in four bytes.
#ifndef ESCALONA_ASSOC_KEY_POOL_H_
#define ESCALONA_ASSOC_KEY_POOL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string_view>
#include <vector>

#include "assoc/key.h"
#include "assoc/memory_account.h"

namespace escalona::assoc {

// Invariant: two ids in use stand for different keys, and an id in use has as many references as
// Intern returned it less those released.
//
// Thread-safe. Interning and releasing lock one of 64 stripes; reading a key by an id one holds a
// reference to takes no lock. At most 2^26 - 16 keys per stripe (about 4 thousand million in all);
// beyond, the program ends. Each key
// costs its bytes, 12 bytes beside them, 8 for its place and 4 / load in the stripe's index.
class KeyPool {
 public:
  explicit KeyPool(MemoryAccount& memory);
  KeyPool(const KeyPool&) = delete;
  KeyPool& operator=(const KeyPool&) = delete;
  ~KeyPool();

  // The id of the key, with one more reference.
  uint32_t Intern(KeyKind kind, std::string_view bytes, uint64_t hash);
  void Release(uint32_t id);

  // Valid until the reference is released.
  KeyKind Kind(uint32_t id) const { return At(id)->kind; }
  std::string_view Bytes(uint32_t id) const {
    const Stored* key = At(id);
    return {key->bytes(), key->size};
  }
  uint32_t Hash32(uint32_t id) const { return At(id)->hash32; }

 private:
  struct Stored {
    uint32_t references;  // guarded by the stripe
    uint32_t hash32;
    uint16_t size;
    KeyKind kind;

    const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
    char* bytes() { return reinterpret_cast<char*>(this + 1); }
  };

  using Places = std::vector<uint32_t, AccountAllocator<uint32_t>>;

  static constexpr int kStripeBits = 6;
  static constexpr int kFirstPageBits = 4;
  static constexpr int kPages = 22;
  static constexpr uint32_t kNone = ~uint32_t{0};

  // Page p holds 2^(kFirstPageBits + p) places and never moves, so readers need no lock.
  struct Stripe {
    std::mutex mutex;
    std::array<std::atomic<std::atomic<Stored*>*>, kPages> pages{};
    explicit Stripe(MemoryAccount& memory) : index(memory), free(memory) {}

    Places index;  // open addressing, places by hash; kNone is empty
    Places free;   // places given back
    uint32_t places = 0;
    uint32_t used = 0;
  };

  static uint32_t StripeOf(uint32_t hash32) { return hash32 & ((1U << kStripeBits) - 1); }
  static std::atomic<Stored*>& PlaceIn(const Stripe& stripe, uint32_t place);
  const Stored* At(uint32_t id) const {
    const Stripe& stripe = stripes_[id & ((1U << kStripeBits) - 1)];
    return PlaceIn(stripe, id >> kStripeBits).load(std::memory_order_acquire);
  }
  static size_t Home(const Stripe& stripe, uint32_t hash32) {
    return (uint64_t{hash32} * stripe.index.size()) >> 32;
  }
  uint32_t NewPlace(Stripe& stripe);
  static void Grow(Stripe& stripe);
  // Frees the tables of a stripe without keys: nobody holds an id to look up in them.
  void Reset(Stripe& stripe);
  static void EraseFromIndex(Stripe& stripe, uint32_t place, uint32_t hash32);

  MemoryAccount& memory_;
  std::deque<Stripe> stripes_;  // 2^kStripeBits of them
};

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_KEY_POOL_H_

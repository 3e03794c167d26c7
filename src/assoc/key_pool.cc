// Interning with reference counts.
#include "assoc/key_pool.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace escalona::assoc {

KeyPool::KeyPool(MemoryAccount& memory) : memory_(memory) {
  for (int i = 0; i < (1 << kStripeBits); ++i) stripes_.emplace_back(memory);
}

KeyPool::~KeyPool() {
  for (Stripe& stripe : stripes_) {
    for (uint32_t place : stripe.index) {
      if (place != kNone) memory_.Free(PlaceIn(stripe, place).load(std::memory_order_relaxed));
    }
    for (auto& page : stripe.pages) memory_.Free(page.load(std::memory_order_relaxed));
  }
}

std::atomic<KeyPool::Stored*>& KeyPool::PlaceIn(const Stripe& stripe, uint32_t place) {
  const uint32_t shifted = place + (1U << kFirstPageBits);
  const int page = std::bit_width(shifted) - 1 - kFirstPageBits;
  const uint32_t offset = shifted - (1U << (page + kFirstPageBits));
  return stripe.pages[page].load(std::memory_order_acquire)[offset];
}

uint32_t KeyPool::NewPlace(Stripe& stripe) {
  if (!stripe.free.empty()) {
    const uint32_t place = stripe.free.back();
    stripe.free.pop_back();
    return place;
  }
  const uint32_t place = stripe.places++;
  const uint32_t shifted = place + (1U << kFirstPageBits);
  if ((shifted >> (kFirstPageBits + kPages)) != 0) {
    std::fprintf(stderr, "escalona: more than 2^32 different interned keys in a namespace\n");
    std::abort();
  }
  if (std::has_single_bit(shifted)) {
    auto* page = static_cast<std::atomic<Stored*>*>(
        memory_.Allocate(shifted * sizeof(std::atomic<Stored*>)));
    for (uint32_t i = 0; i < shifted; ++i) new (&page[i]) std::atomic<Stored*>(nullptr);
    stripe.pages[std::bit_width(shifted) - 1 - kFirstPageBits].store(page,
                                                                     std::memory_order_release);
  }
  return place;
}

void KeyPool::Grow(Stripe& stripe) {
  Places old = stripe.index;
  stripe.index.assign(old.empty() ? 8 : old.size() + old.size() / 2, kNone);
  stripe.index.shrink_to_fit();
  for (uint32_t place : old) {
    if (place == kNone) continue;
    size_t slot = Home(stripe, PlaceIn(stripe, place).load(std::memory_order_relaxed)->hash32);
    while (stripe.index[slot] != kNone) slot = slot + 1 == stripe.index.size() ? 0 : slot + 1;
    stripe.index[slot] = place;
  }
}

uint32_t KeyPool::Intern(KeyKind kind, std::string_view bytes, uint64_t hash) {
  const auto hash32 = static_cast<uint32_t>(hash >> 32);
  const uint32_t number = StripeOf(hash32);
  Stripe& stripe = stripes_[number];
  const std::lock_guard<std::mutex> lock(stripe.mutex);
  if ((stripe.used + 1) * uint64_t{5} > stripe.index.size() * uint64_t{4}) Grow(stripe);
  size_t slot = Home(stripe, hash32);
  for (; stripe.index[slot] != kNone; slot = slot + 1 == stripe.index.size() ? 0 : slot + 1) {
    Stored* key = PlaceIn(stripe, stripe.index[slot]).load(std::memory_order_relaxed);
    if (key->hash32 == hash32 && key->kind == kind &&
        std::string_view(key->bytes(), key->size) == bytes) {
      ++key->references;
      return (stripe.index[slot] << kStripeBits) | number;
    }
  }
  auto* key = static_cast<Stored*>(memory_.Allocate(sizeof(Stored) + bytes.size()));
  key->references = 1;
  key->hash32 = hash32;
  key->size = static_cast<uint16_t>(bytes.size());
  key->kind = kind;
  std::memcpy(key->bytes(), bytes.data(), bytes.size());
  const uint32_t place = NewPlace(stripe);
  PlaceIn(stripe, place).store(key, std::memory_order_release);
  stripe.index[slot] = place;
  ++stripe.used;
  return (place << kStripeBits) | number;
}

void KeyPool::Release(uint32_t id) {
  Stripe& stripe = stripes_[id & ((1U << kStripeBits) - 1)];
  const uint32_t place = id >> kStripeBits;
  const std::lock_guard<std::mutex> lock(stripe.mutex);
  std::atomic<Stored*>& at = PlaceIn(stripe, place);
  Stored* key = at.load(std::memory_order_relaxed);
  if (--key->references != 0) return;
  EraseFromIndex(stripe, place, key->hash32);
  at.store(nullptr, std::memory_order_relaxed);
  memory_.Free(key);
  stripe.free.push_back(place);
  if (--stripe.used == 0) Reset(stripe);
}

void KeyPool::Reset(Stripe& stripe) {
  for (auto& page : stripe.pages) {
    memory_.Free(page.exchange(nullptr, std::memory_order_relaxed));
  }
  stripe.index = Places(memory_);
  stripe.free = Places(memory_);
  stripe.places = 0;
}

void KeyPool::EraseFromIndex(Stripe& stripe, uint32_t place, uint32_t hash32) {
  const size_t size = stripe.index.size();
  size_t hole = Home(stripe, hash32);
  while (stripe.index[hole] != place) hole = hole + 1 == size ? 0 : hole + 1;
  // Entries after the hole that a search from their home would reach through it move up.
  for (size_t slot = hole + 1 == size ? 0 : hole + 1; stripe.index[slot] != kNone;
       slot = slot + 1 == size ? 0 : slot + 1) {
    const uint32_t other = stripe.index[slot];
    const size_t home =
        Home(stripe, PlaceIn(stripe, other).load(std::memory_order_relaxed)->hash32);
    const size_t from_home = (slot + size - home) % size;
    const size_t from_hole = (slot + size - hole) % size;
    if (from_home < from_hole) continue;
    stripe.index[hole] = other;
    hole = slot;
  }
  stripe.index[hole] = kNone;
}

}  // namespace escalona::assoc

// How a list keeps its keys: 16 bytes in place, or 4 bytes that refer to the pool.
#ifndef ESCALONA_ASSOC_CELLS_H_
#define ESCALONA_ASSOC_CELLS_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "assoc/key.h"
#include "assoc/key_pool.h"

namespace escalona::assoc {

// All cells of one list are of one kind: that of its keys while they are all alike (GUIDs of one
// case, or strings of 16 bytes), kInterned otherwise. The first three equal the KeyKind.
enum class CellKind : uint8_t { kGuidLower, kGuidUpper, kBytes16, kInterned };

constexpr size_t CellBytes(CellKind kind) {
  return kind == CellKind::kInterned ? sizeof(uint32_t) : kPackedBytes;
}

// Reads and writes cells. A cell of kind kInterned owns one reference to its key.
class Cells {
 public:
  Cells(KeyPool& pool, uint64_t seed, bool intern_ids)
      : pool_(pool), seed_(seed), intern_ids_(intern_ids) {}

  CellKind KindFor(const Key& key) const {
    if (intern_ids_ || key.kind == KeyKind::kBytes) return CellKind::kInterned;
    return static_cast<CellKind>(key.kind);
  }
  // Whether a list of `kind` can take the key as it is.
  bool Fits(CellKind kind, const Key& key) const {
    return kind == CellKind::kInterned || kind == KindFor(key);
  }

  bool Equal(CellKind kind, const char* cell, const Key& key) const {
    if (kind == CellKind::kInterned) {
      const uint32_t id = Id(cell);
      return pool_.Kind(id) == key.kind && pool_.Bytes(id) == key.Bytes();
    }
    return static_cast<CellKind>(key.kind) == kind &&
           std::memcmp(cell, key.packed.data(), kPackedBytes) == 0;
  }

  void Write(CellKind kind, char* cell, const Key& key) const {
    if (kind == CellKind::kInterned) {
      const uint32_t id = pool_.Intern(key.kind, key.Bytes(), key.hash);
      std::memcpy(cell, &id, sizeof(id));
    } else {
      std::memcpy(cell, key.packed.data(), kPackedBytes);
    }
  }

  // Writes to `to` what `from`, of kind `kind`, becomes in a list of interned keys.
  void WriteInterned(CellKind kind, const char* from, char* to) const {
    const std::string_view bytes(from, kPackedBytes);
    const auto key_kind = static_cast<KeyKind>(kind);
    const uint32_t id = pool_.Intern(key_kind, bytes, HashKey(key_kind, bytes, seed_));
    std::memcpy(to, &id, sizeof(id));
  }

  void Release(CellKind kind, const char* cell) const {
    if (kind == CellKind::kInterned) pool_.Release(Id(cell));
  }

  uint32_t Hash32(CellKind kind, const char* cell) const {
    if (kind == CellKind::kInterned) return pool_.Hash32(Id(cell));
    const std::string_view bytes(cell, kPackedBytes);
    return static_cast<uint32_t>(HashKey(static_cast<KeyKind>(kind), bytes, seed_) >> 32);
  }

  void AppendText(CellKind kind, const char* cell, std::string& text) const {
    if (kind == CellKind::kInterned) {
      const uint32_t id = Id(cell);
      AppendKeyText(pool_.Kind(id), pool_.Bytes(id), text);
    } else {
      AppendKeyText(static_cast<KeyKind>(kind), {cell, kPackedBytes}, text);
    }
  }

 private:
  static uint32_t Id(const char* cell) {
    uint32_t id;
    std::memcpy(&id, cell, sizeof(id));
    return id;
  }

  KeyPool& pool_;
  uint64_t seed_;
  bool intern_ids_;
};

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_CELLS_H_

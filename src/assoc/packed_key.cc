// Keys in records.
#include "assoc/packed_key.h"

#include "assoc/key.h"
#include "base/varint.h"
#include "escalona/associations.h"

namespace escalona::assoc {

void AppendKey(std::string_view text, std::string& bytes) {
  const Key key = MakeKey(text, 0);
  AppendVarint(key.Bytes().size() * 4 + static_cast<uint64_t>(key.kind), bytes);
  bytes.append(key.Bytes());
}

bool PassKey(std::string_view& bytes, KeyKind& kind, std::string_view& packed) {
  uint64_t head;
  if (!TakeVarint(bytes, head)) return false;
  kind = static_cast<KeyKind>(head & 3);
  const uint64_t size = head >> 2;
  if (size == 0 || size > kMaxAssociationKeyBytes || size > bytes.size()) return false;
  if (kind != KeyKind::kBytes && size != kPackedBytes) return false;
  packed = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return true;
}

bool TakeKey(std::string_view& bytes, std::string& text) {
  KeyKind kind;
  std::string_view packed;
  if (!PassKey(bytes, kind, packed)) return false;
  text.clear();
  AppendKeyText(kind, packed, text);
  return true;
}

}  // namespace escalona::assoc

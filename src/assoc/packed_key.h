// A key as bytes in a record: GUIDs in 16, everything else as it is.
#ifndef ESCALONA_ASSOC_PACKED_KEY_H_
#define ESCALONA_ASSOC_PACKED_KEY_H_

#include <string>
#include <string_view>

#include "assoc/key.h"

namespace escalona::assoc {

// Appends length * 4 + kind as a number, then the bytes.
void AppendKey(std::string_view text, std::string& bytes);

// Takes a key off the front of `bytes` and stores its spelling in `text`; false if there is none.
bool TakeKey(std::string_view& bytes, std::string& text);

// The same as a view: its kind and its packed bytes.
bool PassKey(std::string_view& bytes, KeyKind& kind, std::string_view& packed);

}  // namespace escalona::assoc

#endif  // ESCALONA_ASSOC_PACKED_KEY_H_

// Any bytes: decoding a stored list never crashes, and what it accepts encodes to an equal record.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "assoc/record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto record = escalona::assoc::DecodeList(bytes);
  if (!record.ok()) return 0;
  const auto again = escalona::assoc::DecodeList(escalona::assoc::EncodeList(*record));
  if (!again.ok() || again->list != record->list || again->sequence != record->sequence ||
      again->age != record->age) {
    std::abort();
  }
  // What the counter takes from it, it gives back.
  escalona::AssociationCounter counter;
  if (!counter.Load("a", record->list).ok()) return 0;
  if (counter.Extract("a") != record->list) std::abort();
  return 0;
}

// Any bytes: reading changes off a log record never crashes, and what it reads is written the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "assoc/change_log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  escalona::assoc::Change change;
  escalona::EventId event;
  for (;;) {
    if (escalona::assoc::TakeEvent(bytes, event)) {
      std::string written;
      escalona::assoc::AppendEvent(event, written);
      std::string_view again = written;
      const escalona::EventId first = event;
      if (!escalona::assoc::TakeEvent(again, event) || !again.empty() || event != first) {
        std::abort();
      }
      continue;
    }
    if (!escalona::assoc::TakeChange(bytes, change)) break;
    std::string written;
    escalona::assoc::AppendChange(change.kind, change.associator, change.key, change.weight,
                                  written);
    std::string_view again = written;
    escalona::assoc::Change read;
    if (!escalona::assoc::TakeChange(again, read) || !again.empty() || read.kind != change.kind ||
        read.associator != change.associator || read.key != change.key ||
        read.weight != change.weight) {
      std::abort();
    }
  }
  return 0;
}

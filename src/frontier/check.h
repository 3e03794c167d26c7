// Does everything in a frontier's store fit together?
#ifndef ESCALONA_FRONTIER_CHECK_H_
#define ESCALONA_FRONTIER_CHECK_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "store/store.h"

namespace escalona::frontier {

struct StoreCounts {
  uint64_t format = 0;
  uint64_t openings = 0;
  uint64_t crawls = 0;
  uint64_t queues = 0;
  uint64_t told = 0;  // queues that were told about and have no URL yet
  uint64_t scheduled = 0;
  uint64_t completed = 0;
  uint64_t leases = 0;  // also those that have ended and were not cleared away yet
};

// What the records of queues say, without reading URLs. The errors of Frontier::Open.
absl::StatusOr<StoreCounts> CountStore(store::Store& store);

// Reads every record and recounts: calls `found` for each thing that is wrong, in words. The counts
// are those found. Memory: 100 bytes per queue and lease. Errors are those of the store itself, and
// of a format it does not know.
absl::StatusOr<StoreCounts> CheckStore(store::Store& store,
                                       absl::FunctionRef<void(const std::string&)> found);

}  // namespace escalona::frontier

#endif  // ESCALONA_FRONTIER_CHECK_H_

// Equal numbers among many.
#ifndef ESCALONA_CLI_DUPLICATES_H_
#define ESCALONA_CLI_DUPLICATES_H_

#include <cstdint>
#include <span>
#include <vector>

namespace escalona::cli {

// The values that occur more than once in `keys`, ascending. `keys` are hashes: evenly spread in
// their upper bits. O(keys); two passes through memory and one look at each key in the cache.
// Memory: as much as `keys` takes.
std::vector<uint64_t> RepeatedKeys(std::span<const uint64_t> keys, int threads);

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_DUPLICATES_H_

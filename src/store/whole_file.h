// Small files that are there as a whole or not at all.
#ifndef ESCALONA_STORE_WHOLE_FILE_H_
#define ESCALONA_STORE_WHOLE_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace escalona::store {

// Writes the file `name` of `folder`, or leaves the one that is there. With `reach_disk` that holds
// after a power failure too, and costs two writes to the disk.
absl::Status WriteWholeFile(const std::string& folder, const std::string& name,
                            std::string_view text, bool reach_disk = true);

// Its text; empty if it cannot be read.
std::string ReadWholeFile(const std::string& path);

}  // namespace escalona::store

#endif  // ESCALONA_STORE_WHOLE_FILE_H_

// Associations that come and go as streams: batches, import, export.
#ifndef ESCALONA_SERVER_ASSOCIATION_STREAM_H_
#define ESCALONA_SERVER_ASSOCIATION_STREAM_H_

#include <memory>
#include <string>

#include "assoc/namespaces.h"
#include "escalona/clock.h"
#include "server/http_message.h"

namespace escalona::server {

// A namespace that is dropped does not wait for these: they say that it is gone.

enum class StreamFormat : uint8_t { kNdjson, kCsv };

// Counts items as they come: lines of JSON or rows of CSV (a header says what their columns are;
// one that cannot be used ends the request), or, where the first character is '[' and the format is
// not CSV, one array of up to max_array_bytes, of which nothing is counted unless all of it is
// JSON.
std::unique_ptr<BodySink> NewBatchSink(const std::shared_ptr<assoc::Namespace>& space,
                                       const Clock& clock, StreamFormat format,
                                       size_t max_array_bytes);

// Takes what NewExport gives: neighbouring items of one key, in list order, become its list. A list
// is gathered in memory; one of more than max_list_bytes ends the request.
std::unique_ptr<BodySink> NewReplaceSink(const std::shared_ptr<assoc::Namespace>& space,
                                         const Clock& clock, StreamFormat format,
                                         size_t max_list_bytes);

// Everything in the namespace: associators in the order of their bytes, each list in its order. A
// list is given as it is when it is reached. Both may wait for the store.
absl::StatusOr<std::unique_ptr<BodySource>> NewExport(
    const std::shared_ptr<assoc::Namespace>& space, StreamFormat format);

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_ASSOCIATION_STREAM_H_

// Between the messages of the URLFrontier API and the words of the frontier.
#ifndef ESCALONA_SERVER_WIRE_H_
#define ESCALONA_SERVER_WIRE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "escalona/frontier.h"
#include "server/urlfrontier.pb.h"

namespace escalona::server {

// The metadata key, and the header of GetURLs, of lease tokens.
inline constexpr std::string_view kLeaseKey = "escalona-lease";

// An item, or an ID, of more is not taken. Clients, unless told otherwise, refuse messages of more
// than 4 MiB: one such URL would cost them the whole answer it is in, and come again.
inline constexpr size_t kMaxItemBytes = (4 << 20) - (4 << 10);

// Seconds since 1970; what lies beyond the year 9999 becomes its last second.
absl::Time TimeOfSeconds(uint64_t seconds);

// `crawl`, or the default crawl if it is empty or blank.
std::string_view CrawlOf(std::string_view crawl);

// What is put for a message. `metadata` gets the bytes that the store keeps: the entries of
// URLInfo.metadata in the wire format, in the order of their keys, so that they are appended to an
// answer as they stand. The views of the result point into the message and into `metadata`.
//
// A lease token among the metadata of a known item fences it; it is never kept.
FrontierPut PutOf(const urlfrontier::URLItem& item, std::string& metadata);
// The same for each item of a batch, all of which are discovered.
void PutsOf(const urlfrontier::DiscoveredBatch& batch, std::string& metadata,
            std::vector<FrontierPut>& puts);

// A blank text filters nothing.
UrlFilter FilterOf(const std::string& key, const std::string& crawl, const std::string& text,
                   bool ignore_case);

urlfrontier::AckMessage::Status AckOf(PutStatus status);

// Messages as they go over the wire, made in one piece.
grpc::ByteBuffer EncodeAck(std::string_view id, PutStatus status);
grpc::ByteBuffer EncodeBatchAck(std::string_view id, std::span<const PutStatus> statuses);
grpc::ByteBuffer EncodeUrlInfo(const LeasedUrl& leased, bool with_lease);
grpc::ByteBuffer EncodeUrlItem(const KnownUrl& known);  // a known item, with its creation date
// The same as text, for messages that are not streamed.
std::string SerializeUrlItem(const KnownUrl& known);

// Parses without a copy where the bytes are in one piece. False if it is no such message; what
// could be read of it is there.
bool ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message& message);

// What is put, whatever the bytes are: an item that is none, or has a text that is not UTF-8, or is
// too large, is empty, and costs neither the other items of its batch nor its ID. Bytes of an ID
// that are not UTF-8 become U+FFFD; an ID that is too large becomes empty.
void ParseItem(const grpc::ByteBuffer& bytes, urlfrontier::URLItem& item);
void ParseBatch(const grpc::ByteBuffer& bytes, urlfrontier::DiscoveredBatch& batch);

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_WIRE_H_

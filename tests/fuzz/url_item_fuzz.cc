// Requests as they come over the wire, and lines of files: whatever the bytes are, what is made of
// them is sound.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "cli/item_line.h"
#include "server/wire.h"

namespace {

using escalona::FrontierPut;
using escalona::LeasedUrl;

void Check(bool holds) {
  if (!holds) std::abort();
}

grpc::ByteBuffer BufferOf(std::string_view bytes) {
  // In two pieces, as a message that crossed a border of the transport.
  const grpc::Slice pieces[] = {
      grpc::Slice(bytes.data(), bytes.size() / 2),
      grpc::Slice(bytes.data() + bytes.size() / 2, bytes.size() - bytes.size() / 2)};
  return {pieces, 2};
}

// What was put comes back with the URL, without the token, and put again is the same bytes.
void CheckPut(const FrontierPut& put) {
  const LeasedUrl leased = {put.url, put.key, put.crawl, put.metadata, 42, absl::UnixEpoch()};
  urlfrontier::URLItem again;
  Check(escalona::server::ParseMessage(escalona::server::EncodeUrlInfo(leased, true),
                                       *again.mutable_known()->mutable_info()));
  again.mutable_known()->set_refetchable_from_date(1);
  Check(again.known().info().url() == put.url);
  std::string metadata;
  const FrontierPut second = escalona::server::PutOf(again, metadata);
  Check(second.metadata == put.metadata && second.lease == 42);
}

void FuzzItem(std::string_view bytes) {
  urlfrontier::URLItem item;
  escalona::server::ParseItem(BufferOf(bytes), item);
  Check(escalona::IsUtf8(item.id()));
  std::string metadata;
  CheckPut(escalona::server::PutOf(item, metadata));
}

void FuzzBatch(std::string_view bytes) {
  urlfrontier::DiscoveredBatch batch;
  escalona::server::ParseBatch(BufferOf(bytes), batch);
  Check(escalona::IsUtf8(batch.id()));
  std::string metadata;
  std::vector<FrontierPut> puts;
  escalona::server::PutsOf(batch, metadata, puts);
  Check(puts.size() == static_cast<size_t>(batch.items_size()));
  for (int i = 0; i < batch.items_size(); ++i) {
    urlfrontier::URLItem item;
    *item.mutable_discovered()->mutable_info() = batch.items(i);
    std::string alone;
    Check(escalona::server::PutOf(item, alone).metadata == puts[static_cast<size_t>(i)].metadata);
  }
}

void FuzzLine(std::string_view line) {
  urlfrontier::URLItem item;
  const absl::StatusOr<bool> parsed = escalona::cli::ParseItemLine(line, "crawl", item);
  if (!parsed.ok() || !*parsed) return;
  std::string metadata;
  CheckPut(escalona::server::PutOf(item, metadata));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      FuzzItem(bytes);
      break;
    case 1:
      FuzzBatch(bytes);
      break;
    default:
      FuzzLine(bytes);
  }
  return 0;
}

// Writes batches.
#include "server/association_writer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace escalona::server {
namespace {

uint64_t MaxCount(const assoc::Namespace& space) {
  return space.settings().saturate_32bit ? AssociationOptions::kSaturate32Bit
                                         : AssociationOptions().max_count;
}

// The first entry for which a list was refused, by its place, and what is wrong with it.
std::pair<size_t, ItemError> WrongEntry(std::span<const CountedKey> list, uint64_t max_count,
                                        const absl::Status& refused) {
  if (list.front().count > max_count) {
    return {0, {"count", "must be a whole number from 1 to " + std::to_string(max_count)}};
  }
  absl::flat_hash_set<std::string_view> keys;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0 && list[i].count > list[i - 1].count) {
      return {i,
              {"count", "must not be greater than that of the line before, " +
                            std::to_string(list[i - 1].count) + ": counts fall within a list"}};
    }
    if (!keys.insert(list[i].key).second) {
      return {i, {"associatedKey", "is in the list twice"}};
    }
  }
  return {0, {"", std::string(refused.message())}};
}

}  // namespace

void SetQuotaError(const absl::Status& status, absl::Duration retry_after, Response& response) {
  SetError(status, "", response);
  const auto seconds = static_cast<int64_t>(std::ceil(absl::ToDoubleSeconds(retry_after)));
  response.headers.emplace_back("Retry-After", std::to_string(std::max<int64_t>(seconds, 1)));
}

bool AdmitWrites(assoc::Namespace& space, uint64_t n, const Clock& clock, Response& response) {
  if (!space.limited()) return true;
  absl::Duration retry_after;
  const absl::Status status = space.TakeWrites(n, clock.Now(), retry_after);
  if (status.ok()) return true;
  space.CountRefused(std::max<uint64_t>(n, 1));  // of a stream nobody knows how many
  SetQuotaError(status, retry_after, response);
  return false;
}

void AssociationWriter::Refuse(uint64_t index, const ItemError& error) {
  ++refused_;
  if (errors_.size() < kShownErrors) errors_.push_back({index, error});
}

void AssociationWriter::Refuse(uint64_t index, const absl::Status& status) {
  Refuse(index, ItemError{"", std::string(status.message())});
}

void AssociationWriter::Fail(const ItemError& error) {
  failed_ = absl::InvalidArgumentError(std::string(error.field) + " " + error.message);
  failed_field_ = error.field;
}

bool AssociationWriter::MayGoOn(uint64_t next, const Clock& clock) {
  const absl::Status status = space_.TakeWrites(0, clock.Now(), retry_after_);
  if (status.ok()) return true;
  failed_ = absl::ResourceExhaustedError(std::string(status.message()) + "; the first " +
                                         std::to_string(next) + " items were looked at, and " +
                                         std::to_string(accepted_) + " of them counted");
  next_ = next;
  space_.CountRefused(1);
  // Lines that could not be read are refused at once, those before them written later.
  refused_ -= std::erase_if(errors_, [next](const auto& error) { return error.index >= next; });
  return false;
}

void AssociationWriter::Count(std::span<const AssociationItem> items) {
  wrong_.clear();
  increments_.clear();
  events_.clear();
  for (const AssociationItem& item : items) {
    increments_.push_back({item.key, item.associated_key, item.count});
    if (item.event_id.empty()) continue;
    events_.resize(items.size());
    events_[increments_.size() - 1] = EventOf(item);
  }
  Take(space_.counter().IncrementBatch(increments_, &wrong_, events_));
}

void AssociationWriter::Take(const absl::StatusOr<uint64_t>& counted) {
  if (!counted.ok()) {
    failed_ = counted.status();
    return;
  }
  accepted_ += *counted;
  space_.CountWrites(*counted);
  duplicates_ +=
      std::erase_if(wrong_, [](const auto& wrong) { return absl::IsAlreadyExists(wrong.status); });
  for (const AssociationBatchError& wrong : wrong_) {
    if (absl::IsResourceExhausted(wrong.status)) space_.CountRefused(1);
  }
}

void AssociationWriter::Write(std::span<const AssociationItem> items,
                              std::span<const uint64_t> indices) {
  Count(items);
  for (const AssociationBatchError& wrong : wrong_) {
    Refuse(indices[wrong.index], wrong.status);
  }
}

void AssociationWriter::Write(const Basket& basket, uint64_t index) {
  wrong_.clear();
  increments_.clear();
  for (const std::string& key : basket.keys) {
    for (const std::string& other : basket.keys) {
      if (&key != &other) increments_.push_back({key, other, basket.count});
    }
  }
  const absl::StatusOr<uint64_t> counted =
      basket.event_id.empty()
          ? space_.counter().IncrementBatch(increments_, &wrong_)
          : space_.counter().IncrementTogether(increments_, EventIdOf(basket.event_id), &wrong_);
  if (absl::IsAlreadyExists(counted.status())) {
    ++duplicates_;
    return;
  }
  Take(counted);
  if (!wrong_.empty()) Refuse(index, wrong_.front().status);
}

void AssociationWriter::Replace(std::string_view key, std::span<const CountedKey> list,
                                std::span<const uint64_t> indices) {
  const absl::Status status = space_.counter().Replace(key, list);
  if (status.ok()) {
    accepted_ += list.size();
    space_.CountWrites(list.size());
  } else if (absl::IsResourceExhausted(status)) {
    space_.CountRefused(list.size());
    for (const uint64_t index : indices) Refuse(index, status);
  } else if (absl::IsInvalidArgument(status)) {
    const auto [wrong, error] = WrongEntry(list, MaxCount(space_), status);
    const ItemError others{"", "is of the list of item " + std::to_string(indices[wrong]) +
                                   ", which is refused as a whole"};
    for (size_t i = 0; i < list.size(); ++i) Refuse(indices[i], i == wrong ? error : others);
  } else {
    failed_ = status;
  }
}

void AssociationWriter::Respond(Response& response) const {
  if (failed_.ok()) {
    response.body = "{" + Result() + "}";
  } else if (next_.has_value()) {
    SetQuotaError(failed_, retry_after_, response);
    response.body.pop_back();
    response.body += ",\"next\":" + std::to_string(*next_) + "," + Result() + "}";
  } else {
    SetError(failed_, failed_field_, response);
  }
}

std::string AssociationWriter::Result() const {
  std::string body = "\"accepted\":" + std::to_string(accepted_);
  if (duplicates_ > 0) body += ",\"duplicates\":" + std::to_string(duplicates_);
  body += ",\"errors\":[";
  for (const auto& [index, error] : errors_) {
    if (body.back() != '[') body += ',';
    body += "{\"index\":" + std::to_string(index);
    if (!error.field.empty()) {
      body += ",\"field\":";
      AppendJsonString(error.field, body);
    }
    body += ",\"message\":";
    AppendJsonString(error.message, body);
    body += '}';
  }
  body += ']';
  if (refused_ > errors_.size()) {
    body += ",\"moreErrors\":" + std::to_string(refused_ - errors_.size());
  }
  return body;
}

}  // namespace escalona::server

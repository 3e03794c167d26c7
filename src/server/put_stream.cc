#include "server/put_stream.h"

#include <utility>

namespace escalona::server {

void UrlUnit::Parse(const grpc::ByteBuffer& bytes) {
  constexpr size_t kSmall = 4 << 10;
  small_ = bytes.Length() <= kSmall;
  ParseItem(bytes, item_);
  put_ = PutOf(item_, metadata_);
  puts = {&put_, 1};
  statuses = {&status_, 1};
}

grpc::ByteBuffer UrlUnit::Ack() const {
  const std::string& id = item_.id();
  return EncodeAck(id.empty() ? put_.url : std::string_view(id), status_);
}

void BatchUnit::Parse(const grpc::ByteBuffer& bytes) {
  batch_ = google::protobuf::Arena::CreateMessage<urlfrontier::DiscoveredBatch>(&arena_);
  ParseBatch(bytes, *batch_);
  PutsOf(*batch_, metadata_, puts_);
  statuses_.assign(puts_.size(), PutStatus::kFailed);
  puts = puts_;
  statuses = statuses_;
}

grpc::ByteBuffer BatchUnit::Ack() const { return EncodeBatchAck(batch_->id(), statuses_); }

PutStreams::Place PutStreams::Add(PutStreamBase* stream) {
  const std::lock_guard lock(mutex_);
  metrics_.open_put_streams.Increment();
  open_.push_front(stream);
  if (draining_) stream->Drain();
  return open_.begin();
}

void PutStreams::Remove(Place place) {
  const std::lock_guard lock(mutex_);
  metrics_.open_put_streams.Decrement();
  open_.erase(place);
}

void PutStreams::Drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
  for (PutStreamBase* stream : open_) stream->Drain();
}

template <class Unit>
PutStream<Unit>::PutStream(PutWriter& writer, PutStreams& streams)
    : writer_(writer), streams_(streams) {
  StartRead(&incoming_);
  place_ = streams_.Add(this);
}

template <class Unit>
typename PutStream<Unit>::Next PutStream<Unit>::Decide() {
  Next next;
  if (finished_) return next;
  const bool may_read = !reads_ended_ && !draining_ && !broken_;
  if (may_read && !reading_ && in_flight_ < Unit::kMaxInFlight) {
    next.read = reading_ = true;
    ++starting_reads_;
  }
  if (broken_) {
    in_flight_ -= acks_.size();
    acks_.clear();
  }
  if (!writing_ && !acks_.empty()) {
    std::unique_ptr<Unit> unit = std::move(acks_.front());
    acks_.pop_front();
    outgoing_ = unit->Ack();
    Recycle(std::move(unit));
    next.write = writing_ = true;
    // The first write carries the headers, and is not done before those have left.
    next.flush = acks_.empty() || !std::exchange(headers_sent_, true);
  }
  // A read that is under way ends by itself when the call is finished.
  next.finish = finished_ = !may_read && starting_reads_ == 0 && !writing_ && with_writer_ == 0;
  next.unavailable = !reads_ended_ && !broken_;
  return next;
}

template <class Unit>
void PutStream<Unit>::Do(Next next) {
  if (next.write) {
    grpc::WriteOptions options;
    if (!next.flush) options.set_buffer_hint();
    StartWrite(&outgoing_, options);
  }
  if (next.finish) {
    Finish(next.unavailable
               ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is shutting down")
               : grpc::Status::OK);
  }
  if (next.read) {
    StartRead(&incoming_);
    std::unique_lock lock(mutex_);
    --starting_reads_;
    if (reads_ended_ || draining_ || broken_) Proceed(lock);
  }
}

template <class Unit>
void PutStream<Unit>::Proceed(std::unique_lock<std::mutex>& lock) {
  const Next next = Decide();
  lock.unlock();
  Do(next);
}

template <class Unit>
std::unique_ptr<Unit> PutStream<Unit>::NewUnit() {
  if (kept_.empty()) return std::make_unique<Unit>();
  std::unique_ptr<Unit> unit = std::move(kept_.back());
  kept_.pop_back();
  return unit;
}

template <class Unit>
void PutStream<Unit>::Recycle(std::unique_ptr<Unit> unit) {
  if (unit->is_small() && kept_.size() < Unit::kKept) kept_.push_back(std::move(unit));
}

template <class Unit>
void PutStream<Unit>::OnReadDone(bool ok) {
  std::unique_ptr<Unit> unit;
  if (ok) {
    {
      const std::lock_guard lock(mutex_);
      unit = NewUnit();
    }
    unit->owner = this;
    unit->Parse(incoming_);
    incoming_.Clear();
  }
  Next next;
  {
    const std::lock_guard lock(mutex_);
    reading_ = false;
    if (finished_) {
      unit.reset();  // read when the call was ended already: nobody can be told, and nobody waits
    } else if (ok) {
      ++in_flight_;
      ++with_writer_;
      // With the lock held: once it is released whoever writes may start the next read, and what
      // that brings must not come before this.
      writer_.Submit(unit.release());
    } else {
      reads_ended_ = true;
    }
    next = Decide();
  }
  Do(next);
}

template <class Unit>
bool PutStream<Unit>::Take(PutUnit* unit) {
  const std::lock_guard lock(mutex_);
  --with_writer_;
  acks_.emplace_back(static_cast<Unit*>(unit));
  if (writing_) return false;
  writing_ = true;  // by SendAcks
  return true;
}

template <class Unit>
void PutStream<Unit>::SendAcks() {
  std::unique_lock lock(mutex_);
  writing_ = false;
  Proceed(lock);
}

template <class Unit>
void PutStream<Unit>::Drain() {
  std::unique_lock lock(mutex_);
  draining_ = true;
  Proceed(lock);
}

template <class Unit>
void PutStream<Unit>::OnWriteDone(bool ok) {
  std::unique_lock lock(mutex_);
  writing_ = false;
  --in_flight_;
  broken_ = broken_ || !ok;
  Proceed(lock);
}

template <class Unit>
void PutStream<Unit>::OnDone() {
  streams_.Remove(place_);
  delete this;
}

template class PutStream<UrlUnit>;
template class PutStream<BatchUnit>;

}  // namespace escalona::server

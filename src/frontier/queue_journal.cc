#include "frontier/queue_journal.h"

#include "frontier/core.h"

namespace escalona::frontier {
namespace {

constexpr int kQueueBits = 40;

uint64_t NumberOf(QueueId id) { return uint64_t{id.crawl} << kQueueBits | id.queue; }

}  // namespace

void QueueChanges::Add(Queue& queue, const QueueRecord& record) {
  if (queues_.empty()) AppendJournalVersion(value_);
  queues_.push_back(&queue);
  AppendChange(queue.Id(), record, value_);
}

absl::Status StoredJournal::Read(store::Store& store) {
  absl::Status damage;
  const absl::Status read =
      store.ScanPrefix(std::string(1, static_cast<char>(Kind::kJournal)),
                       [&](std::string_view key, std::string_view value) {
                         uint64_t number = 0;
                         bool is_whole = DecodeJournalKey(key, number) && TakeJournalVersion(value);
                         end_ = number + 1;
                         const size_t begin = changes_.size();
                         changes_.append(value);
                         for (std::string_view rest = value; is_whole && !rest.empty();) {
                           const size_t place = begin + value.size() - rest.size();
                           QueueId id;
                           QueueRecord record;
                           is_whole = TakeChange(rest, id, record);
                           places_[NumberOf(id)] = place;
                         }
                         if (!is_whole) damage = Damaged("a record of the journal cannot be read");
                         return is_whole;
                       });
  return read.ok() ? damage : read;
}

bool StoredJournal::Find(QueueId id, QueueRecord& record) const {
  const auto found = places_.find(NumberOf(id));
  if (found == places_.end()) return false;
  std::string_view change = std::string_view(changes_).substr(found->second);
  return TakeChange(change, id, record);
}

// Writes the batch and the changes, whose queues have their stripes locked.
absl::Status Core::Write(store::Batch& batch, const QueueChanges& changes) {
  if (changes.empty()) return Write(batch);
  batch.Put(JournalKey(next_change_.fetch_add(1)), changes.value());
  absl::Status written = Write(batch);
  if (!written.ok()) return written;
  journaled_ += changes.queues().size();
  const std::lock_guard<std::mutex> lock(agenda_mutex_);
  for (Queue* queue : changes.queues()) {
    if (queue->journaled) continue;
    queue->journaled = true;
    ++queue->references;
    unfolded_.push_back(queue);
  }
  return written;
}

void Core::Fold() {
  if (!is_folding_ && journaled_ < options_.journal_changes) return;
  const std::unique_lock<std::mutex> lock(fold_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  if (!is_folding_) BeginFold();
  FoldSome();
  if (folding_.empty()) EndFold();
}

void Core::BeginFold() {
  is_folding_ = true;
  journaled_ = 0;
  fold_end_ = next_change_;
  // Who has an earlier number holds a stripe until its queues are among the unfolded.
  for (Stripe& stripe : stripes_) const std::lock_guard<FairMutex> lock(stripe.mutex);
  const std::lock_guard<std::mutex> lock(agenda_mutex_);
  folding_.swap(unfolded_);
}

// What it writes is known to the journal, so it need not reach the disk before the journal's end
// goes, and that comes later.
void Core::FoldSome() {
  constexpr size_t kAtOnce = 256;
  const size_t left = folding_.size() - std::min(folding_.size(), kAtOnce);
  const std::span<Queue* const> queues = std::span(folding_).subspan(left);
  StripeSet stripes;
  for (const Queue* queue : queues) stripes.set(StripeOf(NameOf(queue)));
  const StripeLock stripe_lock(*this, stripes);
  store::Batch batch;
  for (const Queue* queue : queues) {
    if (!queue->dead) AppendQueue(*queue, queue->record, batch);
  }
  if (!batch.empty() && !store_->Write(batch, store::Reach::kOs).ok()) return;  // a later call may
  const std::lock_guard<std::mutex> lock(agenda_mutex_);
  for (Queue* queue : queues) Unjournal(queue);
  folding_.resize(left);
}

void Core::EndFold() {
  store::Batch batch;
  batch.DeleteRange(JournalKey(0), JournalKey(fold_end_));
  if (store_->Write(batch, store::Reach::kOs).ok()) is_folding_ = false;
}

void Core::Unjournal(Queue* queue) {
  queue->journaled = false;
  --queue->references;
  Agenda::FreeIfUnused(queue);
}

}  // namespace escalona::frontier

// Buckets of pages of nearly equal frequency: upkeep, and the pass that finds the latest page.
#include "revisit/bucketed_pages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace escalona::revisit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr size_t kBlock = 16;  // buckets looked at together; arrays are padded to it

}  // namespace

void BucketedPages::Reset(double width, Order order) {
  width_ = width;
  order_ = order;
  size_ = 0;
  for (uint32_t bucket = 0; bucket < buckets_.size(); ++bucket) NoteVisits(bucket);
  for (Place& place : places_) place.bucket = kNowhere;
  buckets_.clear();
  free_.clear();
  by_number_.clear();
  front_last_.clear();
  frequency_.clear();
  interval_.clear();
  due_ = {};
}

uint32_t BucketedPages::BucketOf(double frequency) {
  const auto number = static_cast<int64_t>(std::floor(std::log(frequency) / width_));
  const auto [known, is_new] = by_number_.try_emplace(number, 0);
  if (!is_new) return known->second;
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(buckets_.size()));
    buckets_.emplace_back();
    if (buckets_.size() > front_last_.size()) {
      front_last_.resize(front_last_.size() + kBlock, kInfinity);
      frequency_.resize(front_last_.size(), 1);
      interval_.resize(front_last_.size(), 1);
    }
  }
  const uint32_t bucket = free_.back();
  free_.pop_back();
  buckets_[bucket].number = number;
  return known->second = bucket;
}

void BucketedPages::Release(uint32_t bucket) {
  by_number_.erase(buckets_[bucket].number);
  buckets_[bucket] = {};
  front_last_[bucket] = kInfinity;
  frequency_[bucket] = 1;
  due_.Remove(bucket);
  free_.push_back(bucket);
}

// Rounding must not carry the mean out of its bucket.
void BucketedPages::SetMean(uint32_t bucket) {
  const Bucket& b = buckets_[bucket];
  const double floor = std::exp(static_cast<double>(b.number) * width_);
  const double ceiling = std::exp(static_cast<double>(b.number + 1) * width_);
  frequency_[bucket] = std::clamp(b.sum / static_cast<double>(b.count), floor, ceiling);
  interval_[bucket] = 1 / frequency_[bucket];
}

// Drops stale entries at the front, and brings what is kept beside the queue up to date.
void BucketedPages::RefreshFront(uint32_t bucket) {
  Bucket& b = buckets_[bucket];
  while (b.queue.size() > b.count && !IsCurrent(b.queue.Front())) b.queue.Pop();
  front_last_[bucket] = b.queue.Front().key;
  if (order_ != Order::kByDue) return;
  due_.Set(bucket, front_last_[bucket] + interval_[bucket]);
}

void BucketedPages::Insert(PageId id, double frequency, double last) {
  Remember(id, last);
  const uint32_t bucket = BucketOf(frequency);
  Bucket& b = buckets_[bucket];
  Place& place = places_[id];
  place.bucket = bucket;
  ++place.stamp;
  b.queue.Push({last, id, place.stamp});
  ++b.count;
  b.sum += frequency;
  ++size_;
  SetMean(bucket);
  RefreshFront(bucket);
}

void BucketedPages::Remember(PageId id, double last) {
  if (id >= places_.size()) places_.resize(std::max<size_t>(id + 1, places_.size() * 2));
  places_[id].last = last;
}

void BucketedPages::Erase(PageId id, double frequency) {
  Place& place = places_[id];
  const uint32_t bucket = place.bucket;
  NoteVisits(bucket);
  place.bucket = kNowhere;
  ++place.stamp;
  --size_;
  Bucket& b = buckets_[bucket];
  b.sum -= frequency;
  if (--b.count == 0) return Release(bucket);
  if (b.queue.size() > 2 * b.count + 16) {
    b.queue.Filter([this](const RunQueue::Entry& entry) { return IsCurrent(entry); });
  }
  SetMean(bucket);
  RefreshFront(bucket);
}

void BucketedPages::Visit(uint32_t bucket, double last) {
  Bucket& b = buckets_[bucket];
  const PageId page = b.queue.Front().id;
  b.queue.Renew(last);
  const RunQueue::Entry* soon = b.queue.Soon();
  RefreshFront(bucket);
  if (!b.noted) return;
  if (soon != nullptr) __builtin_prefetch(&places_[soon->id], 1);
  places_[page].last = last;  // at last: writes wait for one another, and this one may be far away
  b.noted = ++b.unasked < b.count;
}

void BucketedPages::NoteVisits(uint32_t bucket) {
  Bucket& b = buckets_[bucket];
  b.unasked = 0;
  if (b.noted) return;
  b.noted = true;
  b.queue.ForEach([this](const RunQueue::Entry& entry) {
    if (IsCurrent(entry)) places_[entry.id].last = entry.key;
  });
}

// The greatest lateness of each block first, without asking whose it is, which keeps the loop
// short; then the block, then the bucket.
BucketedPages::Front BucketedPages::Latest(double time) const {
  const size_t blocks = front_last_.size() / kBlock;
  const double* last = front_last_.data();
  const double* f = frequency_.data();
  const DoublePair now(time);
  size_t best_block = 0;
  double greatest = -kInfinity;
  for (size_t block = 0; block < blocks; ++block, last += kBlock, f += kBlock) {
    DoublePair best = (now - DoublePair(last)) * DoublePair(f);
    for (size_t i = 2; i < kBlock; i += 2) {
      best = Max(best, (now - DoublePair(last + i)) * DoublePair(f + i));
    }
    const double of_block = best.Greater();
    if (of_block > greatest) {
      greatest = of_block;
      best_block = block;
    }
  }
  std::array<double, kBlock> lateness;
  for (size_t i = 0; i < kBlock; ++i) {
    const size_t bucket = best_block * kBlock + i;
    lateness[i] = (time - front_last_[bucket]) * frequency_[bucket];
  }
  return FrontOf(
      static_cast<uint32_t>(best_block * kBlock + FindInBlock(lateness.data(), greatest)));
}

}  // namespace escalona::revisit

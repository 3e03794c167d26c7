#include "server/put_writer.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "absl/time/clock.h"

namespace escalona::server {

PutWriter::PutWriter(Frontier& frontier, Metrics& metrics)
    : frontier_(frontier), metrics_(metrics), thread_([this] { Run(); }) {}

PutWriter::~PutWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    arrived_.notify_one();
  }
  thread_.join();
}

void PutWriter::Submit(PutUnit* unit) {
  const std::lock_guard lock(mutex_);
  pending_.push_back(unit);
  if (asleep_) {
    asleep_ = false;
    arrived_.notify_one();
  }
}

void PutWriter::Run() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      while (pending_.empty() && !stopping_) {
        asleep_ = true;
        arrived_.wait(lock);
      }
      asleep_ = false;
      if (pending_.empty()) return;
      taken_.swap(pending_);
    }
    PutAll(taken_);
    taken_.clear();
  }
}

void PutWriter::PutAll(std::span<PutUnit* const> units) {
  while (!units.empty()) {
    const bool beside_gets = BesideGets();
    // Where processors are short, better a pause between two rounds than within one, where queues
    // that a GetURLs wants are locked.
    if (beside_gets) std::this_thread::yield();
    size_t count = 0;
    size_t items = 0;
    const size_t most = std::min(units.size(), beside_gets ? kUnitsBesideGets : kUnits);
    while (count < most && items + units[count]->puts.size() <= kRound) {
      items += units[count++]->puts.size();
    }
    if (count == 0) {
      PutLarge(*units[count++]);
    } else {
      PutRound(units.first(count), items);
    }
    HandBack(units.first(count));
    units = units.subspan(count);
  }
}

void PutWriter::PutRound(std::span<PutUnit* const> units, size_t items) {
  if (units.size() == 1) {
    const std::vector<PutStatus> statuses = Put(units[0]->puts);
    std::copy(statuses.begin(), statuses.end(), units[0]->statuses.begin());
    return;
  }
  round_.clear();
  round_.reserve(items);
  for (const PutUnit* unit : units) {
    round_.insert(round_.end(), unit->puts.begin(), unit->puts.end());
  }
  const std::vector<PutStatus> statuses = Put(round_);
  const PutStatus* next = statuses.data();
  for (PutUnit* unit : units) {
    std::copy_n(next, unit->puts.size(), unit->statuses.begin());
    next += unit->puts.size();
  }
}

void PutWriter::PutLarge(PutUnit& unit) {
  for (size_t done = 0; done < unit.puts.size(); done += kRound) {
    const size_t count = std::min(kRound, unit.puts.size() - done);
    const std::vector<PutStatus> statuses = Put(unit.puts.subspan(done, count));
    std::copy(statuses.begin(), statuses.end(), unit.statuses.begin() + static_cast<long>(done));
  }
}

std::vector<PutStatus> PutWriter::Put(std::span<const FrontierPut> items) {
  if (items.empty()) return {};
  absl::Status error;
  std::vector<PutStatus> statuses = frontier_.Put(items, &error);
  if (!error.ok()) Report(error);
  return statuses;
}

void PutWriter::Report(const absl::Status& error) {
  ++unreported_;
  const absl::Time now = absl::Now();
  if (now < next_report_) return;  // a full disk would fill the log too
  next_report_ = now + absl::Seconds(1);
  spdlog::error("URLs could not be stored and were acknowledged as FAIL ({} writes): {}",
                unreported_, std::string(error.message()));
  unreported_ = 0;
}

void PutWriter::Count(const PutUnit& unit) {
  double discovered = 0;
  double ignored = 0;
  double completed = 0;
  double failed = 0;
  double stale = 0;
  for (size_t i = 0; i < unit.puts.size(); ++i) {
    const PutStatus status = unit.statuses[i];
    const bool is_discovered = unit.puts[i].kind == PutKind::kDiscovered;
    discovered += is_discovered ? 1 : 0;
    ignored += is_discovered && status == PutStatus::kSkipped ? 1 : 0;
    completed += unit.puts[i].kind == PutKind::kCompleted && status == PutStatus::kOk ? 1 : 0;
    failed += status == PutStatus::kFailed ? 1 : 0;
    stale += status == PutStatus::kStale ? 1 : 0;
  }
  const auto all = static_cast<double>(unit.puts.size());
  metrics_.put_urls.Increment(all);
  if (discovered > 0) metrics_.put_discovered.Increment(discovered);
  if (all > discovered) metrics_.put_known.Increment(all - discovered);
  if (ignored > 0) metrics_.put_ignored.Increment(ignored);
  if (completed > 0) metrics_.put_completed.Increment(completed);
  if (failed > 0) metrics_.put_failed.Increment(failed);
  if (stale > 0) metrics_.put_stale.Increment(stale);
}

void PutWriter::HandBack(std::span<PutUnit* const> units) {
  for (PutUnit* unit : units) {
    Count(*unit);
    if (unit->owner->Take(unit)) to_send_.push_back(unit->owner);
  }
  // Only now: the first acknowledgement of a stream then goes out with the others behind it.
  for (PutOwner* owner : to_send_) owner->SendAcks();
  to_send_.clear();
}

}  // namespace escalona::server

// Collects what arrives on all put streams and puts it together.
#ifndef ESCALONA_SERVER_PUT_WRITER_H_
#define ESCALONA_SERVER_PUT_WRITER_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "escalona/frontier.h"
#include "server/metrics.h"

namespace escalona::server {

struct PutUnit;

// Who gets a unit back when it was put.
class PutOwner {
 public:
  // Its statuses are set. True: the caller must call SendAcks(), some time later; until then the
  // owner stays.
  virtual bool Take(PutUnit* unit) = 0;
  virtual void SendAcks() = 0;

 protected:
  ~PutOwner() = default;
};

// Some items that are acknowledged together.
struct PutUnit {
  std::span<const FrontierPut> puts;
  std::span<PutStatus> statuses;  // as many
  PutOwner* owner = nullptr;
};

// One thread that puts what has come meanwhile in one write, then hands out the acknowledgements:
// the more arrives, the larger the writes. It sleeps only if nothing has come. A round is short,
// and shorter while there are calls of GetURLs, so that they get their turn.
class PutWriter {
 public:
  PutWriter(Frontier& frontier, Metrics& metrics);
  PutWriter(const PutWriter&) = delete;
  PutWriter& operator=(const PutWriter&) = delete;
  ~PutWriter();  // when everything submitted has been handed back

  // Thread-safe. The unit belongs to the writer until its owner takes it.
  void Submit(PutUnit* unit);
  // Thread-safe. A GetURLs is about to ask the frontier: rounds are shorter for a while.
  void GiveWay() { last_get_.store(Clock::now(), std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;

  // Of one write. Large rounds cost less per item, and a GetURLs may have to wait for one; URLs
  // that come one by one are not made to.
  static constexpr size_t kRound = 1024;  // items
  static constexpr size_t kUnits = 256;
  static constexpr size_t kUnitsBesideGets = 64;
  static constexpr std::chrono::milliseconds kMindful{100};

  void Run();
  void PutAll(std::span<PutUnit* const> units);
  bool BesideGets() const {
    return Clock::now() < last_get_.load(std::memory_order_relaxed) + kMindful;
  }
  // Those of the units, which are `items` in all.
  void PutRound(std::span<PutUnit* const> units, size_t items);
  void PutLarge(PutUnit& unit);
  std::vector<PutStatus> Put(std::span<const FrontierPut> items);
  void Count(const PutUnit& unit);
  void HandBack(std::span<PutUnit* const> units);
  void Report(const absl::Status& error);

  Frontier& frontier_;
  Metrics& metrics_;
  std::atomic<Clock::time_point> last_get_{Clock::time_point()};

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<PutUnit*> pending_;
  bool asleep_ = false;
  bool stopping_ = false;

  // Of the thread.
  std::vector<PutUnit*> taken_;
  std::vector<FrontierPut> round_;
  std::vector<PutOwner*> to_send_;
  absl::Time next_report_ = absl::InfinitePast();
  uint64_t unreported_ = 0;

  std::thread thread_;
};

}  // namespace escalona::server

#endif  // ESCALONA_SERVER_PUT_WRITER_H_

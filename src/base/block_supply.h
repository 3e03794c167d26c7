// Large blocks of memory, made ready before they are needed.
#ifndef ESCALONA_BASE_BLOCK_SUPPLY_H_
#define ESCALONA_BASE_BLOCK_SUPPLY_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "base/huge_memory.h"

namespace escalona {

// The kernel clears fresh memory when it is first touched, and where it runs in a virtual machine
// the host may have to find it first: for who fills gigabytes that is a good part of the time. Who
// takes many blocks gets them from a thread that has touched them already, some blocks ahead;
// who takes few never has that thread.
//
// Take() is for one thread at a time.
class BlockSupply {
 public:
  static constexpr size_t kBytes = size_t{2} << 20;
  using Block = HugeArray<std::byte>;

  BlockSupply() = default;
  ~BlockSupply();
  BlockSupply(const BlockSupply&) = delete;
  BlockSupply& operator=(const BlockSupply&) = delete;

  // kBytes of memory, aligned to as many; their contents are unspecified. Never waits for the
  // thread. Throws std::bad_alloc.
  Block Take();

 private:
  static constexpr size_t kPatience = 32;  // blocks until the thread begins
  static constexpr size_t kAhead = 4;

  void Begin();
  void Prepare();

  size_t taken_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Block> ready_;  // guarded by mutex_, as is:
  bool ending_ = false;
};

}  // namespace escalona

#endif  // ESCALONA_BASE_BLOCK_SUPPLY_H_

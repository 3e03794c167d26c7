#include "base/block_supply.h"

#include <new>
#include <system_error>
#include <utility>

namespace escalona {
namespace {

BlockSupply::Block NewBlock() {
  return BlockSupply::Block(AllocateHuge<std::byte>(BlockSupply::kBytes));
}

void Touch(std::byte* block) {
  constexpr size_t kPage = 4096;
  for (size_t i = 0; i < BlockSupply::kBytes; i += kPage) {
    static_cast<volatile std::byte&>(block[i]) = std::byte{};
  }
}

}  // namespace

BlockSupply::~BlockSupply() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

BlockSupply::Block BlockSupply::Take() {
  if (++taken_ == kPatience) Begin();
  Block block;
  if (thread_.joinable()) {
    const std::lock_guard lock(mutex_);
    if (!ready_.empty()) {
      block = std::move(ready_.back());
      ready_.pop_back();
      changed_.notify_one();
    }
  }
  return block != nullptr ? std::move(block) : NewBlock();
}

void BlockSupply::Begin() {
  try {
    thread_ = std::thread([this] { Prepare(); });
  } catch (const std::system_error&) {
    // No thread is to be had: every block will be touched by who takes it.
  }
}

void BlockSupply::Prepare() try {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || ready_.size() < kAhead; });
    if (ending_) return;
    lock.unlock();
    Block block = NewBlock();
    Touch(block.get());
    lock.lock();
    ready_.push_back(std::move(block));
  }
} catch (const std::bad_alloc&) {
  // Take() will meet it too, and say so.
}

}  // namespace escalona

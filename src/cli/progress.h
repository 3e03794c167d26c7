// A progress line on a terminal, nothing elsewhere.
#ifndef ESCALONA_CLI_PROGRESS_H_
#define ESCALONA_CLI_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace escalona::cli {

// "1.2 GB", for people.
std::string HumanBytes(uint64_t bytes);

// Shows how far a long piece of work is, on standard error when that is a terminal: from half a
// second after the start, five times a second, and the line is gone when the work ends. Update()
// is cheap enough to be called for each block of a file. Not thread safe.
class Progress {
 public:
  // `total` is what `done` will reach; 0 when nobody knows.
  Progress(std::string what, uint64_t total);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of the total, in bytes; `detail` is shown behind it.
  void Update(uint64_t done, const std::string& detail = "");

  // Removes the line, for a message to take its place; the next Update() brings it back.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;

  const std::string what_;
  const uint64_t total_;
  const bool on_terminal_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::milliseconds(500);
  bool shown_ = false;
};

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_PROGRESS_H_

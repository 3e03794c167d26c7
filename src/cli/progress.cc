#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace escalona::cli {

std::string HumanBytes(uint64_t bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(units)) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value,
                units[unit]);
  return text;
}

Progress::Progress(std::string what, uint64_t total)
    : what_(std::move(what)), total_(total), on_terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::Update(uint64_t done, const std::string& detail) {
  if (!on_terminal_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(200);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::string line = what_ + ": " + HumanBytes(done);
  if (total_ > 0) {
    const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    char text[64];
    std::snprintf(text, sizeof text, " of %s (%.0f %%)", HumanBytes(total_).c_str(), 100 * part);
    line += text;
    if (part > 0.01 && part < 1) {
      std::snprintf(text, sizeof text, ", %.0f s left", seconds * (1 - part) / part);
      line += text;
    }
  }
  if (!detail.empty()) line += ", " + detail;
  std::fprintf(stderr, "\r%s\033[K", line.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::Clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace escalona::cli

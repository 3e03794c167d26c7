// "Did you mean": the nearest of a few known words.
#ifndef ESCALONA_CLI_SUGGEST_H_
#define ESCALONA_CLI_SUGGEST_H_

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace escalona::cli {

// Number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
inline size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// The known word nearest to `word`, or "" when none is near enough to be meant.
inline std::string Nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  size_t best_distance = word.size() / 3 + 2;
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(word.substr(0, 64), candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace escalona::cli

#endif  // ESCALONA_CLI_SUGGEST_H_

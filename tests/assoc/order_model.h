// The order of associations, written down twice as the specification words it; nothing of the
// engine.
#ifndef ESCALONA_TESTS_ASSOC_ORDER_MODEL_H_
#define ESCALONA_TESTS_ASSOC_ORDER_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace escalona::assoc_test {

// The operational form: a list that single writes rearrange. Every step is linear in the list.
class ListModel {
 public:
  explicit ListModel(uint64_t max_count = std::numeric_limits<uint64_t>::max())
      : max_count_(max_count) {}

  void Write(const std::string& key, uint64_t weight) {
    for (uint64_t i = 0; i < weight; ++i) WriteOnce(key);
  }

  void Set(const std::vector<std::pair<std::string, uint64_t>>& list) { list_ = list; }

  bool Delete(const std::string& key) {
    const size_t at = Position(key);
    if (at == list_.size()) return false;
    list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  }

  void Halve(uint64_t times) {
    std::vector<std::pair<std::string, uint64_t>> left;
    for (auto& [key, count] : list_) {
      uint64_t halved = count;
      for (uint64_t i = 0; i < times && halved > 0; ++i) halved /= 2;
      if (halved > 0) left.emplace_back(key, halved);
    }
    list_ = left;
  }

  size_t Position(const std::string& key) const {
    size_t at = 0;
    while (at < list_.size() && list_[at].first != key) ++at;
    return at;
  }

  const std::vector<std::pair<std::string, uint64_t>>& list() const { return list_; }

 private:
  void WriteOnce(const std::string& key) {
    const size_t at = Position(key);
    if (at == list_.size()) {
      list_.emplace_back(key, 1);
      return;
    }
    std::pair<std::string, uint64_t> entry = list_[at];
    if (entry.second < max_count_) ++entry.second;
    list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(at));
    size_t to = 0;
    while (to < list_.size() && list_[to].second > entry.second) ++to;
    list_.insert(list_.begin() + static_cast<std::ptrdiff_t>(to), entry);
  }

  uint64_t max_count_;
  std::vector<std::pair<std::string, uint64_t>> list_;
};

// The declarative form: a stamp for the moment a key reached its frequency, and one sort.
class StampModel {
 public:
  void Write(const std::string& key, uint64_t weight) {
    auto& [frequency, stamp] = keys_[key];
    frequency += weight;
    stamp = ++now_;
  }
  void Delete(const std::string& key) { keys_.erase(key); }

  std::vector<std::pair<std::string, uint64_t>> list() const {
    std::vector<std::pair<std::string, std::pair<uint64_t, uint64_t>>> all(keys_.begin(),
                                                                           keys_.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      const auto [a_frequency, a_stamp] = a.second;
      const auto [b_frequency, b_stamp] = b.second;
      if (a_frequency != b_frequency) return a_frequency > b_frequency;
      return a_frequency == 1 ? a_stamp < b_stamp : a_stamp > b_stamp;
    });
    std::vector<std::pair<std::string, uint64_t>> list;
    for (const auto& [key, value] : all) list.emplace_back(key, value.first);
    return list;
  }

 private:
  std::map<std::string, std::pair<uint64_t, uint64_t>> keys_;
  uint64_t now_ = 0;
};

}  // namespace escalona::assoc_test

#endif  // ESCALONA_TESTS_ASSOC_ORDER_MODEL_H_

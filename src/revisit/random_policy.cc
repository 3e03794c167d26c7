// RANDOM: at each slot of the server, a page drawn with probability f/f_s.
#include <array>
#include <memory>
#include <vector>

#include "revisit/alias_table.h"
#include "revisit/policies.h"
#include "revisit/random_source.h"
#include "revisit/slot_clock.h"

namespace escalona::revisit {
namespace {

// Prefix sums under change (Fenwick's tree): the weights that changed since the table was built.
class ChangedWeights {
 public:
  void Clear() {
    tree_.clear();
    total_ = 0;
  }
  [[nodiscard]] double total() const { return total_; }
  [[nodiscard]] size_t size() const { return tree_.size(); }

  size_t Append(double weight) {
    const size_t i = tree_.size() + 1;
    double sum = weight;
    for (size_t step = 1; (i & step) == 0; step <<= 1) sum += tree_[i - step - 1];
    tree_.push_back(sum);
    total_ += weight;
    return i - 1;
  }
  void Change(size_t index, double difference) {
    for (size_t i = index + 1; i <= tree_.size(); i += i & -i) tree_[i - 1] += difference;
    total_ += difference;
  }
  // The index whose share of [0, total) holds `point`.
  [[nodiscard]] size_t Find(double point) const {
    size_t before = 0;
    size_t step = 1;
    while (step * 2 <= tree_.size()) step *= 2;
    for (; step > 0; step /= 2) {
      if (before + step <= tree_.size() && tree_[before + step - 1] <= point) {
        before += step;
        point -= tree_[before - 1];
      }
    }
    return before < tree_.size() ? before : tree_.size() - 1;
  }

 private:
  std::vector<double> tree_;
  double total_ = 0;
};

// Invariant: a page's whole frequency is either in the table (place kInTable) or among the changed
// ones (its place there); the table's cells of changed pages are drawn in vain and drawn again.
// The table is built anew once the changed pages are an eighth of all, or hold most of the
// frequency, so the cost of building is O(1) per change and a draw needs two tries at most on
// average.
class RandomPolicy final : public RevisitPolicy {
 public:
  explicit RandomPolicy(const PolicyOptions& options)
      : RevisitPolicy(options), random_(options.seed) {
    for (uint64_t& bits : ahead_) bits = random_.Next();
  }

 protected:
  void OnAdd(PageId id, double now, double /*last_visit*/, double /*old_total*/) override {
    if (id >= place_.size()) place_.resize(id + 1, kInTable);
    SetWeight(id, 0, pages_[id].frequency);
    slots_.SetRate(total_frequency(), now, random_.Unit());
  }
  void OnUpdate(PageId id, const KnownPage& old, double now, double /*old_total*/) override {
    SetWeight(id, old.frequency, pages_[id].frequency);
    slots_.SetRate(total_frequency(), now, random_.Unit());
  }
  void OnRemove(PageId id, const KnownPage& old, double now, double /*old_total*/) override {
    SetWeight(id, old.frequency, 0);
    slots_.SetRate(total_frequency(), now, random_.Unit());
  }
  [[nodiscard]] double Due() const override { return slots_.next(); }

  PageId Choose(double now) override {
    slots_.Use(now);
    if (changed_.size() == 0) return table_.Draw(NextBits());
    if (NeedsBuild()) {
      Build();
      return table_.Draw(NextBits());
    }
    return DrawAroundChanges();
  }

 private:
  static constexpr uint32_t kInTable = UINT32_MAX;
  // Random numbers drawn ahead, so that the cells they select are in the cache when it matters.
  static constexpr size_t kAhead = 16;

  uint64_t NextBits() {
    const uint64_t bits = ahead_[turn_ % kAhead];
    const uint64_t later = random_.Next();
    ahead_[turn_++ % kAhead] = later;
    table_.Prefetch(later);
    return bits;
  }

  void SetWeight(PageId id, double old_weight, double weight) {
    if (weight == old_weight) return;
    if (place_[id] == kInTable) {
      place_[id] = static_cast<uint32_t>(changed_.Append(weight));
      changed_ids_.push_back(id);
      table_total_ -= old_weight;
    } else {
      changed_.Change(place_[id], weight - old_weight);
    }
  }

  [[nodiscard]] bool NeedsBuild() const {
    return changed_.size() > size() / 8 || changed_.total() * 2 > total_frequency() ||
           table_total_ * 2 < built_total_;
  }

  void Build() {
    std::vector<double> weights(pages_.size());
    double total = 0;
    for (size_t i = 0; i < weights.size(); ++i) total += weights[i] = pages_[i].frequency;
    table_.Build(weights, total);
    built_total_ = table_total_ = total;
    for (const PageId id : changed_ids_) place_[id] = kInTable;
    changed_.Clear();
    changed_ids_.clear();
  }

  PageId DrawAroundChanges() {
    const double point = random_.Unit() * (table_total_ + changed_.total());
    if (point < changed_.total()) {
      const PageId id = changed_ids_[changed_.Find(point)];
      // Rounding can lead to a page whose weight fell to 0; the table is a fair substitute.
      if (pages_[id].frequency > 0) return id;
    }
    for (;;) {
      const PageId id = table_.Draw(NextBits());
      if (place_[id] == kInTable) return id;
    }
  }

  RandomSource random_;
  SlotClock slots_;
  AliasTable table_;
  std::vector<uint32_t> place_;  // by page
  ChangedWeights changed_;
  std::vector<PageId> changed_ids_;  // by place
  double built_total_ = 0;           // of the table when it was built
  double table_total_ = 0;           // of the pages whose weight still stands in the table
  std::array<uint64_t, kAhead> ahead_;
  size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<RevisitPolicy> MakeRandomPolicy(const PolicyOptions& options) {
  return std::make_unique<RandomPolicy>(options);
}

}  // namespace escalona::revisit

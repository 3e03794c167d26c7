// A host's queue against a map from depth to the texts of that depth.
#include "frontier/host_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace escalona {
namespace {

// A queue and its model, both changed by the same calls.
class Twin {
 public:
  Twin(ChunkPool& pool, uint32_t host) : pool_(pool), host_(host) {}
  ~Twin() { queue_.Clear(pool_); }
  Twin(const Twin&) = delete;
  Twin& operator=(const Twin&) = delete;

  bool Append(uint32_t depth, const std::string& text) {
    const ChunkPool::Reference reference = queue_.Append(pool_, host_, depth, text, false);
    if (reference == ChunkPool::kNone) return false;
    EXPECT_EQ(Record::At(pool_, reference).text(), text);
    model_[depth].push_back(text);
    return true;
  }
  void Pop(uint32_t count = 1) {
    size_t size = 0;
    for (const auto& [depth, texts] : model_) size += texts.size();
    ASSERT_EQ(queue_.empty(), size == 0);
    count = std::min(count, static_cast<uint32_t>(size));
    std::vector<std::string> expected;
    for (uint32_t i = 0; i < count; ++i) {
      auto smallest = model_.begin();
      expected.push_back(smallest->second.front());
      smallest->second.pop_front();
      if (smallest->second.empty()) model_.erase(smallest);
    }
    std::vector<std::string> taken;
    queue_.Take(pool_, count, [&](ChunkPool::Reference reference) {
      EXPECT_EQ(Record::At(pool_, reference).owner, host_);
      taken.emplace_back(Record::At(pool_, reference).text());
    });
    ASSERT_EQ(taken, expected);
  }
  void Clear() {
    queue_.Clear(pool_);
    model_.clear();
  }
  void Compare() const {
    std::vector<std::string> expected;
    for (const auto& [depth, texts] : model_) {
      expected.insert(expected.end(), texts.begin(), texts.end());
    }
    std::vector<std::string> found;
    queue_.ForEach(pool_, [&](ChunkPool::Reference reference) {
      found.emplace_back(Record::At(pool_, reference).text());
    });
    ASSERT_EQ(found, expected);
    ASSERT_EQ(queue_.empty(), model_.empty());
  }

 private:
  ChunkPool& pool_;
  const uint32_t host_;
  HostQueue queue_;
  std::map<uint32_t, std::deque<std::string>> model_;
};

TEST(HostQueue, SmallerDepthFirstThenTheOneThatArrivedFirst) {
  for (uint32_t depths : {1u, 3u, 20u, 300u}) {
    std::mt19937 random(depths);
    BlockSupply supply;
    ChunkPool pool(supply);
    std::deque<Twin> twins;  // they share the pool
    for (uint32_t host = 0; host < 4; ++host) twins.emplace_back(pool, host);
    for (int step = 0; step < 6000; ++step) {
      Twin& twin = twins[random() % twins.size()];
      const bool grow = random() % 100 < (step / 1000 % 2 == 0 ? 75 : 30);
      if (grow) {
        const size_t size = random() % 200 == 0 ? 40000 : random() % 50;
        const std::string text = std::to_string(step) + std::string(size, 'x');
        ASSERT_TRUE(twin.Append(static_cast<uint32_t>(random() % depths), text));
      } else {
        twin.Pop(random() % 50 == 0 ? 200 : 1);
      }
      if (random() % 1000 == 0) twin.Clear();
      if (step % 200 == 0) twin.Compare();
    }
    for (Twin& twin : twins) twin.Compare();
  }
}

TEST(HostQueue, DepthsMayComeInAnyOrder) {
  for (const bool ascending : {true, false}) {
    BlockSupply supply;
    ChunkPool pool(supply);
    Twin twin(pool, 1);
    for (uint32_t i = 0; i < 2000; ++i) {
      const uint32_t depth = ascending ? i : 2000 - i;
      ASSERT_TRUE(twin.Append(depth, std::to_string(depth)));
    }
    ASSERT_TRUE(twin.Append(UINT32_MAX, "deepest"));
    twin.Compare();
    for (int i = 0; i < 2002; ++i) twin.Pop();
  }
}

TEST(HostQueue, AFullPoolChangesNothing) {
  BlockSupply supply;
  ChunkPool pool(supply, 1);  // one block
  Twin twin(pool, 1);
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; refused < 50; ++i) {
    const auto depth = static_cast<uint32_t>(random() % 500);
    if (!twin.Append(depth, std::to_string(i) + std::string(random() % 3000, 'y'))) {
      ++refused;
      twin.Compare();
    }
  }
  for (int i = 0; i < 100; ++i) twin.Pop();
  EXPECT_TRUE(twin.Append(0, "what was freed serves again"));
  twin.Compare();
}

}  // namespace
}  // namespace escalona

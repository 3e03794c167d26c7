// The index against a plain list of pairs, with fingerprints made to collide.
#include "frontier/fingerprint_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace escalona {
namespace {

using Reference = FingerprintIndex::Reference;

// All references under a fingerprint: asks Find() with a predicate that never agrees.
std::multiset<Reference> AllUnder(const FingerprintIndex& index, uint32_t fingerprint) {
  std::multiset<Reference> found;
  index.Find(fingerprint, [&](Reference reference) {
    found.insert(reference);
    return false;
  });
  return found;
}

// Random insertions and erasures with fingerprints from `fingerprint(random)`.
template <typename MakeFingerprint>
void CompareWithModel(MakeFingerprint fingerprint, int steps, size_t wanted_size) {
  std::mt19937 random(7);
  FingerprintIndex index;
  std::vector<std::pair<uint32_t, Reference>> pairs;
  std::map<uint32_t, std::multiset<Reference>> model;
  Reference next = 1;
  for (int step = 0; step < steps; ++step) {
    const bool grow = random() % 100 < (pairs.size() < wanted_size ? 70u : 40u);
    if (grow) {
      const uint32_t key = fingerprint(random);
      index.Insert(key, next);
      pairs.emplace_back(key, next);
      model[key].insert(next++);
    } else if (!pairs.empty()) {
      std::swap(pairs[random() % pairs.size()], pairs.back());
      const auto [key, reference] = pairs.back();
      pairs.pop_back();
      index.Erase(key, reference);
      model[key].erase(reference);
    }
    ASSERT_EQ(index.size(), pairs.size());
    const uint32_t asked = pairs.empty() || random() % 2 == 0
                               ? fingerprint(random)
                               : pairs[random() % pairs.size()].first;
    ASSERT_EQ(AllUnder(index, asked), model[asked]) << "step " << step;
    if (step % 1000 == 999) {
      for (const auto& [key, references] : model) ASSERT_EQ(AllUnder(index, key), references);
    }
  }
  for (const auto& [key, reference] : pairs) {
    ASSERT_EQ(index.Find(key, [r = reference](Reference x) { return x == r; }), reference);
    index.Erase(key, reference);
  }
  EXPECT_EQ(index.size(), 0u);
  for (const auto& [key, references] : model) ASSERT_TRUE(AllUnder(index, key).empty());
}

TEST(FingerprintIndex, AgreesWithAModelOnSpreadFingerprints) {
  CompareWithModel([](std::mt19937& random) { return static_cast<uint32_t>(random()); }, 20000,
                   3000);
}

TEST(FingerprintIndex, KeepsAllPairsOfEqualFingerprints) {
  CompareWithModel([](std::mt19937& random) { return static_cast<uint32_t>(random() % 3) << 30; },
                   4000, 80);
}

TEST(FingerprintIndex, SurvivesManyPairsInOneBucket) {
  // Different fingerprints, one home however far the table grows.
  CompareWithModel([](std::mt19937& random) { return 0x50000000u + random() % 64; }, 4000, 100);
}

TEST(FingerprintIndex, WrapsAroundBehindTheLastBucket) {
  CompareWithModel([](std::mt19937& random) { return UINT32_MAX - random() % 16; }, 4000, 60);
}

TEST(FingerprintIndex, WrapsAroundIntoBucketsThatHaveTheirOwn) {
  CompareWithModel(
      [](std::mt19937& random) {
        const uint32_t home = static_cast<uint32_t>(random() % 5) - 2;  // two before the end to two
        return (home << 28) | static_cast<uint32_t>(random() % 4);
      },
      12000, 60);
}

TEST(FingerprintIndex, ZeroIsAFingerprintLikeAnyOther) {
  FingerprintIndex index;
  EXPECT_TRUE(AllUnder(index, 0).empty()) << "an empty index";
  index.Insert(1, 5);
  EXPECT_TRUE(AllUnder(index, 0).empty()) << "empty slots hold zeros";
  index.Insert(0, 9);
  EXPECT_EQ(AllUnder(index, 0), std::multiset<Reference>({9}));
}

TEST(FingerprintIndex, GrowsWithoutLosingAnything) {
  FingerprintIndex index;
  std::mt19937 random(3);
  std::vector<uint32_t> keys(600000);  // the table then grows within pages of its own
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i] = static_cast<uint32_t>(random());
    index.Insert(keys[i], static_cast<Reference>(i + 1));
  }
  ASSERT_EQ(index.size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(index.Find(keys[i], [&](Reference r) { return r == i + 1; }), i + 1);
  }
}

TEST(FingerprintIndex, StopsAtTheFirstThatIsIt) {
  FingerprintIndex index;
  for (Reference i = 1; i <= 30; ++i) index.Insert(42, i);
  int asked = 0;
  const Reference found = index.Find(42, [&](Reference) { return ++asked == 20; });
  EXPECT_NE(found, FingerprintIndex::kNone);
  EXPECT_EQ(asked, 20);
}

TEST(FingerprintIndex, ClearingAndMovingLeaveAnEmptyIndexThatWorks) {
  FingerprintIndex index;
  for (Reference i = 1; i <= 1000; ++i) index.Insert(i << 20, i);
  FingerprintIndex moved = std::move(index);
  EXPECT_EQ(moved.size(), 1000u);
  index = FingerprintIndex();
  EXPECT_TRUE(AllUnder(index, 1 << 20).empty());
  index.Insert(1, 1);
  EXPECT_EQ(index.size(), 1u);
  moved.Clear();
  EXPECT_EQ(moved.size(), 0u);
  EXPECT_TRUE(AllUnder(moved, 1 << 20).empty());
  moved.Insert(1 << 20, 3);
  EXPECT_EQ(AllUnder(moved, 1 << 20), std::multiset<Reference>({3}));
}

}  // namespace
}  // namespace escalona

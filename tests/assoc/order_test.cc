// The counter gives the order of the specification, against two models of it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "escalona/associations.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "order_model.h"

namespace escalona {
namespace {

using assoc_test::ListModel;
using assoc_test::StampModel;
using ::testing::ElementsAre;
using ::testing::Pair;
using Entries = std::vector<std::pair<std::string, uint64_t>>;

int Rounds(int usual) { return std::getenv("ESCALONA_LONG") != nullptr ? usual * 20 : usual; }

Entries ListOf(const AssociationCounter& counter, const std::string& associator) {
  Entries entries;
  counter.ForEachKey(associator, [&](std::string_view key, uint64_t count) {
    entries.emplace_back(key, count);
    return true;
  });
  return entries;
}

void Count(AssociationCounter& counter, const std::string& key, int times = 1) {
  for (int i = 0; i < times; ++i) ASSERT_TRUE(counter.Increment("a", key).ok());
}

TEST(AssociationOrder, AnUnknownKeyGoesToTheVeryEnd) {
  AssociationCounter counter;
  for (const char* key : {"x", "y", "z"}) Count(counter, key);
  EXPECT_THAT(ListOf(counter, "a"), ElementsAre(Pair("x", 1), Pair("y", 1), Pair("z", 1)));
}

TEST(AssociationOrder, AKnownKeyMovesInFrontOfItsNewEquals) {
  AssociationCounter counter;
  for (const char* key : {"x", "y", "z", "y", "z"}) Count(counter, key);
  EXPECT_THAT(ListOf(counter, "a"), ElementsAre(Pair("z", 2), Pair("y", 2), Pair("x", 1)));
}

TEST(AssociationOrder, TheHeadStays) {
  AssociationCounter counter;
  for (const char* key : {"x", "y", "x", "x"}) Count(counter, key);
  EXPECT_THAT(ListOf(counter, "a"), ElementsAre(Pair("x", 3), Pair("y", 1)));
}

TEST(AssociationOrder, ANewKeyOfWeightTwoStandsInFrontOfItsEquals) {
  AssociationCounter counter;
  Count(counter, "x", 2);
  Count(counter, "y");
  ASSERT_TRUE(counter.Increment("a", "z", 2).ok());
  ASSERT_TRUE(counter.Increment("a", "w", 1).ok());
  EXPECT_THAT(ListOf(counter, "a"),
              ElementsAre(Pair("z", 2), Pair("x", 2), Pair("y", 1), Pair("w", 1)));
}

TEST(AssociationOrder, ASaturatedKeyStopsCountingAndMovesToTheFront) {
  AssociationCounter counter({.max_count = AssociationOptions::kSaturate32Bit});
  constexpr uint64_t kMax = 4294967295;
  ASSERT_TRUE(counter.Load("a", std::vector<CountedKey>{{"x", kMax}, {"y", kMax - 1}}).ok());
  EXPECT_EQ(*counter.Increment("a", "y"), kMax);
  EXPECT_THAT(ListOf(counter, "a"), ElementsAre(Pair("y", kMax), Pair("x", kMax)));
  EXPECT_EQ(*counter.Increment("a", "x", 7), kMax);
  EXPECT_THAT(ListOf(counter, "a"), ElementsAre(Pair("x", kMax), Pair("y", kMax)));
}

TEST(AssociationOrder, SixtyFourBitCountsStopAtTheirLimitToo) {
  AssociationCounter counter;
  ASSERT_TRUE(counter.Increment("a", "x", ~uint64_t{0} - 1).ok());
  EXPECT_EQ(*counter.Increment("a", "x", 5), ~uint64_t{0});
}

// How keys look, so that every kind of cell and every change between kinds comes up.
enum class Looks { kGuids, kBytes16, kWords, kMixed, kGuidsThenWords };

std::string KeyNumber(Looks looks, uint32_t number) {
  char text[64];
  switch (looks) {
    case Looks::kGuids:
      std::snprintf(text, sizeof(text), "%08x-aaaa-4bbb-8ccc-%012x", number * 2654435761U, number);
      return text;
    case Looks::kBytes16:
      std::snprintf(text, sizeof(text), "%016u", number);
      return text;
    case Looks::kWords:
      return absl::StrCat("word", number);
    case Looks::kMixed:
      return KeyNumber(static_cast<Looks>(number % 3), number);
    case Looks::kGuidsThenWords:
      return KeyNumber(number < 90 ? Looks::kGuids : Looks::kWords, number);
  }
  return {};
}

struct Play {
  const char* name;
  Looks looks;
  uint32_t keys;  // keys drawn from
  uint64_t max_count;
  uint32_t max_weight;
  int delete_percent;  // of the operations
  bool intern_ids;
};

class RandomPlay : public ::testing::TestWithParam<Play> {};

// One associator; the list is compared as a whole every now and then, each result at once.
TEST_P(RandomPlay, EqualsTheListModel) {
  const Play& play = GetParam();
  for (int seed = 0; seed < Rounds(4); ++seed) {
    std::mt19937 random(seed);
    AssociationCounter counter({.max_count = play.max_count, .intern_ids = play.intern_ids});
    ListModel model(play.max_count);
    uint32_t keys = play.keys;
    for (int step = 0; step < 3000; ++step) {
      // Growing and shrinking phases, so that the threshold is crossed both ways.
      const bool shrinking = play.delete_percent > 0 && (step / 500) % 2 == 1;
      const auto chance = static_cast<int>(random() % 100);
      uint32_t number = random() % keys;
      if (random() % 2 == 0) number = number * (random() % 100) / 100;
      const std::string key = KeyNumber(play.looks, number);
      if (chance < (shrinking ? 80 : play.delete_percent)) {
        ASSERT_EQ(counter.DeletePair("a", key), model.Delete(key)) << step;
      } else {
        const uint32_t weight = random() % 3 == 0 ? 1 + random() % play.max_weight : 1;
        model.Write(key, weight);
        const auto counted = counter.Increment("a", key, weight);
        ASSERT_TRUE(counted.ok());
        ASSERT_EQ(*counted, model.list()[model.Position(key)].second);
      }
      if (step % 50 == 0) {
        ASSERT_EQ(ListOf(counter, "a"), model.list()) << play.name << " seed " << seed;
        const auto standing = counter.CountAndRank("a", key);
        const size_t position = model.Position(key);
        ASSERT_EQ(standing.has_value(), position < model.list().size());
        if (standing) {
          ASSERT_EQ(standing->rank, position + 1);
          ASSERT_EQ(standing->count, model.list()[position].second);
        }
      }
    }
    ASSERT_EQ(ListOf(counter, "a"), model.list());
    uint64_t total = 0;
    for (const auto& entry : model.list()) total += entry.second;
    EXPECT_EQ(counter.TotalsOf("a").pairs, model.list().size());
    EXPECT_EQ(counter.TotalsOf("a").count, total);
    EXPECT_EQ(counter.Totals().count, total);
    EXPECT_EQ(counter.Totals().pairs, model.list().size());
  }
}

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
INSTANTIATE_TEST_SUITE_P(
    Plays, RandomPlay,
    ::testing::Values(Play{"short", Looks::kGuids, 40, kNoLimit, 1, 2, false},
                      Play{"threshold", Looks::kGuids, 200, kNoLimit, 3, 5, false},
                      Play{"long", Looks::kBytes16, 600, kNoLimit, 2, 2, false},
                      Play{"interned", Looks::kGuids, 300, kNoLimit, 4, 5, true},
                      Play{"words", Looks::kWords, 250, kNoLimit, 3, 5, false},
                      Play{"mixed", Looks::kMixed, 250, kNoLimit, 3, 5, false},
                      Play{"becomesmixed", Looks::kGuidsThenWords, 120, kNoLimit, 3, 5, false},
                      Play{"heavyshort", Looks::kGuids, 100, kNoLimit, 300, 2, false},
                      Play{"heavylong", Looks::kGuids, 300, kNoLimit, 100, 2, false},
                      Play{"saturatedshort", Looks::kWords, 60, 4, 3, 2, false},
                      Play{"saturatedlong", Looks::kGuids, 400, 4, 3, 2, false},
                      Play{"saturatedattwo", Looks::kGuids, 300, 2, 3, 5, false}),
    [](const auto& play) { return std::string(play.param.name); });

// Buckets of many chunks, which the list model is too slow for.
TEST(AssociationOrder, LongBucketsEqualTheStampModel) {
  for (int seed = 0; seed < Rounds(3); ++seed) {
    std::mt19937 random(seed);
    AssociationCounter counter;
    StampModel model;
    const uint32_t keys = 5000;
    for (int step = 0; step < 60000; ++step) {
      const std::string key = KeyNumber(Looks::kGuids, random() % keys);
      const bool shrinking = step % 20000 > 17000;
      if (shrinking || random() % 50 == 0) {
        model.Delete(key);
        counter.DeletePair("a", key);
      } else {
        const uint32_t weight = random() % 10 == 0 ? 1 + random() % 3 : 1;
        model.Write(key, weight);
        ASSERT_TRUE(counter.Increment("a", key, weight).ok());
      }
    }
    const Entries expected = model.list();
    ASSERT_EQ(ListOf(counter, "a"), expected);
    for (size_t i = 0; i < expected.size(); i += 37) {
      EXPECT_EQ(counter.CountAndRank("a", expected[i].first)->rank, i + 1);
      const auto page = counter.Top("a", 5, static_cast<int64_t>(i));
      ASSERT_TRUE(page.ok());
      for (size_t j = 0; j < page->size(); ++j) {
        EXPECT_EQ((*page)[j].key, expected[i + j].first);
      }
    }
  }
}

// Thousands of different counts: the walk over buckets gives way to the index of counts.
TEST(AssociationOrder, ManyDifferentCountsEqualTheStampModel) {
  for (int seed = 0; seed < Rounds(3); ++seed) {
    std::mt19937 random(seed);
    AssociationCounter counter;
    StampModel model;
    for (int step = 0; step < 30000; ++step) {
      const std::string key = KeyNumber(Looks::kBytes16, random() % 3000);
      if (random() % 20 == 0) {
        model.Delete(key);
        counter.DeletePair("a", key);
        continue;
      }
      const uint32_t weight = random() % 2 == 0 ? 1 : 1 + random() % 100000;
      model.Write(key, weight);
      ASSERT_TRUE(counter.Increment("a", key, weight).ok());
    }
    ASSERT_EQ(ListOf(counter, "a"), model.list());
  }
}

TEST(AssociationOrder, ABatchEqualsItsItemsOneByOne) {
  std::mt19937 random(7);
  AssociationCounter counter;
  std::map<std::string, ListModel> models;
  for (int round = 0; round < 100; ++round) {
    std::vector<std::pair<std::string, std::string>> names;
    for (int i = 0; i < 150; ++i) {
      names.emplace_back(absl::StrCat("assoc", random() % 5),
                         KeyNumber(Looks::kGuids, random() % 300));
    }
    std::vector<AssociationIncrement> items;
    for (const auto& [associator, key] : names) {
      items.push_back({associator, key, 1 + random() % 2});
      models[associator].Write(key, items.back().weight);
    }
    std::vector<AssociationBatchError> errors;
    ASSERT_EQ(counter.IncrementBatch(items, &errors), items.size());
    ASSERT_TRUE(errors.empty());
  }
  for (const auto& [associator, model] : models) {
    EXPECT_EQ(ListOf(counter, associator), model.list());
  }
}

TEST(AssociationOrder, LoadRestoresTheOrderAndWritesGoOnAsBefore) {
  for (const uint32_t keys : {20U, 130U, 2000U}) {
    std::mt19937 random(keys);
    AssociationCounter counter;
    AssociationCounter restored;
    const auto write = [&](AssociationCounter& to, uint32_t number, uint64_t weight) {
      ASSERT_TRUE(to.Increment("a", KeyNumber(Looks::kMixed, number), weight).ok());
    };
    for (uint32_t i = 0; i < keys * 3; ++i) write(counter, random() % keys, 1 + random() % 3);
    std::vector<CountedKey> list;
    for (auto& [key, count] : ListOf(counter, "a")) list.push_back({key, count});
    ASSERT_TRUE(restored.Load("a", list).ok());
    EXPECT_EQ(restored.Totals().count, counter.Totals().count);
    for (uint32_t i = 0; i < keys; ++i) {
      const uint32_t number = random() % keys;
      write(counter, number, 1);
      write(restored, number, 1);
    }
    EXPECT_EQ(ListOf(restored, "a"), ListOf(counter, "a"));
  }
}

TEST(AssociationOrder, HalvingKeepsThePlacesAndDropsWhatReachesZero) {
  for (const uint32_t keys : {30U, 300U}) {
    std::mt19937 random(keys);
    AssociationCounter counter;
    ListModel model;
    uint64_t age = 0;
    for (int step = 0; step < 4000; ++step) {
      if (step % 700 == 699) {
        const uint64_t times = 1 + random() % 2;
        age += times;
        counter.SetAge(age);
        model.Halve(times);
        if (random() % 2 == 0) {
          ASSERT_EQ(ListOf(counter, "a"), model.list());
        }
      }
      const std::string key = KeyNumber(Looks::kGuids, random() % keys);
      model.Write(key, 1);
      ASSERT_TRUE(counter.Increment("a", key).ok());
    }
    ASSERT_EQ(ListOf(counter, "a"), model.list());
    EXPECT_EQ(counter.Totals().pairs, model.list().size());
    counter.SetAge(age + 64);
    counter.SetAge(age);  // time does not go back
    EXPECT_TRUE(ListOf(counter, "a").empty());
    counter.Settle();
    EXPECT_EQ(counter.Totals().associators, 0);
    EXPECT_EQ(counter.Totals().pairs, 0);
    EXPECT_EQ(counter.Totals().count, 0);
  }
}

}  // namespace
}  // namespace escalona

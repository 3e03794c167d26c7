// What the counter promises besides the order: arguments, deletes, quotas, spellings, memory.
#include <malloc.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "escalona/associations.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace escalona {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> KeysOf(const absl::StatusOr<std::vector<CountedKey>>& top) {
  std::vector<std::string> keys;
  for (const CountedKey& entry : *top) keys.push_back(entry.key);
  return keys;
}

void Fill(AssociationCounter& counter, const std::string& associator,
          const std::vector<std::string>& keys) {
  for (const std::string& key : keys) ASSERT_TRUE(counter.Increment(associator, key).ok());
}

TEST(AssociationCounter, TopGivesAtMostKFromAnOffsetAndAMinimum) {
  AssociationCounter counter;
  Fill(counter, "a", {"x", "x", "x", "y", "y", "z", "w"});
  EXPECT_THAT(KeysOf(counter.Top("a", 2)), ElementsAre("x", "y"));
  EXPECT_THAT(KeysOf(counter.Top("a", 100)), ElementsAre("x", "y", "z", "w"));
  EXPECT_THAT(KeysOf(counter.Top("a", 2, 1)), ElementsAre("y", "z"));
  EXPECT_THAT(KeysOf(counter.Top("a", 9, 0, 2)), ElementsAre("x", "y"));
  EXPECT_THAT(KeysOf(counter.Top("a", 9, 4)), IsEmpty());
  EXPECT_THAT(KeysOf(counter.Top("a", 9, 1000000)), IsEmpty());
  EXPECT_THAT(KeysOf(counter.Top("unknown", 9)), IsEmpty());
}

TEST(AssociationCounter, TopRefusesKBelowOneAndNegativeOffsets) {
  AssociationCounter counter;
  EXPECT_EQ(counter.Top("a", 0).status().message(), "k is 0; it must be at least 1");
  EXPECT_EQ(counter.Top("a", -3).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(counter.Top("a", 1, -1).status().message()), HasSubstr("offset is -1"));
}

TEST(AssociationCounter, RefusesEmptyAndOverlongKeysAndWeightZero) {
  AssociationCounter counter;
  EXPECT_EQ(counter.Increment("", "x").status().message(), "associator is empty");
  EXPECT_EQ(counter.Increment("a", "").status().message(), "key is empty");
  EXPECT_EQ(counter.Increment("a", std::string(1025, 'x')).status().message(),
            "key has 1025 bytes; at most 1024 are allowed");
  EXPECT_EQ(counter.Increment("a", "x", 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(counter.Totals().associators, 0);
  EXPECT_TRUE(counter.Increment(std::string(1024, 'a'), std::string(1024, 'x')).ok());
}

TEST(AssociationCounter, ABatchNamesWhatItRefusedAndDoesTheRest) {
  AssociationCounter counter;
  const std::vector<AssociationIncrement> items = {
      {"a", "x", 1}, {"a", "", 1}, {"a", "y", 2}, {"", "x", 1}, {"a", "x", 0}};
  std::vector<AssociationBatchError> errors;
  EXPECT_EQ(counter.IncrementBatch(items, &errors), 2);
  ASSERT_EQ(errors.size(), 3);
  EXPECT_EQ(errors[0].index, 1);
  EXPECT_EQ(errors[1].index, 3);
  EXPECT_EQ(errors[2].index, 4);
  EXPECT_THAT(KeysOf(counter.Top("a", 9)), ElementsAre("y", "x"));
  EXPECT_EQ(counter.IncrementBatch(items, nullptr), 2);
}

TEST(AssociationCounter, EverySpellingIsGivenBackAsItWasWritten) {
  const std::vector<std::string> keys = {
      "0123abcd-4567-89ab-cdef-0123456789ab",    // packed
      "0123ABCD-4567-89AB-CDEF-0123456789AB",    // packed, another key
      "0123Abcd-4567-89ab-cdef-0123456789ab",    // mixed case
      "{0123abcd-4567-89ab-cdef-0123456789ab}",  // braces
      "0123abcd456789abcdef0123456789ab",        // no hyphens
      "00000000-0000-0000-0000-000000000000",    // digits only
      "0123abcd-4567-89ab-cdef-0123456789ag",    // not hexadecimal
      std::string("\x01\x23\xab\xcd\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab", 16),
      std::string("\0zero\0", 6),
      "\xC3\xA9t\xC3\xA9",
      "x"};
  for (const bool intern_ids : {false, true}) {
    AssociationCounter counter({.intern_ids = intern_ids});
    Fill(counter, "a", keys);
    EXPECT_THAT(KeysOf(counter.Top("a", 100)), ::testing::ElementsAreArray(keys));
    for (const std::string& key : keys) {
      Fill(counter, key, {"x"});  // as an associator
      EXPECT_EQ(counter.CountAndRank("a", key)->count, 1);
    }
    std::set<std::string> associators;
    counter.ForEachAssociator([&](std::string_view name) {
      EXPECT_TRUE(associators.emplace(name).second);
      return true;
    });
    EXPECT_EQ(associators.size(), keys.size() + 1);
    for (const std::string& key : keys) EXPECT_EQ(associators.count(key), 1);
  }
}

TEST(AssociationCounter, ADeletedAssociatorStartsAtOneAgain) {
  AssociationCounter counter;
  Fill(counter, "a", {"x", "x", "y"});
  EXPECT_EQ(counter.DeleteAssociator("a"), 2);
  EXPECT_EQ(counter.DeleteAssociator("a"), 0);
  EXPECT_THAT(KeysOf(counter.Top("a", 9)), IsEmpty());
  EXPECT_EQ(*counter.Increment("a", "x"), 1);
}

TEST(AssociationCounter, AnAssociatorGoesWithItsLastPair) {
  AssociationCounter counter;
  Fill(counter, "a", {"x"});
  EXPECT_TRUE(counter.DeletePair("a", "x"));
  EXPECT_FALSE(counter.DeletePair("a", "x"));
  EXPECT_EQ(counter.Totals().associators, 0);
}

TEST(AssociationCounter, AKeyIsDeletedEverywhere) {
  AssociationCounter counter;
  for (int i = 0; i < 500; ++i) {
    Fill(counter, absl::StrCat("a", i), {"x"});
    if (i % 5 == 0) Fill(counter, absl::StrCat("a", i), {"gone", "gone"});
  }
  Fill(counter, "only", {"gone"});
  EXPECT_EQ(counter.DeleteKeyEverywhere("gone"), 101);
  EXPECT_EQ(counter.DeleteKeyEverywhere("gone"), 0);
  EXPECT_EQ(counter.Totals().associators, 500);
  EXPECT_EQ(counter.Totals().pairs, 500);
  EXPECT_EQ(counter.Totals().count, 500);
}

TEST(AssociationCounter, TheQuotaRefusesNewPairsAndGoesOnCounting) {
  AssociationCounter counter({.max_pairs = 2});
  Fill(counter, "a", {"x", "y"});
  EXPECT_EQ(counter.Increment("a", "z").status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(counter.Increment("b", "z").status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(*counter.Increment("a", "x"), 2);
  EXPECT_EQ(counter.Totals().associators, 1);
  EXPECT_EQ(counter.Totals().pairs, 2);
  EXPECT_TRUE(counter.DeletePair("a", "y"));
  EXPECT_TRUE(counter.Increment("b", "z").ok());
}

TEST(AssociationCounter, LoadRefusesWhatIsNoListAndChangesNothing) {
  AssociationCounter counter({.max_count = 100});
  Fill(counter, "a", {"x"});
  const auto refused = [&](const std::vector<CountedKey>& list) {
    return counter.Load("a", list).code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused({{"p", 1}, {"q", 2}}));
  EXPECT_TRUE(refused({{"p", 2}, {"p", 1}}));
  EXPECT_TRUE(refused({{"p", 0}}));
  EXPECT_TRUE(refused({{"p", 101}}));
  EXPECT_TRUE(refused({{"", 1}}));
  EXPECT_THAT(KeysOf(counter.Top("a", 9)), ElementsAre("x"));
  EXPECT_TRUE(counter.Load("a", {}).ok());
  EXPECT_EQ(counter.Totals().associators, 0);
}

TEST(AssociationCounter, ExtractTakesTheListAway) {
  AssociationCounter counter;
  Fill(counter, "a", {"x", "y", "y"});
  EXPECT_THAT(counter.Extract("a"), ElementsAre(CountedKey{"y", 2}, CountedKey{"x", 1}));
  EXPECT_THAT(counter.Extract("a"), IsEmpty());
  EXPECT_EQ(counter.Totals().count, 0);
}

TEST(AssociationCounter, ColdAssociatorsAreThoseNobodyTouched) {
  AssociationCounter counter;
  for (const char* name : {"a", "b", "c"}) Fill(counter, name, {"x"});
  EXPECT_THAT(counter.ColdAssociators(0), IsEmpty());
  EXPECT_THAT(counter.ColdAssociators(3), UnorderedElementsAre("a", "b", "c"));
  ASSERT_TRUE(counter.Top("b", 1).ok());
  std::set<std::string> cold;
  for (const std::string& name : counter.ColdAssociators(2)) cold.insert(name);
  EXPECT_EQ(cold.count("b"), 0);
}

std::string Guid(uint32_t number) {
  char text[40];
  std::snprintf(text, sizeof(text), "%08x-1111-4222-8333-%012x", number * 2654435761U, number);
  return text;
}

TEST(AssociationCounter, GivesBackAllMemoryAfterDeletes) {
  AssociationCounter counter;
  const size_t empty = counter.MemoryBytes();
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < 60000; ++i) {
      Fill(counter, absl::StrCat("a", i % 20), {Guid(i), absl::StrCat("word", i % 7000)});
    }
    EXPECT_GT(counter.MemoryBytes(), empty + 1000000);
    for (int i = 0; i < 20; ++i) counter.DeleteAssociator(absl::StrCat("a", i));
    EXPECT_EQ(counter.Totals().pairs, 0);
    EXPECT_LT(counter.MemoryBytes(), empty + 10000);  // tables of the directory stay
  }
}

TEST(AssociationCounter, TheMemoryFigureIsWhatMallocSays) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(ESCALONA_SANITIZED)
  GTEST_SKIP() << "the sanitizer replaces malloc";
#endif
  std::vector<std::string> keys;
  for (uint32_t i = 0; i < 200000; ++i) keys.push_back(Guid(i));
  const auto before = mallinfo2();
  AssociationCounter counter;
  for (uint32_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(counter.Increment(keys[i % 1000], keys[i]).ok());
    ASSERT_TRUE(counter.Increment("long", keys[i / 2]).ok());
  }
  const auto after = mallinfo2();
  const double heap =
      static_cast<double>(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd);
  EXPECT_NEAR(static_cast<double>(counter.MemoryBytes()) / heap, 1.0, 0.02);
}

}  // namespace
}  // namespace escalona

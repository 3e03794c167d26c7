// What is stored comes back, and what is not a record is refused.
#include "assoc/record.h"

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace escalona::assoc {
namespace {

std::string Id(uint64_t number) {
  std::string id(16, '\0');
  std::mt19937_64 random(number);
  for (char& c : id) c = static_cast<char>(random());
  return id;
}

TEST(AssociationRecord, ComesBackAsItWas) {
  const std::vector<std::vector<CountedKey>> lists = {
      {},
      {{"x", 1}},
      {{"x", ~uint64_t{0}}, {"0123abcd-4567-89ab-cdef-0123456789ab", 7}, {Id(1), 7}, {"y", 1}},
      {{"0123abcd-4567-89ab-cdef-0123456789ab", 2}, {"0123abcd-4567-89ab-cdef-0123456789ac", 2}},
      {{"0123ABCD-4567-89AB-CDEF-0123456789AB", 300}, {std::string(1024, 'z'), 1}}};
  for (const auto& list : lists) {
    const std::string bytes = EncodeList({.sequence = 1234567, .age = 3, .list = list});
    const auto record = DecodeList(bytes);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(record->sequence, 1234567);
    EXPECT_EQ(record->age, 3);
    EXPECT_EQ(record->list, list);
  }
}

TEST(AssociationRecord, TakesSeventeenBytesAPair) {
  std::vector<CountedKey> list;
  for (uint64_t i = 0; i < 100; ++i) list.push_back({Id(i), 200 - i});
  EXPECT_LE(EncodeList({.sequence = 1'000'000'000, .age = 0, .list = list}).size(), 100 * 17 + 20);
}

TEST(AssociationRecord, EveryCutIsRefused) {
  const std::string bytes =
      EncodeList({.sequence = 300, .age = 1, .list = {{"x", 5}, {Id(1), 3}, {"yy", 3}}});
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(DecodeList(bytes.substr(0, size)).status().code(), absl::StatusCode::kDataLoss);
  }
  EXPECT_FALSE(DecodeList(bytes + "x").ok());
}

}  // namespace
}  // namespace escalona::assoc

// The parts the frontier is made of, each beside something plain.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "frontier/known_urls.h"
#include "frontier/ready_tree.h"
#include "frontier/stored.h"
#include "frontier/url_hash.h"
#include "frontier/waiting.h"
#include "gtest/gtest.h"

namespace escalona::frontier {
namespace {

TEST(SipHashTest, IsTheOneOfItsAuthors) {
  // Key 00 01 ... 0f; the empty text, and the text 00 01 ... 0e.
  const HashKey key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  EXPECT_EQ((SipHash<2, 4>(key, "")),
            (std::array<uint64_t, 2>{0xe6a825ba047f81a3, 0x930255c71472f66d}));
  std::string text;
  for (char c = 0; c < 15; ++c) text.push_back(c);
  EXPECT_EQ((SipHash<2, 4>(key, text)),
            (std::array<uint64_t, 2>{0x11a8b03399e99354, 0xd9c3cf970fec087e}));
}

TEST(FingerprintTest, DependsOnKeyQueueAndUrl) {
  const Fingerprint one = FingerprintOf({1, 2}, 3, "u");
  EXPECT_EQ(one, FingerprintOf({1, 2}, 3, "u"));
  EXPECT_NE(one, FingerprintOf({1, 3}, 3, "u"));
  EXPECT_NE(one, FingerprintOf({1, 2}, 4, "u"));
  EXPECT_NE(one, FingerprintOf({1, 2}, 3, "v"));
  EXPECT_EQ(one, Fingerprint::Of(one.bytes()));
}

TEST(KnownUrlsTest, FindsWhatWasInsertedAndNotErased) {
  KnownUrls known(64 << 20);
  std::mt19937 random(1);
  std::set<std::string> model;
  for (int i = 0; i < 200'000; ++i) {
    const std::string url = std::to_string(random() % 60'000);
    const Fingerprint fingerprint = FingerprintOf({}, 1, url);
    if (random() % 3 == 0) {
      known.Erase(fingerprint);
      model.erase(url);
    } else {
      known.Insert(fingerprint);
      model.insert(url);
    }
    const std::string other = std::to_string(random() % 60'000);
    ASSERT_EQ(known.Contains(FingerprintOf({}, 1, other)), model.contains(other));
  }
  EXPECT_FALSE(known.has_forgotten());
}

TEST(KnownUrlsTest, ForgetsNothingBeforeItIsFull) {
  KnownUrls known(16 << 20);
  for (int i = 0; i < 1'000'000; ++i) known.Insert(FingerprintOf({}, 1, std::to_string(i)));
  EXPECT_FALSE(known.has_forgotten());
  for (int i = 0; i < 1'000'000; i += 7) {
    ASSERT_TRUE(known.Contains(FingerprintOf({}, 1, std::to_string(i))));
  }
}

TEST(KnownUrlsTest, ForgetsWhenItIsFullAndNeverInvents) {
  KnownUrls known(1 << 20);
  for (int i = 0; i < 200'000; ++i) known.Insert(FingerprintOf({}, 1, std::to_string(i)));
  EXPECT_TRUE(known.has_forgotten());
  EXPECT_LE(known.MemoryBytes(), 1 << 20);
  int found = 0;
  for (int i = 0; i < 200'000; ++i) {
    found += known.Contains(FingerprintOf({}, 1, std::to_string(i))) ? 1 : 0;
    ASSERT_FALSE(known.Contains(FingerprintOf({}, 2, std::to_string(i))));
  }
  EXPECT_GT(found, 20'000);
}

TEST(ReadyTreeTest, FindsTheFirstBelowAGate) {
  std::mt19937 random(1);
  std::vector<ReadyNode> nodes(300);
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i].weight = static_cast<uint32_t>(random());
  ReadyTree tree;
  std::set<size_t> in;
  for (int step = 0; step < 50'000; ++step) {
    const size_t i = random() % nodes.size();
    ReadyNode& node = nodes[i];
    if (node.in_tree) {
      tree.Erase(node);
      in.erase(i);
    } else {
      node.order = {random() % 50, i};
      node.gate = static_cast<uint32_t>(random() % 20);
      tree.Insert(node);
      in.insert(i);
    }
    const auto gate = static_cast<uint32_t>(random() % 22);
    const ReadyNode* expected = nullptr;
    uint32_t least = UINT32_MAX;
    for (size_t k : in) {
      least = std::min(least, nodes[k].gate);
      if (nodes[k].gate >= gate) continue;
      if (expected == nullptr || nodes[k].order < expected->order) expected = &nodes[k];
    }
    ASSERT_EQ(tree.First(gate), expected);
    ASSERT_EQ(tree.least(), least);
  }
}

TEST(WaitingHeapTest, KnowsTheEarliest) {
  std::mt19937 random(1);
  std::vector<Waiter> waiters(300);
  WaitingHeap heap;
  for (int step = 0; step < 50'000; ++step) {
    Waiter& waiter = waiters[random() % waiters.size()];
    if (waiter.heap_place == Waiter::kNowhere) {
      heap.Insert(waiter, static_cast<int64_t>(random() % 1000));
    } else {
      heap.Erase(waiter);
    }
    int64_t earliest = INT64_MAX;
    size_t count = 0;
    for (const Waiter& one : waiters) {
      if (one.heap_place == Waiter::kNowhere) continue;
      earliest = std::min(earliest, heap.WakeOf(one));
      ++count;
    }
    ASSERT_EQ(heap.empty(), count == 0);
    ASSERT_EQ(heap.All().size(), count);
    if (count == 0) continue;
    ASSERT_EQ(heap.earliest(), earliest);
  }
}

TEST(StoredTest, RecordsComeBackAndEveryCutIsRefused) {
  const QueueRecord record = {.scheduled = 3,
                              .completed = 1000,
                              .next_due = kNever,
                              .arrivals = 7,
                              .delay = kUnset,
                              .blocked_until = 1'700'000'000'000,
                              .limit = 5,
                              .last_served = 0,
                              .turn = 99,
                              .group_until = 12};
  std::string bytes;
  Encode(record, "key", "10.0.0.1", bytes);
  QueueRecord back;
  std::string_view key;
  std::string_view address;
  ASSERT_TRUE(Decode(bytes, back, key, address));
  EXPECT_EQ(back.completed, 1000);
  EXPECT_EQ(back.next_due, kNever);
  EXPECT_EQ(back.delay, kUnset);
  EXPECT_EQ(back.last_served, 0);
  EXPECT_EQ(key, "key");
  EXPECT_EQ(address, "10.0.0.1");
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Decode(std::string_view(bytes).substr(0, size), back, key, address));
  }
  EXPECT_FALSE(Decode(bytes + "x", back, key, address));
}

TEST(StoredTest, KeysOfPlacesAreInTheOrderOfServing) {
  std::vector<std::string> keys;
  for (const Place place : {Place{UrlClass::kDepth, 5}, Place{UrlClass::kDepth, uint64_t{1} << 48},
                            Place{UrlClass::kDate, 0}, Place{UrlClass::kDate, 255},
                            Place{UrlClass::kDate, 256}, Place{UrlClass::kCompleted, 0}}) {
    for (const char* url : {"", "a", "b"}) {
      std::string key = QueueKey(Kind::kPlace, {1, 2});
      AppendPlace(place, key);
      keys.push_back(key.append(url));
      PlaceKey parts;
      ASSERT_TRUE(DecodePlaceKey(keys.back(), parts));
      EXPECT_EQ(parts.place, place);
      EXPECT_EQ(parts.url, url);
      EXPECT_EQ(parts.id.queue, 2);
    }
  }
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_LT(keys.back(), QueueKey(Kind::kPlace, {1, 3}));
}

}  // namespace
}  // namespace escalona::frontier

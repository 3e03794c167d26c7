// Event ids in the store: the newest of a window, in their order, whatever happens in between.
#include "assoc/stored_events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace escalona::assoc {
namespace {

std::vector<EventId> Stored(store::Store& store) {
  std::vector<EventId> ids;
  EXPECT_TRUE(StoredEvents(store, "E").Load([&](const EventId& id) { ids.push_back(id); }).ok());
  return ids;
}

std::vector<EventId> Newest(std::vector<EventId> ids, size_t count) {
  ids.erase(ids.begin(), ids.end() - static_cast<ptrdiff_t>(std::min(count, ids.size())));
  return ids;
}

uint64_t Rows(store::Store& store) {
  uint64_t rows = 0;
  EXPECT_TRUE(store
                  .ScanPrefix("E",
                              [&](std::string_view, std::string_view) {
                                ++rows;
                                return true;
                              })
                  .ok());
  return rows;
}

TEST(StoredEvents, EqualsAListOfTheNewestIds) {
  std::mt19937 random(1);
  const auto store = store::NewMemoryStore();
  auto events = std::make_unique<StoredEvents>(*store, "E");
  std::vector<EventId> model;                            // saved
  std::vector<std::pair<uint64_t, EventId>> in_the_log;  // and not saved
  uint64_t number = 0;
  size_t capacity = 60;
  for (int i = 0; i < 3000; ++i) {
    const auto chance = random() % 20;
    if (chance == 0) capacity = random() % 100;
    if (chance < 14) {
      in_the_log.push_back({number += 1 + random() % 3, {random(), random()}});
      events->Note(in_the_log.back().first, in_the_log.back().second);
    } else if (chance < 17) {
      // A checkpoint; now and then one that fails.
      const uint64_t upto = number - std::min<uint64_t>(number, random() % 10);
      store::Batch batch;
      events->Save(upto, capacity, batch);
      if (random() % 4 == 0) continue;
      ASSERT_TRUE(store->Write(batch, store::Reach::kOs).ok());
      events->Saved();
      const auto end = std::partition_point(in_the_log.begin(), in_the_log.end(),
                                            [&](const auto& one) { return one.first <= upto; });
      for (auto at = in_the_log.begin(); at != end; ++at) model.push_back(at->second);
      in_the_log.erase(in_the_log.begin(), end);
      model = Newest(model, capacity);
      ASSERT_EQ(Newest(Stored(*store), model.size()), model);
      ASSERT_LE(Rows(*store), capacity);
    } else if (chance == 17) {
      // A restart; the log is read again.
      events = std::make_unique<StoredEvents>(*store, "E");
      ASSERT_TRUE(events->Load([](const EventId&) {}).ok());
      for (const auto& [at, id] : in_the_log) events->Note(at, id);
    }
  }
}

TEST(StoredEvents, ManyIdsAreSeveralRowsAndNotedInAnyOrder) {
  const auto store = store::NewMemoryStore();
  StoredEvents events(*store, "E");
  for (uint64_t number = 10000; number > 0; --number) events.Note(number, {number, 0});
  store::Batch batch;
  events.Save(10000, 9000, batch);
  ASSERT_TRUE(store->Write(batch, store::Reach::kOs).ok());
  events.Saved();
  EXPECT_EQ(Rows(*store), 3);
  const std::vector<EventId> ids = Stored(*store);
  ASSERT_EQ(ids.size(), 9000);
  for (uint64_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i], (EventId{1001 + i, 0}));
}

TEST(StoredEvents, ABrokenRowIsSaidToBeBroken) {
  for (const auto& [key, value] :
       {std::pair<const char*, const char*>{"E12345678", "fifteen bytes.."},
        {"E1234567", "sixteen bytes!!!"},
        {"E123456789", "sixteen bytes!!!"},
        {"E12345678", ""}}) {
    const auto store = store::NewMemoryStore();
    store::Batch batch;
    batch.Put(key, value);
    ASSERT_TRUE(store->Write(batch, store::Reach::kOs).ok());
    const absl::Status status = StoredEvents(*store, "E").Load([](const EventId&) {});
    EXPECT_TRUE(absl::IsDataLoss(status)) << key << " " << status;
  }
}

}  // namespace
}  // namespace escalona::assoc

#include "frontier/record_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>
#include <vector>

namespace escalona {
namespace {

std::string RandomText(std::mt19937& random) {
  const size_t sizes[] = {
      0, 1, 2, 3, 20, 30, 40, 50, 200, 5000, Record::kMaxInline, Record::kMaxInline + 1, 100000};
  const size_t which = random() % 100;
  const size_t size = which < 95 ? which % 60 : sizes[random() % std::size(sizes)];
  std::string text(size, 'x');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

std::vector<std::string> Contents(const RecordQueue& queue, const ChunkPool& pool) {
  std::vector<std::string> texts;
  queue.ForEach(pool,
                [&](ChunkPool::Reference at) { texts.emplace_back(Record::At(pool, at).text()); });
  return texts;
}

TEST(RecordQueue, GivesTextsBackInTheOrderTheyCame) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    BlockSupply supply;
    ChunkPool pool(supply);
    // Several queues share the pool, so that a chunk freed by one is used by another.
    std::vector<RecordQueue> queues(5);
    std::vector<std::deque<std::string>> models(5);
    for (int step = 0; step < 5000; ++step) {
      const size_t i = random() % queues.size();
      const bool grow = random() % 100 < (step / 1000 % 2 == 0 ? 70 : 35);
      if (grow) {
        models[i].push_back(RandomText(random));
        ASSERT_NE(
            queues[i].Append(pool, static_cast<uint32_t>(i), models[i].back(), random() % 2 == 0),
            ChunkPool::kNone);
      } else if (!models[i].empty()) {
        const Record& front = Record::At(pool, queues[i].Front(pool));
        ASSERT_EQ(front.text(), models[i].front());
        ASSERT_EQ(front.owner, i);
        queues[i].PopFront(pool);
        models[i].pop_front();
      }
      ASSERT_EQ(queues[i].empty(), models[i].empty());
      if (step % 500 == 0) {
        ASSERT_EQ(Contents(queues[i], pool),
                  std::vector<std::string>(models[i].begin(), models[i].end()));
      }
    }
    for (RecordQueue& queue : queues) queue.Clear(pool);
  }
}

TEST(RecordQueue, RefusesWhenThePoolIsFullAndKeepsWhatItHas) {
  BlockSupply supply;
  ChunkPool pool(supply, 1);  // one block
  RecordQueue queue;
  const std::string text(1000, 'a');
  size_t count = 0;
  while (queue.Append(pool, 0, text, false) != ChunkPool::kNone) ++count;
  EXPECT_GT(count, 1500u);
  EXPECT_EQ(Contents(queue, pool), std::vector<std::string>(count, text));
  queue.Clear(pool);
  EXPECT_TRUE(queue.empty());
  EXPECT_NE(queue.Append(pool, 0, text, false), ChunkPool::kNone) << "freed chunks serve again";
  queue.Clear(pool);
}

TEST(RecordQueue, ATextThatStaysIsNotCopiedUnlessItIsShort) {
  BlockSupply supply;
  ChunkPool pool(supply);
  RecordQueue queue;
  for (const size_t size : {size_t{0}, size_t{5}, size_t{18}, size_t{19}, size_t{500},
                            size_t{UINT16_MAX}, size_t{UINT16_MAX} + 1}) {
    const std::string text(size, 'a');
    const Record& record = Record::At(pool, queue.Append(pool, 7, text, true));
    EXPECT_EQ(record.text(), text);
    EXPECT_EQ(record.text().data() == text.data(), size > 18 && size <= UINT16_MAX) << size;
    queue.Clear(pool);
  }
}

}  // namespace
}  // namespace escalona

// What stands in the store fits together, and what does not is found: by `escalona store check`,
// and on opening, with an error that says what is wrong.
#include "frontier/check.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "escalona/frontier.h"
#include "frontier/core.h"
#include "frontier/stored.h"
#include "frontier_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "store/store.h"

namespace escalona {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class FrontierCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto frontier = Open();
    ASSERT_TRUE(frontier.ok()) << frontier.status();
    std::vector<std::string> texts;
    for (int i = 0; i < 40; ++i) {
      texts.push_back("http://h" + std::to_string(i % 4) + "/" + std::to_string(i));
    }
    std::vector<FrontierPut> items;
    for (size_t i = 0; i < texts.size(); ++i) {
      items.push_back({.url = texts[i],
                       .crawl = i % 2 == 0 ? "" : "c",
                       .kind = static_cast<PutKind>(i % 3),
                       .date = clock_.Now()});
    }
    (*frontier)->Put(items);
    ASSERT_EQ(*(*frontier)->Get({.max_urls_per_queue = 2}, [](const LeasedUrl&) {}), 8);
    ASSERT_TRUE((*frontier)->SetDelay("c", "told", absl::Seconds(3)).ok());
  }

  absl::StatusOr<std::unique_ptr<Frontier>> Open() {
    return Frontier::Open(folder_.path(), {}, clock_);
  }
  std::unique_ptr<store::Store> Store() { return *store::OpenRocksStore(folder_.path()); }
  void Write(const store::Batch& batch) {
    ASSERT_TRUE(Store()->Write(batch, store::Reach::kOs).ok());
  }
  // The first key of a kind, and its value.
  std::pair<std::string, std::string> First(frontier::Kind kind) {
    std::pair<std::string, std::string> first;
    EXPECT_TRUE(Store()
                    ->ScanPrefix(std::string(1, static_cast<char>(kind)),
                                 [&](std::string_view key, std::string_view value) {
                                   first = {std::string(key), std::string(value)};
                                   return false;
                                 })
                    .ok());
    return first;
  }
  std::vector<std::string> Findings() {
    std::vector<std::string> findings;
    const auto store = Store();
    const auto counts =
        frontier::CheckStore(*store, [&](const std::string& what) { findings.push_back(what); });
    if (!counts.ok()) findings.emplace_back(counts.status().message());
    return findings;
  }
  void Delete(frontier::Kind kind) {
    store::Batch batch;
    batch.Delete(First(kind).first);
    Write(batch);
  }
  int Program(const std::string& command) {
    return WEXITSTATUS(std::system((std::string(ESCALONA_PROGRAM) + " store " + command + " " +
                                    folder_.path() + " >" + folder_.path() + "/out 2>&1")
                                       .c_str()));
  }
  std::string Output() {
    std::ifstream file(folder_.path() + "/out");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TestFolder folder_;
  VirtualClock clock_{absl::FromUnixSeconds(1'700'000'000)};
};

TEST_F(FrontierCheckTest, ASoundStoreHasNoFindingsAndItsCounts) {
  EXPECT_THAT(Findings(), IsEmpty());
  const auto store = Store();
  const auto counts = *frontier::CountStore(*store);
  EXPECT_EQ(counts.crawls, 2);
  EXPECT_EQ(counts.queues, 4);
  EXPECT_EQ(counts.told, 1);
  EXPECT_EQ(counts.scheduled, 27);
  EXPECT_EQ(counts.completed, 13);
  EXPECT_EQ(counts.leases, 8);
}

TEST_F(FrontierCheckTest, ALostRecordIsFound) {
  for (const frontier::Kind kind : {frontier::Kind::kPlace, frontier::Kind::kFinger}) {
    const auto [key, value] = First(kind);
    Delete(kind);
    EXPECT_THAT(Findings(), Not(IsEmpty()));
    store::Batch mended;
    mended.Put(key, value);
    Write(mended);
    EXPECT_THAT(Findings(), IsEmpty());
  }
}

TEST_F(FrontierCheckTest, ALostQueueIsFoundAndRefused) {
  Delete(frontier::Kind::kQueue);
  EXPECT_THAT(Findings(), Not(IsEmpty()));
  const auto opened = Open();
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("the queue of a lease is missing"));
}

TEST_F(FrontierCheckTest, ALostCrawlIsFoundAndRefused) {
  Delete(frontier::Kind::kCrawl);
  EXPECT_THAT(Findings(), Not(IsEmpty()));
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(FrontierCheckTest, AWrongCountIsFound) {
  ASSERT_TRUE(Open().ok());  // which leaves nothing in the journal
  EXPECT_EQ(First(frontier::Kind::kJournal).first, "");
  const auto [key, value] = First(frontier::Kind::kQueue);
  std::string changed = value;
  ++changed[1];
  store::Batch batch;
  batch.Put(key, changed);
  Write(batch);
  EXPECT_THAT(Findings(), ElementsAre(HasSubstr("scheduled")));
}

TEST_F(FrontierCheckTest, ALostRecordOfTheJournalIsFound) {
  const FrontierPut put = {.url = "http://h0/more"};
  ASSERT_THAT((*Open())->Put({&put, 1}), ElementsAre(PutStatus::kOk));
  Delete(frontier::Kind::kJournal);
  EXPECT_THAT(Findings(), Not(IsEmpty()));
}

TEST_F(FrontierCheckTest, RecordsThatCannotBeReadAreFoundAndRefused) {
  for (const frontier::Kind kind :
       {frontier::Kind::kJournal, frontier::Kind::kLease, frontier::Kind::kQueue,
        frontier::Kind::kCrawl, frontier::Kind::kTold}) {
    const auto [key, value] = First(kind);
    store::Batch batch;
    batch.Put(key, "\x7F damage");
    Write(batch);
    EXPECT_THAT(Findings(), Not(IsEmpty()));
    const auto opened = Open();
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kDataLoss) << static_cast<char>(kind);
    store::Batch mended;
    mended.Put(key, value);
    Write(mended);
  }
  EXPECT_TRUE(Open().ok());
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(FrontierCheckTest, AStoreWithoutItsFirstRecordIsRefusedNotReset) {
  Delete(frontier::Kind::kMeta);
  const auto opened = Open();
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("missing"));
  EXPECT_THAT(Findings(), Not(IsEmpty()));
}

TEST_F(FrontierCheckTest, ANewerFormatIsRefused) {
  frontier::MetaRecord meta;
  meta.version = frontier::kFormatVersion + 1;
  store::Batch batch;
  batch.Put(frontier::MetaKey(), frontier::Encode(meta) + "of tomorrow");
  Write(batch);
  const auto opened = Open();
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr("format 3"));
}

TEST_F(FrontierCheckTest, TheJournalIsFoldedWhileItGrows) {
  {
    auto frontier = *Frontier::Open(folder_.path(), {.journal_changes = 8}, clock_);
    for (int i = 0; i < 100; ++i) {
      const std::string url = "http://h" + std::to_string(i % 4) + "/new" + std::to_string(i);
      const FrontierPut put = {.url = url, .crawl = i % 2 == 0 ? "" : "c"};
      ASSERT_THAT(frontier->Put({&put, 1}), ElementsAre(PutStatus::kOk));
      if (i != 50) continue;
      ASSERT_GT(*frontier->DeleteQueue("", "h0"), 0);  // it may be in the journal
    }
  }
  int records = 0;
  ASSERT_TRUE(Store()
                  ->ScanPrefix(std::string(1, static_cast<char>(frontier::Kind::kJournal)),
                               [&](std::string_view, std::string_view) { return ++records > 0; })
                  .ok());
  EXPECT_GT(records, 0);
  EXPECT_LE(records, 8);
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(FrontierCheckTest, TheJournalIsFoldedIfNothingIsPutOrServed) {
  const auto records = [this] {
    int count = 0;
    EXPECT_TRUE(Store()
                    ->ScanPrefix(std::string(1, static_cast<char>(frontier::Kind::kJournal)),
                                 [&](std::string_view, std::string_view) { return ++count > 0; })
                    .ok());
    return count;
  };
  {
    auto frontier = *Frontier::Open(folder_.path(), {.journal_changes = 8}, clock_);
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(frontier->SetDelay("", "h0", absl::Seconds(i)).ok());
    }
  }
  EXPECT_LE(records(), 8);
  {
    auto frontier = *Frontier::Open(folder_.path(), {.journal_changes = 1}, clock_);
    ASSERT_GT(*frontier->Purge("", std::nullopt, absl::InfiniteFuture()), 0);
  }
  EXPECT_EQ(records(), 0);
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(FrontierCheckTest, AQueueThatCannotBeReadIsPutAsideAndOthersAreServed) {
  store::Batch batch;
  batch.Put(First(frontier::Kind::kPlace).first, "damaged");  // of queue h0
  Write(batch);
  clock_.Advance(absl::Hours(1));
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& what) { warnings.push_back(what); };
  auto frontier = *Frontier::Open(folder_.path(), {.warn = warn}, clock_);
  for (int i = 0; i < 3; ++i) {
    std::vector<std::string> keys;
    const auto served = frontier->Get({.max_urls_per_queue = 1},
                                      [&](const LeasedUrl& url) { keys.emplace_back(url.key); });
    EXPECT_TRUE(served.ok()) << served.status();
    EXPECT_THAT(keys, UnorderedElementsAre("h1", "h2", "h3"));
    clock_.Advance(absl::Hours(1));
  }
  EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("queue h0 of crawl DEFAULT"),
                                          HasSubstr("put aside"), HasSubstr("damaged"))));
  EXPECT_EQ(frontier->Stats("", std::nullopt).damaged_queues, 1);
  EXPECT_EQ(frontier->Stats("", "h0").damaged_queues, 1);
  EXPECT_EQ(frontier->Stats("c", std::nullopt).damaged_queues, 0);
  const auto why = frontier->Explain("", "", "http://h0/4");
  ASSERT_TRUE(why.ok()) << why.status();
  EXPECT_THAT(why->reasons, ElementsAre(Explanation::Reason::kDamaged));
  EXPECT_EQ(why->when, absl::InfiniteFuture());
  EXPECT_EQ(*frontier->Get({.key = "h0", .crawl = ""}, [](const LeasedUrl&) {}), 0);
  ASSERT_EQ(*frontier->DeleteQueue("", "h0"), 10);
  EXPECT_EQ(frontier->Stats(std::nullopt, std::nullopt).damaged_queues, 0);
  const FrontierPut put = {.url = "http://h0/again"};
  frontier->Put({&put, 1});
  EXPECT_EQ(*frontier->Get({.key = "h0", .crawl = ""}, [](const LeasedUrl&) {}), 1);
  frontier.reset();
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(FrontierCheckTest, TheFormatWithoutAJournalIsTakenOver) {
  ASSERT_TRUE(Open().ok());
  frontier::MetaRecord meta;
  ASSERT_TRUE(frontier::Decode(First(frontier::Kind::kMeta).second, meta));
  meta.version = 1;
  store::Batch batch;
  batch.Put(frontier::MetaKey(), frontier::Encode(meta));
  Write(batch);
  EXPECT_THAT(Findings(), IsEmpty());
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(frontier::Decode(First(frontier::Kind::kMeta).second, meta));
  EXPECT_EQ(meta.version, 2);
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(FrontierCheckTest, DamageInAFileIsADataLossNotAReset) {
  Store()->Compact().IgnoreError();
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    if (file.path().extension() != ".sst") continue;
    std::fstream table(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    for (int at = 0; at < 300; at += 7) {
      table.seekp(at);
      table.put('\x55');
    }
  }
  const auto opened = Open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kDataLoss) << opened.status();
}

TEST_F(FrontierCheckTest, TheProgramTellsAndExitsAccordingly) {
  EXPECT_EQ(Program("check"), 0) << Output();
  EXPECT_THAT(Output(), HasSubstr("all is well"));
  EXPECT_EQ(Program("stats"), 0) << Output();
  EXPECT_THAT(Output(), HasSubstr("URLs       40"));
  EXPECT_EQ(Program("compact"), 0) << Output();
  {
    const auto frontier = Open();
    EXPECT_EQ(Program("check"), 2) << Output();
    EXPECT_THAT(Output(), HasSubstr("another program, is using it"));
  }
  Delete(frontier::Kind::kFinger);
  EXPECT_EQ(Program("check"), 1) << Output();
  EXPECT_THAT(Output(), HasSubstr("damaged"));
}

TEST_F(FrontierCheckTest, TheProgramMakesNothingWhereNothingIs) {
  std::filesystem::remove_all(folder_.path());
  std::filesystem::create_directory(folder_.path());
  EXPECT_EQ(Program("check"), 2);
  EXPECT_THAT(Output(), HasSubstr("no frontier is kept here"));
}

}  // namespace
}  // namespace escalona

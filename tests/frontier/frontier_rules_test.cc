// Each rule of the URLFrontier API that concerns the core, and each promise of the header, by name.
#include <string>
#include <vector>

#include "escalona/frontier.h"
#include "frontier_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace escalona {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class FrontierRules : public FrontierFixture {};
INSTANTIATE_TEST_SUITE_P(Stores, FrontierRules, ::testing::Bool(), StoreName);

// Keys.

TEST(DeriveQueueKeyTest, IsWhatTheReferenceDerives) {
  EXPECT_EQ(DeriveQueueKey("http://example.org/a"), "example.org");
  EXPECT_EQ(DeriveQueueKey("http://Example.org:80?x"), "Example.org");
  EXPECT_EQ(DeriveQueueKey("http://host#frag"), "host#frag");
  EXPECT_EQ(DeriveQueueKey("http://user:pw@host/x"), "user");
  EXPECT_EQ(DeriveQueueKey("http://[::1]:80/"), "[");
  EXPECT_EQ(DeriveQueueKey("mailto:x@y"), "mailto");
  EXPECT_EQ(DeriveQueueKey("http:///x"), "");
  EXPECT_EQ(DeriveQueueKey("host&x/y"), "host");
  EXPECT_EQ(DeriveQueueKey(""), "");
}

TEST_P(FrontierRules, AnItemWithoutAKeyIsSkipped) {
  Open();
  EXPECT_EQ(Discover("http:///x"), PutStatus::kSkipped);
  EXPECT_EQ(Complete(""), PutStatus::kSkipped);
  EXPECT_EQ(Discover("", "key"), PutStatus::kOk) << "any string is a URL where the key is given";
  EXPECT_THAT(GetAll(), ElementsAre(""));
}

TEST_P(FrontierRules, AKeyOfMoreThan255Utf16UnitsIsSkipped) {
  Open();
  std::string wide;
  for (int i = 0; i < 127; ++i) wide += "\xF0\x9F\x98\x80";  // two units each
  EXPECT_EQ(Discover("u", wide + "a"), PutStatus::kOk);
  EXPECT_EQ(Discover("u", wide + "ab"), PutStatus::kSkipped);
  EXPECT_EQ(Discover("u", std::string(255, 'k')), PutStatus::kOk);
  EXPECT_EQ(Discover("u", std::string(256, 'k')), PutStatus::kSkipped);
  // Bytes that would go on a character, where there is none, count as well.
  EXPECT_EQ(Discover("u", std::string(256, '\x80')), PutStatus::kSkipped);
  EXPECT_EQ(Discover("u", "\xC3" + std::string(65'546, '\x80')), PutStatus::kSkipped);
  EXPECT_EQ(Stats().queues, 2);
  EXPECT_TRUE(frontier_->SetDelay("", std::string(100'000, 'k'), absl::Seconds(1)).ok())
      << "nobody will miss it";
}

TEST_P(FrontierRules, ABlankCrawlIsTheDefaultOneOthersAreTakenAsTheyAre) {
  Open();
  for (const char* crawl : {"", " ", "DEFAULT", "\t\n", " DEFAULT"}) {
    Put({.url = "http://h/" + std::string(crawl), .crawl = crawl});
  }
  EXPECT_THAT(frontier_->ListCrawls(), ElementsAre(" DEFAULT", "DEFAULT"));
  EXPECT_THAT(Get({.max_urls_per_queue = 9, .crawl = ""}), SizeIs(4));
}

TEST_P(FrontierRules, TheSameUrlUnderTwoKeysOrCrawlsIsTwoRecords) {
  Open();
  EXPECT_EQ(Put({.url = "u", .key = "a"}), PutStatus::kOk);
  EXPECT_EQ(Put({.url = "u", .key = "b"}), PutStatus::kOk);
  EXPECT_EQ(Put({.url = "u", .key = "a", .crawl = "c"}), PutStatus::kOk);
  EXPECT_EQ(Put({.url = "u", .key = "a"}), PutStatus::kSkipped);
  EXPECT_THAT(GetAll(), SizeIs(3));
}

TEST_P(FrontierRules, AnyBytesStandInKeysAndCrawls) {
  Open();
  const std::vector<std::string> names = {
      "_", "%5F", "a_b", "a", "a.", "a%", "a-b", std::string("a\0b", 3), "\xFF\xFF", "\xC3\xA9"};
  for (const std::string& crawl : names) {
    for (const std::string& key : names) {
      EXPECT_EQ(Put({.url = "u", .key = key, .crawl = crawl}), PutStatus::kOk);
    }
  }
  Reopen();
  EXPECT_THAT(frontier_->ListCrawls(), SizeIs(names.size()));
  for (const std::string& crawl : names) {
    EXPECT_EQ(frontier_->ListQueues(crawl, true, 0, 100, nullptr), names);
    EXPECT_THAT(Get({.max_urls_per_queue = 9, .crawl = crawl}), SizeIs(names.size()));
  }
  EXPECT_EQ(*frontier_->DeleteCrawl("a"), names.size());
  EXPECT_EQ(*frontier_->DeleteQueue("a_b", "a"), 1);
  EXPECT_EQ(frontier_->Stats(std::nullopt, std::nullopt).scheduled,
            names.size() * (names.size() - 1) - 1);
}

// 2.2: puts.

TEST_P(FrontierRules, DiscoveredUnknownIsStoredAndDueNow) {
  Open();
  EXPECT_EQ(Put({.url = "http://a/1", .metadata = "m"}), PutStatus::kOk);
  std::string metadata;
  absl::Time deadline;
  (void)frontier_->Get({}, [&](const LeasedUrl& url) {
    metadata = url.metadata;
    deadline = url.deadline;
    EXPECT_EQ(url.crawl, "DEFAULT");
    EXPECT_EQ(url.key, "a");
    EXPECT_NE(url.lease, 0);
  });
  EXPECT_EQ(metadata, "m");
  EXPECT_EQ(deadline, clock_.Now() + absl::Seconds(30));
}

TEST_P(FrontierRules, DiscoveredKnownInAnyStateIsSkippedAndNothingChanges) {
  Open();
  Put({.url = "http://a/scheduled", .metadata = "old"});
  Put({.url = "http://b/leased", .metadata = "old"});
  Complete("http://c/completed");
  Get({.key = "b", .crawl = ""});
  Reopen();
  for (const char* url : {"http://a/scheduled", "http://b/leased", "http://c/completed"}) {
    EXPECT_EQ(Put({.url = url, .metadata = "new"}), PutStatus::kSkipped) << url;
  }
  (void)frontier_->GetUrl("", "", "http://a/scheduled",
                          [](const KnownUrl& url) { EXPECT_EQ(url.metadata, "old"); });
  EXPECT_EQ(Stats().leased, 1);
  EXPECT_EQ(Stats().completed, 1);
}

TEST_P(FrontierRules, KnownWithADateReplacesMetadataEndsTheLeaseAndIsDueThen) {
  Open();
  Put({.url = "http://a/1", .metadata = "old"});
  GetAll();
  EXPECT_EQ(Put({.url = "http://a/1",
                 .metadata = "new",
                 .kind = PutKind::kScheduled,
                 .date = absl::FromUnixSeconds(kStart + 10)}),
            PutStatus::kOk);
  EXPECT_EQ(Stats().leased, 0);
  Wait(absl::Milliseconds(9999));
  EXPECT_THAT(GetAll(), IsEmpty());
  Wait(absl::Milliseconds(1));
  EXPECT_THAT(GetAll(), ElementsAre("http://a/1"));
  (void)frontier_->GetUrl("", "", "http://a/1", [](const KnownUrl& url) {
    EXPECT_EQ(url.metadata, "new");
    EXPECT_EQ(url.state, UrlState::kLeased);
  });
}

TEST_P(FrontierRules, KnownWithADateIsStoredIfItWasUnknown) {
  Open();
  EXPECT_EQ(Schedule("http://a/1", kStart), PutStatus::kOk);
  EXPECT_THAT(GetAll(), ElementsAre("http://a/1"));
}

TEST_P(FrontierRules, ADateInThePastIsAHigherPriority) {
  Open();
  Discover("http://a/now");
  Schedule("http://a/later", kStart - 5);
  Schedule("http://a/first", 1);
  EXPECT_THAT(GetAll(9), ElementsAre("http://a/first", "http://a/later", "http://a/now"));
}

TEST_P(FrontierRules, CompletedIsNeverServedAgainAndLosesItsMetadata) {
  Open();
  Put({.url = "http://a/1", .metadata = "m"});
  EXPECT_EQ(Complete("http://a/1"), PutStatus::kOk);
  EXPECT_EQ(Put({.url = "http://b/1", .metadata = "m", .kind = PutKind::kCompleted}),
            PutStatus::kOk)
      << "also unknown";
  Wait(absl::Hours(1'000'000));
  EXPECT_THAT(GetAll(), IsEmpty());
  for (const char* url : {"http://a/1", "http://b/1"}) {
    (void)frontier_->GetUrl("", "", url, [](const KnownUrl& known) {
      EXPECT_EQ(known.metadata, "");
      EXPECT_EQ(known.state, UrlState::kCompleted);
      EXPECT_EQ(known.date, absl::UnixEpoch());
    });
  }
}

TEST_P(FrontierRules, ACompletedUrlCanBeScheduledAgain) {
  Open();
  Complete("http://a/1");
  Schedule("http://a/1", kStart);
  EXPECT_EQ(Stats().completed, 0);
  EXPECT_EQ(Stats().scheduled, 1);
  EXPECT_THAT(GetAll(), ElementsAre("http://a/1"));
  int listed = 0;
  (void)frontier_->ListUrls({}, [&](const KnownUrl&) { return ++listed > 0; });
  EXPECT_EQ(listed, 1);
}

TEST_P(FrontierRules, ReplaysDoNotMoveCounters) {
  Open();
  for (int i = 0; i < 3; ++i) {
    Discover("http://a/1");
    Complete("http://a/1");
    Complete("http://a/1");
    Schedule("http://a/1", kStart);
    Schedule("http://a/1", kStart);
    EXPECT_EQ(Stats().scheduled, 1);
    EXPECT_EQ(Stats().completed, 0);
  }
}

// 2.3: batches.

TEST_P(FrontierRules, OfEqualDiscoveredItemsTheFirstIsOkTheOthersAreSkipped) {
  Open();
  const std::vector<FrontierPut> items = {
      {.url = "http://a/1"}, {.url = "http://b/1"}, {.url = "http://a/1"}, {.url = "http:///"}};
  EXPECT_THAT(frontier_->Put(items), ElementsAre(PutStatus::kOk, PutStatus::kOk,
                                                 PutStatus::kSkipped, PutStatus::kSkipped));
  EXPECT_THAT(frontier_->Put({}), IsEmpty());
}

TEST_P(FrontierRules, ItemsOfACallActInTheirOrder) {
  Open();
  const std::vector<FrontierPut> items = {
      {.url = "http://a/1", .kind = PutKind::kCompleted},
      {.url = "http://a/1"},
      {.url = "http://a/1", .kind = PutKind::kScheduled, .date = absl::FromUnixSeconds(5)},
      {.url = "http://b/1"},
      {.url = "http://b/1", .kind = PutKind::kCompleted},
  };
  EXPECT_THAT(frontier_->Put(items), ElementsAre(PutStatus::kOk, PutStatus::kSkipped,
                                                 PutStatus::kOk, PutStatus::kOk, PutStatus::kOk));
  EXPECT_THAT(GetAll(9), ElementsAre("http://a/1"));
}

// 2.4: serving.

TEST_P(FrontierRules, NothingIsServedForUnknownNamesOrAKeyWithoutACrawl) {
  Open();
  Discover("http://a/1");
  EXPECT_THAT(Get({.key = "a"}), IsEmpty());
  EXPECT_THAT(Get({.key = "b", .crawl = ""}), IsEmpty());
  EXPECT_THAT(Get({.crawl = "other"}), IsEmpty());
  EXPECT_THAT(Get({.key = "a", .crawl = " "}), ElementsAre("http://a/1"));
}

TEST_P(FrontierRules, NothingIsServedWhileInactivePutsGoOn) {
  Open();
  ASSERT_TRUE(frontier_->SetActive(false).ok());
  EXPECT_EQ(Discover("http://a/1"), PutStatus::kOk);
  EXPECT_THAT(GetAll(), IsEmpty());
  Reopen();
  EXPECT_FALSE(frontier_->active());
  EXPECT_THAT(GetAll(), IsEmpty());
  ASSERT_TRUE(frontier_->SetActive(true).ok());
  EXPECT_THAT(GetAll(), ElementsAre("http://a/1"));
}

TEST_P(FrontierRules, ABlockedQueueIsNotServedAlsoAtTheLastMoment) {
  Open();
  Discover("http://a/1");
  ASSERT_TRUE(frontier_->BlockQueueUntil("", "a", absl::FromUnixSeconds(kStart + 5)).ok());
  Reopen();
  Wait(absl::Seconds(5));
  EXPECT_THAT(GetAll(), IsEmpty());
  Wait(absl::Milliseconds(1));
  EXPECT_THAT(GetAll(), ElementsAre("http://a/1"));
}

TEST_P(FrontierRules, TheEpochUnblocks) {
  Open();
  Discover("http://a/1");
  ASSERT_TRUE(frontier_->BlockQueueUntil("", "a", absl::InfiniteFuture()).ok());
  EXPECT_THAT(GetAll(), IsEmpty());
  ASSERT_TRUE(frontier_->BlockQueueUntil("", "a", absl::UnixEpoch()).ok());
  EXPECT_THAT(GetAll(), ElementsAre("http://a/1"));
}

TEST_P(FrontierRules, TheLimitOfCompletedUrlsStopsServingNotPuts) {
  Open();
  Discover("http://a/1");
  Complete("http://a/done");
  ASSERT_TRUE(frontier_->SetCrawlLimit("", "a", 1).ok());
  Reopen();
  EXPECT_EQ(Discover("http://a/2"), PutStatus::kOk);
  EXPECT_THAT(GetAll(), IsEmpty());
  ASSERT_TRUE(frontier_->SetCrawlLimit("", "a", 2).ok());
  EXPECT_THAT(GetAll(), ElementsAre("http://a/1"));
  Complete("http://a/1");
  Wait(absl::Seconds(60));
  EXPECT_THAT(GetAll(), IsEmpty());
  ASSERT_TRUE(frontier_->SetCrawlLimit("", "a", 0).ok());
  EXPECT_THAT(GetAll(), ElementsAre("http://a/2"));
}

TEST_P(FrontierRules, ALimitForAnUnknownQueueIsNotFound) {
  Open();
  EXPECT_EQ(frontier_->SetCrawlLimit("", "a", 1).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(frontier_->SetDelay("", "a", absl::Seconds(1)).ok());
  EXPECT_EQ(frontier_->SetCrawlLimit("", "a", 1).code(), absl::StatusCode::kNotFound);
}

TEST_P(FrontierRules, AQueueIsServedOncePerDelayByDefaultOneSecond) {
  Open();
  for (const char* url : {"http://a/1", "http://a/2", "http://a/3"}) Discover(url);
  EXPECT_THAT(Get({.max_urls_per_queue = 5}), SizeIs(3));
  Discover("http://a/4");
  Wait(absl::Milliseconds(999));
  EXPECT_THAT(Get({.max_urls_per_queue = 5}), IsEmpty());
  Reopen();
  EXPECT_THAT(Get({.max_urls_per_queue = 5}), IsEmpty());
  Wait(absl::Milliseconds(1));
  EXPECT_THAT(Get({.max_urls_per_queue = 5}), ElementsAre("http://a/4"));
}

TEST_P(FrontierRules, AnEmptyAnswerCostsNoWaiting) {
  Open();
  Schedule("http://a/1", kStart + 1);
  EXPECT_THAT(GetAll(), IsEmpty());
  Wait(absl::Seconds(1));
  EXPECT_THAT(GetAll(), ElementsAre("http://a/1"));
}

TEST_P(FrontierRules, DelaysOfAQueueAndTheDefaultOneHoldAtOnceAndAfterARestart) {
  Open();
  ASSERT_TRUE(frontier_->SetDefaultDelay(absl::Seconds(10)).ok());
  ASSERT_TRUE(frontier_->SetDelay("", "b", absl::Milliseconds(500)).ok());
  for (const char* host : {"a", "b"}) {
    for (int i = 0; i < 9; ++i) {
      Discover("http://" + std::string(host) + "/" + std::to_string(i));
    }
  }
  EXPECT_THAT(Get({.max_urls_per_queue = 9, .max_queues = 1}), SizeIs(9));
  EXPECT_THAT(Get({.max_urls_per_queue = 1}), SizeIs(1));
  Reopen();
  Wait(absl::Milliseconds(500));
  EXPECT_THAT(Get({.max_urls_per_queue = 2}), ElementsAre("http://b/1", "http://b/2"));
  for (int i = 0; i < 9; ++i) Schedule("http://a/" + std::to_string(i), kStart);
  EXPECT_THAT(Get({.max_urls_per_queue = 9}), IsEmpty());
  ASSERT_TRUE(frontier_->SetDefaultDelay(absl::Milliseconds(100)).ok());
  EXPECT_THAT(Get({.max_urls_per_queue = 9}), SizeIs(9));
}

TEST_P(FrontierRules, WithDelayZeroAQueueIsServedByEveryCallOncePerCall) {
  Open({.default_delay = absl::ZeroDuration()});
  for (int i = 0; i < 4; ++i) Discover("http://a/" + std::to_string(i));
  EXPECT_THAT(Get({.max_urls_per_queue = 3}), SizeIs(3));
  EXPECT_THAT(Get({.max_urls_per_queue = 4}), SizeIs(1));
}

TEST_P(FrontierRules, AQueueWithMaxUrlsPerQueueLeasesIsNotServed) {
  Open();
  for (int i = 0; i < 9; ++i) Discover("http://a/" + std::to_string(i));
  EXPECT_THAT(Get({.max_urls_per_queue = 2}), SizeIs(2));
  Wait(absl::Seconds(2));
  EXPECT_THAT(Get({.max_urls_per_queue = 2}), IsEmpty());
  EXPECT_THAT(Get({.max_urls_per_queue = 2, .key = "a", .crawl = ""}), IsEmpty());
  EXPECT_THAT(Get({.max_urls_per_queue = 3}), SizeIs(3)) << "it is a gate only";
  Wait(absl::Seconds(2));
  EXPECT_THAT(Get({.max_urls_per_queue = 0}), SizeIs(4)) << "0 is no limit";
}

TEST_P(FrontierRules, MaxUrlsAtOnceIsNoGate) {
  Open({.default_delay = absl::ZeroDuration()});
  for (int i = 0; i < 9; ++i) Discover("http://a/" + std::to_string(i));
  EXPECT_THAT(Get({.max_urls_per_queue = 0, .max_urls_at_once = 4}), SizeIs(4));
  EXPECT_THAT(Get({.max_urls_per_queue = 4, .max_urls_at_once = 4}), IsEmpty());
  EXPECT_THAT(Get({.max_urls_per_queue = 0, .max_urls_at_once = 4}), SizeIs(4));
  EXPECT_THAT(Get({.max_urls_per_queue = 9, .max_urls_at_once = 4}), SizeIs(1));
}

TEST_P(FrontierRules, MaxInProcessIsACap) {
  Open({.default_delay = absl::ZeroDuration(), .max_in_process = 3});
  for (int i = 0; i < 9; ++i) Discover("http://a/" + std::to_string(i));
  EXPECT_THAT(Get({.max_urls_per_queue = 2}), SizeIs(2));
  EXPECT_THAT(Get({.max_urls_per_queue = 0}), SizeIs(1));
  EXPECT_THAT(Get({.max_urls_per_queue = 0}), IsEmpty());
  Complete("http://a/0");
  EXPECT_THAT(Get({.max_urls_per_queue = 0}), SizeIs(1));
}

TEST_P(FrontierRules, OldestDateFirstThenByTheBytesOfTheUrl) {
  Open();
  for (const char* url : {"http://a/b", "http://a/\xC3\xA9", "http://a/a", "http://a/B"}) {
    Schedule(url, kStart - 1);
  }
  Schedule("http://a/z", kStart - 2);
  EXPECT_THAT(GetAll(9), ElementsAre("http://a/z", "http://a/B", "http://a/a", "http://a/b",
                                     "http://a/\xC3\xA9"));
}

TEST_P(FrontierRules, ByDepthDiscoveredUrlsComeFirstByDepthAndArrivalThenDates) {
  Open({.url_order = UrlOrder::kDepth});
  Schedule("http://a/dated", 1);
  for (const char* url :
       {"http://a/x/y/z", "http://a/b", "http://a/a", "http://a/", "http://a/p/q"}) {
    Discover(url);
  }
  Reopen();
  EXPECT_THAT(GetAll(9), ElementsAre("http://a/", "http://a/b", "http://a/a", "http://a/p/q",
                                     "http://a/x/y/z", "http://a/dated"));
}

TEST_P(FrontierRules, ALeaseEndsAtItsDeadlineAndTheUrlIsServedAgain) {
  Open();
  Discover("http://a/1");
  EXPECT_THAT(Get({.lease = absl::Seconds(5)}), SizeIs(1));
  const uint64_t first = leases_[0];
  Reopen();
  Wait(absl::Milliseconds(4999));
  EXPECT_EQ(Stats().leased, 1);
  EXPECT_THAT(GetAll(), IsEmpty());
  Wait(absl::Milliseconds(1));
  EXPECT_EQ(Stats().leased, 0);
  EXPECT_THAT(GetAll(), ElementsAre("http://a/1"));
  EXPECT_NE(leases_[0], first);
}

TEST_P(FrontierRules, ALeaseOfZeroIsThirtySeconds) {
  Open();
  Discover("http://a/1");
  EXPECT_THAT(Get({.lease = absl::ZeroDuration()}), SizeIs(1));
  Wait(absl::Milliseconds(29999));
  EXPECT_THAT(GetAll(), IsEmpty());
  Wait(absl::Milliseconds(1));
  EXPECT_THAT(GetAll(), SizeIs(1));
}

TEST_P(FrontierRules, AbsurdLeasesAndDelaysAreTaken) {
  Open();
  Discover("http://a/1");
  EXPECT_THAT(Get({.max_urls_per_queue = kNoLimit,
                   .max_queues = kNoLimit,
                   .lease = absl::InfiniteDuration()}),
              SizeIs(1));
  ASSERT_TRUE(frontier_->SetDelay("", "a", absl::Seconds(uint64_t{4294967295})).ok());
  ASSERT_TRUE(frontier_->SetDefaultDelay(absl::InfiniteDuration()).ok());
  Reopen();
  Wait(absl::Hours(24 * 365 * 100));
  EXPECT_EQ(Stats().leased, 1);
  EXPECT_EQ(Schedule("http://a/2", std::numeric_limits<int64_t>::max()), PutStatus::kOk);
  EXPECT_THAT(GetAll(), IsEmpty());
}

TEST_P(FrontierRules, AnUpdateFromAnEndedOrOtherLeaseIsStaleAndChangesNothing) {
  Open();
  Discover("http://a/1");
  EXPECT_THAT(Get({.lease = absl::Seconds(5)}), SizeIs(1));
  const uint64_t first = leases_[0];
  Wait(absl::Seconds(5));
  EXPECT_EQ(Put({.url = "http://a/1", .kind = PutKind::kCompleted, .lease = first}),
            PutStatus::kStale);
  EXPECT_THAT(GetAll(), SizeIs(1));
  Reopen();
  EXPECT_EQ(Put({.url = "http://a/1", .kind = PutKind::kCompleted, .lease = first}),
            PutStatus::kStale);
  EXPECT_EQ(Put({.url = "http://a/x", .kind = PutKind::kCompleted, .lease = leases_[0]}),
            PutStatus::kStale);
  EXPECT_EQ(Stats().leased, 1);
  EXPECT_EQ(Put({.url = "http://a/1", .kind = PutKind::kCompleted, .lease = leases_[0]}),
            PutStatus::kOk);
  EXPECT_EQ(Put({.url = "http://a/1", .kind = PutKind::kCompleted, .lease = leases_[0]}),
            PutStatus::kStale);
  EXPECT_EQ(Stats().completed, 1);
}

// Strategies.

TEST_P(FrontierRules, BreadthFirstRotatesNewQueuesComeLast) {
  Open({.default_delay = absl::ZeroDuration()});
  for (const char* host : {"c", "a", "b"}) {
    for (int i = 0; i < 3; ++i) Discover("http://" + std::string(host) + "/" + std::to_string(i));
  }
  const GetRequest two = {.max_urls_per_queue = 3, .max_queues = 2};
  EXPECT_THAT(Get({.max_urls_per_queue = 1, .max_queues = 2}),
              ElementsAre("http://c/0", "http://a/0"));
  Discover("http://d/0");
  Reopen();
  EXPECT_THAT(Get({.max_urls_per_queue = 2, .max_queues = 3}),
              ElementsAre("http://b/0", "http://b/1", "http://c/1", "http://c/2", "http://a/1",
                          "http://a/2"));
  EXPECT_THAT(Get(two), ElementsAre("http://d/0", "http://b/2"));
}

TEST_P(FrontierRules, BreadthFirstNewQueuesDoNotStarveTheOthers) {
  Open({.default_delay = absl::ZeroDuration()});
  for (const char* host : {"a", "b", "c"}) {
    for (int i = 0; i < 9; ++i) Discover("http://" + std::string(host) + "/" + std::to_string(i));
  }
  std::vector<std::string> served;
  for (int i = 0; i < 6; ++i) {
    Discover("http://new" + std::to_string(i) + "/");
    for (std::string& url : Get({.max_urls_per_queue = 9, .max_queues = 1})) {
      if (url.ends_with("/") || url.ends_with("/0")) served.push_back(std::move(url));
    }
  }
  EXPECT_THAT(served, ElementsAre("http://a/0", "http://b/0", "http://c/0", "http://new0/",
                                  "http://new1/", "http://new2/"));
}

TEST_P(FrontierRules, DepthFirstTakesQueuesInTheOrderTheyBecameKnown) {
  Open({.strategy = Strategy::kDepthFirst, .default_delay = absl::ZeroDuration()});
  ASSERT_TRUE(frontier_->SetDelay("", "b", absl::ZeroDuration()).ok());
  for (const char* host : {"c", "a", "b"}) {
    for (int i = 0; i < 2; ++i) Discover("http://" + std::string(host) + "/" + std::to_string(i));
  }
  const GetRequest one = {.max_urls_per_queue = 9, .max_queues = 1};
  EXPECT_THAT(Get(one), ElementsAre("http://c/0", "http://c/1"));
  Discover("http://c/2");
  EXPECT_THAT(Get(one), ElementsAre("http://c/2"));
  EXPECT_THAT(Get(one), ElementsAre("http://a/0", "http://a/1"));
}

TEST_P(FrontierRules, BestFirstTakesTheQueueWithMostScheduledUrls) {
  Open({.default_delay = absl::ZeroDuration()});
  ASSERT_TRUE(frontier_->SetStrategy("", Strategy::kBestFirst, UrlOrder::kDate).ok());
  for (const char* url : {"http://a/1", "http://b/1", "http://b/2", "http://c/1"}) Discover(url);
  Reopen();
  const GetRequest one = {.max_urls_per_queue = 1, .max_queues = 1};
  EXPECT_THAT(Get(one), ElementsAre("http://b/1"));
  Complete("http://b/1");
  EXPECT_THAT(Get(one), ElementsAre("http://a/1"));
}

TEST_P(FrontierRules, WithoutACrawlAllAreAskedInTurn) {
  Open();
  for (const char* crawl : {"x", "y", "z"}) {
    for (const char* key : {"a", "b", "c"}) Put({.url = key, .key = key, .crawl = crawl});
  }
  std::vector<std::string> crawls;
  for (int i = 0; i < 3; ++i) {
    (void)frontier_->Get({.max_urls_per_queue = 1, .max_queues = 2},
                         [&](const LeasedUrl& url) { crawls.emplace_back(url.crawl); });
  }
  EXPECT_THAT(crawls, ElementsAre("x", "y", "z", "x", "y", "z"));
}

// Groups and budgets.

TEST_P(FrontierRules, QueuesOfOneRegistrableDomainShareASlot) {
  Open({.group = PolitenessGroup::kDomain});
  for (const char* host : {"a.example.co.uk", "b.example.co.uk", "a.other.co.uk"}) {
    Discover("http://" + std::string(host) + "/");
  }
  EXPECT_THAT(GetAll(), ElementsAre("http://a.example.co.uk/", "http://a.other.co.uk/"));
  Reopen();
  Wait(absl::Milliseconds(999));
  EXPECT_THAT(GetAll(), IsEmpty());
  EXPECT_THAT(Get({.key = "b.example.co.uk", .crawl = ""}), IsEmpty());
  Wait(absl::Milliseconds(1));
  EXPECT_THAT(GetAll(), ElementsAre("http://b.example.co.uk/"));
}

// The queue that gives a group its place is not due any more, and this call passes over it anyway.
TEST_P(FrontierRules, AfterTheClockWasSetBackAGroupStandsWhereItsFirstDueQueueDoes) {
  Open({.strategy = Strategy::kBestFirst,
        .group = PolitenessGroup::kDomain,
        .default_delay = absl::ZeroDuration()});
  Schedule("http://a.example.com/1", kStart);
  Schedule("http://a.example.com/2", kStart);
  EXPECT_EQ(Get({.max_urls_per_queue = 2, .lease = absl::Hours(1)}).size(), 2);
  Schedule("http://a.example.com/3", kStart + 10);
  Schedule("http://b.example.com/1", kStart);
  Schedule("http://other.org/1", kStart);
  Schedule("http://other.org/2", kStart);
  clock_.Set(absl::FromUnixSeconds(kStart + 10));
  EXPECT_TRUE(Get({.crawl = "none"}).empty());  // a.example.com is due meanwhile
  clock_.Set(absl::FromUnixSeconds(kStart + 5));
  EXPECT_EQ(Get({.max_urls_per_queue = 2, .max_queues = 1}),
            (std::vector<std::string>{"http://other.org/1", "http://other.org/2"}));
}

TEST_P(FrontierRules, QueuesOfOneAddressShareASlot) {
  Open({.group = PolitenessGroup::kIp});
  EXPECT_EQ(frontier_->SetQueueAddress("", "a", "no address").code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(frontier_->SetQueueAddress("", "a", "10.0.0.1").ok());
  for (const char* host : {"a", "10.0.0.1", "c"}) Discover("http://" + std::string(host) + "/");
  Reopen();
  EXPECT_THAT(GetAll(), ElementsAre("http://a/", "http://c/"));
  Wait(absl::Seconds(1));
  EXPECT_THAT(GetAll(), ElementsAre("http://10.0.0.1/"));
}

TEST_P(FrontierRules, MoreUrlsThanTheBudgetOfAQueueOrCrawlAreSkipped) {
  Open({.max_urls_per_queue = 2, .max_urls_per_crawl = 3});
  EXPECT_EQ(Discover("http://a/1"), PutStatus::kOk);
  EXPECT_EQ(Complete("http://a/2"), PutStatus::kOk);
  EXPECT_EQ(Discover("http://a/3"), PutStatus::kSkipped);
  EXPECT_EQ(Schedule("http://a/3", kStart), PutStatus::kSkipped);
  EXPECT_EQ(Schedule("http://a/2", kStart), PutStatus::kOk) << "it is known";
  EXPECT_EQ(Discover("http://b/1"), PutStatus::kOk);
  Reopen();
  EXPECT_EQ(Discover("http://b/2"), PutStatus::kSkipped);
  EXPECT_EQ(Discover("http://c/1"), PutStatus::kSkipped);
  EXPECT_EQ(Stats().queues, 2) << "no queue without a URL";
  EXPECT_EQ(Put({.url = "http://a/1", .crawl = "other"}), PutStatus::kOk);
  EXPECT_EQ(*frontier_->DeleteQueue("", "a"), 2);
  EXPECT_EQ(Discover("http://b/2"), PutStatus::kOk);
}

// 2.5: control.

TEST_P(FrontierRules, DelayAndBlockAreRememberedForQueuesNotYetKnown) {
  Open();
  ASSERT_TRUE(frontier_->SetDelay("c", "a", absl::Seconds(100)).ok());
  ASSERT_TRUE(frontier_->BlockQueueUntil("c", "a", absl::FromUnixSeconds(kStart + 3)).ok());
  EXPECT_THAT(frontier_->ListCrawls(), IsEmpty());
  EXPECT_EQ(frontier_->Stats("c", std::nullopt).queues, 0);
  Reopen();
  for (const char* url : {"http://a/1", "http://a/2"}) Put({.url = url, .crawl = "c"});
  EXPECT_THAT(GetAll(), IsEmpty());
  Wait(absl::Seconds(4));
  EXPECT_THAT(Get({.max_urls_per_queue = 1}), SizeIs(1));
  Wait(absl::Seconds(99));
  EXPECT_THAT(Get({.max_urls_per_queue = 9}), IsEmpty());
  Reopen();
  Wait(absl::Seconds(1));
  EXPECT_THAT(Get({.max_urls_per_queue = 9}), SizeIs(2));
}

TEST_P(FrontierRules, ListCrawlsNamesThoseThatHaveAQueue) {
  Open();
  EXPECT_THAT(frontier_->ListCrawls(), IsEmpty());
  Put({.url = "u", .key = "k", .crawl = "one"});
  Put({.url = "u", .key = "k", .crawl = "two"});
  EXPECT_EQ(*frontier_->DeleteCrawl("one"), 1);
  EXPECT_THAT(frontier_->ListCrawls(), ElementsAre("two"));
  EXPECT_EQ(*frontier_->DeleteCrawl("two"), 1);
  EXPECT_THAT(frontier_->ListCrawls(), IsEmpty());
}

// 2.6: inspection and removal.

TEST_P(FrontierRules, ListQueuesSkipsBlockedAndEmptyOnesUnlessAskedFor) {
  Open();
  for (const char* host : {"d", "c", "b"}) Discover("http://" + std::string(host) + "/");
  Complete("http://a/");
  ASSERT_TRUE(frontier_->BlockQueueUntil("", "c", absl::FromUnixSeconds(kStart + 9)).ok());
  Schedule("http://e/", kStart + 1000);
  uint64_t total = 0;
  EXPECT_THAT(frontier_->ListQueues("", false, 0, 100, &total), ElementsAre("d", "b", "e"));
  EXPECT_EQ(total, 3);
  EXPECT_THAT(frontier_->ListQueues("", true, 0, 100, &total),
              ElementsAre("d", "c", "b", "a", "e"));
  EXPECT_EQ(total, 5);
  EXPECT_THAT(frontier_->ListQueues("", false, 1, 1, &total), ElementsAre("b"));
  EXPECT_EQ(total, 3);
  EXPECT_THAT(frontier_->ListQueues("", false, 3, 1, nullptr), IsEmpty());
  EXPECT_THAT(frontier_->ListQueues("none", true, 0, 1, &total), IsEmpty());
}

TEST_P(FrontierRules, StatsCountScheduledLeasedCompletedAndQueues) {
  Open();
  for (const char* url : {"http://a/1", "http://a/2", "http://b/1"}) Discover(url);
  Complete("http://c/1");
  Get({.max_urls_per_queue = 1, .max_queues = 1});
  Reopen();
  const FrontierStats stats = Stats();
  EXPECT_EQ(stats.scheduled, 3);
  EXPECT_EQ(stats.leased, 1);
  EXPECT_EQ(stats.completed, 1);
  EXPECT_EQ(stats.queues, 3);
  EXPECT_EQ(stats.active_queues, 2);
  EXPECT_EQ(frontier_->Stats("", "a").scheduled, 2);
  EXPECT_EQ(frontier_->Stats("", "none").queues, 0);
  EXPECT_EQ(frontier_->Stats("none", std::nullopt).scheduled, 0);
}

TEST_P(FrontierRules, GetUrlSaysNotFoundAndInvalidArgument) {
  Open();
  Discover("http://a/1");
  const auto nothing = [](const KnownUrl&) { FAIL(); };
  EXPECT_EQ(frontier_->GetUrl("", "", "http:///", nothing).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(frontier_->GetUrl("", "", "http://a/2", nothing).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(frontier_->GetUrl("", "b", "http://a/1", nothing).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(frontier_->GetUrl("x", "", "http://a/1", nothing).code(), absl::StatusCode::kNotFound);
}

TEST_P(FrontierRules, TheCreationDateStays) {
  Open();
  Discover("http://a/1");
  Wait(absl::Seconds(100));
  Schedule("http://a/1", kStart + 500);
  Wait(absl::Seconds(100));
  Complete("http://a/1");
  Reopen();
  (void)frontier_->GetUrl("", "", "http://a/1", [](const KnownUrl& url) {
    EXPECT_EQ(url.created, absl::FromUnixSeconds(kStart));
  });
}

TEST_P(FrontierRules, ListUrlsFiltersAndStops) {
  Open();
  for (const char* url : {"http://b/Page", "http://a/page", "http://a/other"}) Discover(url);
  const auto list = [&](const UrlFilter& filter) {
    std::vector<std::string> urls;
    EXPECT_TRUE(frontier_
                    ->ListUrls(filter,
                               [&](const KnownUrl& url) {
                                 urls.emplace_back(url.url);
                                 return true;
                               })
                    .ok());
    return urls;
  };
  EXPECT_THAT(list({}), ElementsAre("http://b/Page", "http://a/other", "http://a/page"));
  EXPECT_THAT(list({.text = "page"}), ElementsAre("http://a/page"));
  EXPECT_THAT(list({.text = "PAGE", .ignore_case = true}),
              ElementsAre("http://b/Page", "http://a/page"));
  EXPECT_THAT(list({.key = "b"}), ElementsAre("http://b/Page"));
  EXPECT_THAT(list({.key = "x"}), IsEmpty());
  int seen = 0;
  EXPECT_TRUE(frontier_->ListUrls({}, [&](const KnownUrl&) { return ++seen < 2; }).ok());
  EXPECT_EQ(seen, 2);
  EXPECT_THAT(list({.stop = [] { return true; }}), IsEmpty());
  // b, its URL, a, the first of its two.
  int asked = 0;
  EXPECT_THAT(list({.text = "other?", .stop = [&] { return ++asked == 4; }}), IsEmpty());
  EXPECT_EQ(asked, 4);
}

TEST_P(FrontierRules, PurgeRemovesWhatWasCreatedBeforeAndKeepsQueues) {
  Open();
  Discover("http://a/old");
  Complete("http://a/old-done");
  Discover("http://b/old");
  Wait(absl::Seconds(10));
  Discover("http://a/new");
  EXPECT_EQ(*frontier_->Purge("", "a", absl::FromUnixSeconds(kStart)), 0) << "strictly before";
  EXPECT_EQ(*frontier_->Purge("", "a", absl::FromUnixSeconds(kStart + 1)), 2);
  EXPECT_EQ(Stats().scheduled, 2);
  EXPECT_EQ(*frontier_->Purge("", std::nullopt, absl::InfiniteFuture()), 2);
  EXPECT_EQ(Stats().queues, 2);
  EXPECT_EQ(Stats().active_queues, 0);
  Reopen();
  EXPECT_THAT(GetAll(), IsEmpty());
  EXPECT_EQ(Discover("http://a/old"), PutStatus::kOk) << "it is new again";
}

TEST_P(FrontierRules, DeleteQueueAndCrawlReturnAllUrlsAndForgetWhatWasTold) {
  Open();
  Discover("http://a/1");
  Complete("http://a/2");
  Discover("http://b/1");
  ASSERT_TRUE(frontier_->BlockQueueUntil("", "a", absl::InfiniteFuture()).ok());
  EXPECT_EQ(*frontier_->DeleteQueue("", "a"), 2);
  EXPECT_EQ(*frontier_->DeleteQueue("", "a"), 0);
  EXPECT_EQ(*frontier_->DeleteQueue("none", "a"), 0);
  EXPECT_EQ(Stats().queues, 1);
  EXPECT_EQ(Discover("http://a/1"), PutStatus::kOk);
  EXPECT_THAT(Get({.key = "a", .crawl = ""}), SizeIs(1)) << "the block is gone";
  EXPECT_EQ(*frontier_->DeleteCrawl(""), 2);
  EXPECT_EQ(*frontier_->DeleteCrawl(""), 0);
  Reopen();
  EXPECT_THAT(GetAll(), IsEmpty());
  EXPECT_EQ(Discover("http://a/1"), PutStatus::kOk);
}

TEST_P(FrontierRules, ExplainTellsWhyAndWhen) {
  using Reason = Explanation::Reason;
  Open();
  Discover("http://a/1");
  Discover("http://a/2");
  EXPECT_THAT(frontier_->Explain("", "", "http://a/1")->reasons, ElementsAre(Reason::kServable));
  EXPECT_EQ(frontier_->Explain("", "", "http://a/2")->before, 1);
  EXPECT_THAT(frontier_->Explain("", "", "http://a/3")->reasons, ElementsAre(Reason::kUnknownUrl));
  Get({.max_urls_per_queue = 1});
  const Explanation leased = *frontier_->Explain("", "", "http://a/1");
  EXPECT_THAT(leased.reasons, UnorderedElementsAre(Reason::kLeased, Reason::kDelay));
  EXPECT_EQ(leased.when, clock_.Now() + absl::Seconds(30));
  EXPECT_EQ(frontier_->Explain("", "", "http://a/2")->when, clock_.Now() + absl::Seconds(1));
  Complete("http://a/1");
  EXPECT_THAT(frontier_->Explain("", "", "http://a/1")->reasons, ElementsAre(Reason::kCompleted));
  ASSERT_TRUE(frontier_->SetActive(false).ok());
  EXPECT_EQ(frontier_->Explain("", "", "http://a/2")->when, absl::InfiniteFuture());
}

// Time.

TEST_P(FrontierRules, AClockThatStepsBackShortensNoDelay) {
  Open();
  for (int i = 0; i < 3; ++i) Discover("http://a/" + std::to_string(i));
  EXPECT_THAT(Get({.max_urls_per_queue = 1}), SizeIs(1));
  Wait(-absl::Seconds(100));
  EXPECT_THAT(Get({.max_urls_per_queue = 9}), IsEmpty());
  Reopen();
  EXPECT_THAT(Get({.max_urls_per_queue = 9}), IsEmpty());
  Wait(absl::Milliseconds(100'999));
  EXPECT_THAT(Get({.max_urls_per_queue = 9}), IsEmpty());
  Wait(absl::Milliseconds(1));
  EXPECT_THAT(Get({.max_urls_per_queue = 9}), SizeIs(2));
}

TEST_P(FrontierRules, ManyLeasedUrlsAreNotWalkedOverAgain) {
  Open({.default_delay = absl::ZeroDuration()});
  std::vector<std::string> texts(20000);
  std::vector<FrontierPut> items(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    texts[i] = "http://a/" + std::to_string(100000 + i);
    items[i].url = texts[i];
  }
  frontier_->Put(items);
  EXPECT_THAT(Get({.max_urls_per_queue = 10000}), SizeIs(10000));
  EXPECT_THAT(Get({.max_urls_per_queue = 0}), SizeIs(10000));
  EXPECT_EQ(Stats().leased, 20000);
  Wait(absl::Seconds(31));
  EXPECT_EQ(Stats().leased, 0);
  EXPECT_THAT(Get({.max_urls_per_queue = 3}),
              ElementsAre("http://a/100000", "http://a/100001", "http://a/100002"));
}

// The folder.

TEST(FrontierFolder, CannotBeOpenedTwice) {
  const TestFolder folder;
  const SystemClock clock;
  const auto first = Frontier::Open(folder.path(), {}, clock);
  ASSERT_TRUE(first.ok());
  const auto second = Frontier::Open(folder.path(), {}, clock);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(FrontierFolder, AFileInTheWayIsAnErrorWithItsName) {
  const TestFolder folder;
  const SystemClock clock;
  const std::string path = folder.path() + "/file";
  std::fclose(std::fopen(path.c_str(), "w"));
  const auto opened = Frontier::Open(path, {}, clock);
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(std::string(opened.status().message()), ::testing::HasSubstr(path));
}

}  // namespace
}  // namespace escalona

// Kill -9, again and again: what the frontier acknowledged is there, leases hold, no delay is
// broken. A child of this very program does things until it is killed; each thing follows from its
// number, so the naive model can do the same afterwards.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "escalona/frontier.h"
#include "frontier_fixture.h"
#include "frontier_model.h"
#include "gtest/gtest.h"

extern char** environ;

namespace escalona {
namespace {

using frontier_model::Model;
using frontier_model::Served;

constexpr int64_t kStart = 1'700'000'000'000;
const FrontierOptions kOptions = {
    .default_delay = absl::Milliseconds(300), .max_in_process = 6, .journal_changes = 200};

struct Deed {
  enum { kPut, kGet, kDelay, kBlock, kActive } what;
  struct Text {
    std::string crawl, key, url, metadata;
  };
  std::vector<Text> texts;
  std::vector<FrontierPut> items;
  GetRequest request;
  int64_t number = 0;
};

int64_t TimeOf(uint64_t n) { return kStart + static_cast<int64_t>(n) * 20; }

// The n-th thing that is done.
std::unique_ptr<Deed> DeedOf(uint64_t n) {
  std::mt19937_64 random(n);
  auto deed = std::make_unique<Deed>();
  const auto crawl = [&] { return std::string(random() % 2 == 0 ? "" : "c"); };
  const auto key = [&] { return "k" + std::to_string(random() % 8); };
  switch (random() % 10) {
    case 0:
      deed->what = Deed::kDelay;
      deed->number = static_cast<int64_t>(random() % 500);
      break;
    case 1:
      deed->what = Deed::kBlock;
      deed->number = TimeOf(n) + static_cast<int64_t>(random() % 300);
      break;
    case 2:
      deed->what = Deed::kActive;
      deed->number = random() % 5 == 0 ? 0 : 1;
      break;
    case 3:
    case 4:
    case 5:
      deed->what = Deed::kGet;
      deed->request = {.max_urls_per_queue = 1 + static_cast<uint32_t>(random() % 4),
                       .max_queues = static_cast<uint32_t>(random() % 4),
                       .lease = absl::Milliseconds(1 + random() % 1000)};
      return deed;
    default:
      deed->what = Deed::kPut;
      for (uint64_t i = 0; i < 1 + random() % 12; ++i) {
        deed->texts.push_back({crawl(), key(), "u" + std::to_string(random() % 40),
                               std::string(random() % 200, 'm')});
      }
      for (const Deed::Text& text : deed->texts) {
        deed->items.push_back({.url = text.url,
                               .key = text.key,
                               .crawl = text.crawl,
                               .metadata = text.metadata,
                               .kind = static_cast<PutKind>(random() % 3),
                               .date = absl::FromUnixMillis(
                                   TimeOf(n) - 5000 + static_cast<int64_t>(random() % 9000))});
      }
      return deed;
  }
  deed->texts.push_back({crawl(), key(), "", ""});
  return deed;
}

bool Do(Frontier& frontier, const Deed& deed, std::vector<Served>* served) {
  switch (deed.what) {
    case Deed::kPut: {
      absl::Status error;
      frontier.Put(deed.items, &error);
      return error.ok();
    }
    case Deed::kGet:
      return frontier
          .Get(deed.request,
               [&](const LeasedUrl& url) {
                 if (served == nullptr) return;
                 served->push_back({std::string(url.crawl), std::string(url.key),
                                    std::string(url.url), std::string(url.metadata),
                                    absl::ToUnixMillis(url.deadline)});
               })
          .ok();
    case Deed::kDelay:
      return frontier
          .SetDelay(deed.texts[0].crawl, deed.texts[0].key, absl::Milliseconds(deed.number))
          .ok();
    case Deed::kBlock:
      return frontier
          .BlockQueueUntil(deed.texts[0].crawl, deed.texts[0].key,
                           absl::FromUnixMillis(deed.number))
          .ok();
    case Deed::kActive:
      return frontier.SetActive(deed.number == 1).ok();
  }
  return false;
}

void Do(Model& model, const Deed& deed, std::vector<Served>* served) {
  switch (deed.what) {
    case Deed::kPut:
      model.Put(deed.items);
      return;
    case Deed::kGet: {
      std::vector<Served> got = model.Get(deed.request);
      if (served != nullptr) *served = std::move(got);
      return;
    }
    case Deed::kDelay:
      model.Tell(deed.texts[0].crawl, deed.texts[0].key).delay = deed.number;
      return;
    case Deed::kBlock:
      model.Tell(deed.texts[0].crawl, deed.texts[0].key).blocked = deed.number;
      return;
    case Deed::kActive:
      model.active = deed.number == 1;
  }
}

using State = std::map<std::tuple<std::string, std::string, std::string>,
                       std::tuple<UrlState, int64_t, int64_t, int64_t, std::string>>;

State StateOf(const Frontier& frontier) {
  State state;
  for (const std::string& crawl : frontier.ListCrawls()) {
    EXPECT_TRUE(
        frontier
            .ListUrls({.crawl = crawl},
                      [&](const KnownUrl& url) {
                        state[{crawl, std::string(url.key), std::string(url.url)}] = {
                            url.state, absl::ToUnixSeconds(url.date),
                            absl::ToUnixSeconds(url.created),
                            url.state == UrlState::kLeased ? absl::ToUnixMillis(url.deadline) : 0,
                            std::string(url.metadata)};
                        return true;
                      })
            .ok());
  }
  return state;
}

State StateOf(const Model& model) {
  State state;
  for (const auto& [name, crawl] : model.crawls()) {
    for (const auto& [key, queue] : crawl.queues) {
      for (const auto& [text, url] : queue.urls) {
        state[{name, key, text}] = {url.completed    ? UrlState::kCompleted
                                    : url.lease != 0 ? UrlState::kLeased
                                                     : UrlState::kScheduled,
                                    url.date, url.created, url.lease != 0 ? url.deadline : 0,
                                    url.metadata};
      }
    }
  }
  return state;
}

// The child: ESCALONA_CRASH is "first number,file descriptor,folder".
TEST(FrontierCrash, Child) {
  const char* const order = std::getenv("ESCALONA_CRASH");
  if (order == nullptr) GTEST_SKIP() << "only as a child of the other test";
  char* rest = nullptr;
  uint64_t n = std::strtoull(order, &rest, 10);
  const int pipe = static_cast<int>(std::strtol(rest + 1, &rest, 10));
  VirtualClock clock(absl::FromUnixMillis(TimeOf(n)));
  auto frontier = Frontier::Open(rest + 1, kOptions, clock);
  if (!frontier.ok()) std::_Exit(3);
  for (;; ++n) {
    clock.Set(absl::FromUnixMillis(TimeOf(n)));
    if (!Do(**frontier, *DeedOf(n), nullptr)) std::_Exit(4);
    if (write(pipe, "+", 1) != 1) std::_Exit(5);
  }
}

// Starts a child at deed `first`, kills it after a while; how many deeds were acknowledged.
uint64_t RunAndKill(const std::string& folder, uint64_t first, uint64_t at_least, int extra_us) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  const std::string order =
      "ESCALONA_CRASH=" + std::to_string(first) + "," + std::to_string(ends[1]) + "," + folder;
  std::vector<char*> environment;
  for (char** at = environ; *at != nullptr; ++at) environment.push_back(*at);
  environment.push_back(const_cast<char*>(order.c_str()));
  environment.push_back(nullptr);
  std::string program = "/proc/self/exe";
  std::string filter = "--gtest_filter=FrontierCrash.Child";
  char* arguments[] = {program.data(), filter.data(), nullptr};
  pid_t child = 0;
  EXPECT_EQ(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environment.data()),
            0);
  close(ends[1]);
  uint64_t acknowledged = 0;
  char buffer[4096];
  while (acknowledged < at_least) {
    const ssize_t got = read(ends[0], buffer, sizeof(buffer));
    if (got <= 0) break;
    acknowledged += static_cast<uint64_t>(got);
  }
  usleep(static_cast<useconds_t>(extra_us));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "exit status " << WEXITSTATUS(status);
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    acknowledged += static_cast<uint64_t>(got);
  }
  close(ends[0]);
  return acknowledged;
}

TEST(FrontierCrash, NothingAcknowledgedIsLostLeasesAndDelaysHold) {
  const int rounds = std::getenv("ESCALONA_LONG") == nullptr ? 50 : 1000;
  const TestFolder folder;
  Model model(kOptions);
  std::mt19937 random(7);
  uint64_t n = 0;
  VirtualClock clock(absl::FromUnixMillis(TimeOf(0)));
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const uint64_t acknowledged =
        RunAndKill(folder.path(), n, 1 + random() % 60, static_cast<int>(random() % 3000));
    ASSERT_FALSE(HasFailure());
    model.Restart();
    for (uint64_t i = 0; i < acknowledged; ++i, ++n) {
      model.Tick(TimeOf(n));
      Do(model, *DeedOf(n), nullptr);
    }
    clock.Set(absl::FromUnixMillis(TimeOf(n)));
    model.Tick(TimeOf(n));
    auto frontier = Frontier::Open(folder.path(), kOptions, clock);
    ASSERT_TRUE(frontier.ok()) << frontier.status();
    // The deed that was under way happened, or it did not.
    Model with_last = model;
    Do(with_last, *DeedOf(n), nullptr);
    const State state = StateOf(**frontier);
    if (state != StateOf(model)) {
      ASSERT_TRUE(state == StateOf(with_last)) << "after " << n << " deeds";
      model = with_last;
    } else if (DeedOf(n)->what != Deed::kPut && DeedOf(n)->what != Deed::kGet) {
      // What it told cannot be seen; doing it again makes sure of it.
      ASSERT_TRUE(Do(**frontier, *DeedOf(n), nullptr));
      model = with_last;
    }
    ++n;
    model.Restart();
    for (int i = 0; i < 20; ++i, ++n) {
      clock.Set(absl::FromUnixMillis(TimeOf(n)));
      model.Tick(TimeOf(n));
      std::vector<Served> served;
      std::vector<Served> expected;
      ASSERT_TRUE(Do(**frontier, *DeedOf(n), &served));
      Do(model, *DeedOf(n), &expected);
      ASSERT_TRUE(served == expected)
          << "deed " << n << ": " << served.size() << " served, " << expected.size() << " expected";
    }
    ASSERT_TRUE(StateOf(**frontier) == StateOf(model)) << "after " << n << " deeds";
  }
}

}  // namespace
}  // namespace escalona

// An event counts once while its id is in the window.
#include "escalona/event_window.h"

#include <deque>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace escalona {
namespace {

TEST(EventWindow, AnIdIsKnownUntilAsManyOthersCameAsTheWindowHolds) {
  EventWindow window(2);
  EXPECT_TRUE(window.Admit("a"));
  EXPECT_FALSE(window.Admit("a"));
  EXPECT_TRUE(window.Admit("b"));
  EXPECT_FALSE(window.Admit("a"));
  EXPECT_TRUE(window.Admit("c"));
  EXPECT_TRUE(window.Admit("a"));
  EXPECT_EQ(window.size(), 2);
}

TEST(EventWindow, AForgottenIdMayComeAgain) {
  EventWindow window(3);
  EXPECT_TRUE(window.Admit("a"));
  window.Forget("a");
  EXPECT_TRUE(window.Admit("a"));
  EXPECT_FALSE(window.Admit("a"));
}

TEST(EventWindow, AWindowOfNoneAdmitsEverything) {
  EventWindow window(0);
  EXPECT_TRUE(window.Admit("a"));
  EXPECT_TRUE(window.Admit("a"));
}

TEST(EventWindow, AnotherCapacityKeepsTheNewestIds) {
  EventWindow window(3);
  for (const char* id : {"a", "b", "c", "d"}) EXPECT_TRUE(window.Admit(id));
  window.SetCapacity(5);
  EXPECT_EQ(window.size(), 3);
  for (const char* id : {"b", "c", "d"}) EXPECT_FALSE(window.Admit(id));
  window.SetCapacity(1);
  EXPECT_EQ(window.size(), 1);
  EXPECT_FALSE(window.Admit("d"));
  EXPECT_TRUE(window.Admit("c"));
}

TEST(EventWindow, EqualsAQueueOfTheLastIds) {
  std::mt19937 random(1);
  size_t capacity = 50;
  EventWindow window(capacity);
  std::deque<std::string> model;  // a forgotten id leaves an empty place
  for (int i = 0; i < 20000; ++i) {
    const std::string id = absl::StrCat("event", random() % 120);
    const auto known = std::find(model.begin(), model.end(), id);
    if (random() % 50 == 0) {
      capacity = random() % 100;
      window.SetCapacity(capacity);
      while (model.size() > capacity) model.pop_front();
      continue;
    }
    if (random() % 10 == 0) {
      window.Forget(id);
      if (known != model.end()) known->clear();
      continue;
    }
    ASSERT_EQ(window.Admit(id), known == model.end());
    if (known == model.end()) model.push_back(id);
    if (model.size() > capacity) model.pop_front();
  }
}

}  // namespace
}  // namespace escalona

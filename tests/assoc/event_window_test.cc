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

TEST(EventWindow, EqualsAQueueOfTheLastIds) {
  std::mt19937 random(1);
  EventWindow window(50);
  std::deque<std::string> model;  // a forgotten id leaves an empty place
  for (int i = 0; i < 20000; ++i) {
    const std::string id = absl::StrCat("event", random() % 120);
    const auto known = std::find(model.begin(), model.end(), id);
    if (random() % 10 == 0) {
      window.Forget(id);
      if (known != model.end()) known->clear();
      continue;
    }
    ASSERT_EQ(window.Admit(id), known == model.end());
    if (known == model.end()) model.push_back(id);
    if (model.size() > 50) model.pop_front();
  }
}

}  // namespace
}  // namespace escalona

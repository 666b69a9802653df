#include "ps/runtime/control/urgent_news.h"

#include <gtest/gtest.h>

namespace attune::ps::urgent_news_test {
namespace {

using std::chrono::milliseconds;

constexpr MonotonicTime At(int64_t time_ms) { return MonotonicTime{} + std::chrono::hours(1) + milliseconds(time_ms); }

TEST(UrgentNews, ThereIsALookAtMostTenTimesASecond) {
  UrgentNews news;
  EXPECT_TRUE(news.IsDue(At(0)));
  EXPECT_FALSE(news.IsDue(At(99)));
  EXPECT_TRUE(news.IsDue(At(100)));
  EXPECT_FALSE(news.IsDue(At(150)));
}

TEST(UrgentNews, WhatOthersWaitForIsNewsOnce) {
  struct Case {
    const char* name;
    void (*change)(JobProgress& progress, bool& formed);
  };
  const Case cases[] = {
      {"the lease has run out", [](JobProgress& progress, bool&) { progress.lease.held = false; }},
      {"it asks to be confirmed",
       [](JobProgress& progress, bool&) {
         progress.lease.wanted = {1, 3};
       }},
      {"all servers have joined", [](JobProgress&, bool& formed) { formed = true; }},
      {"the goal is reached", [](JobProgress& progress, bool&) { progress.goal_reached = "10 epochs"; }},
      {"what follows it is done", [](JobProgress& progress, bool&) { progress.closing.done = true; }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    UrgentNews news;
    JobProgress progress;
    bool formed = false;
    EXPECT_FALSE(news.Changed(progress, formed));
    c.change(progress, formed);
    EXPECT_TRUE(news.Changed(progress, formed));
    EXPECT_FALSE(news.Changed(progress, formed));
  }
}

TEST(UrgentNews, FiguresWaitForTheEndOfTheWindow) {
  UrgentNews news;
  JobProgress progress;
  progress.items_done = 7;
  progress.steps = 100;
  progress.lease.map_version = MapVersion(1, 9);
  EXPECT_FALSE(news.Changed(progress, false));
}

}  // namespace
}  // namespace attune::ps::urgent_news_test

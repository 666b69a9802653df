#include "ps/core/progress/announcement_trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>

namespace attune::ps::announcement_trial_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr NodeId kWorker{7}, kOther{8};

// Workers that report every half second how many steps they have ended, at these rates.
class AnnouncementTrialTest : public testing::Test {
 protected:
  struct Rates {
    double with = 100, without = 100;
  };
  void Go(Duration time) {
    for (const MonotonicTime end = now_ + time; now_ < end; now_ += milliseconds(500)) {
      for (auto& [worker, steps] : steps_) {
        steps += (trial_.acts() ? rates_.with : rates_.without) / 2;
        trial_.Report(worker, static_cast<uint64_t>(steps), announces_, now_);
      }
      if (!trial_.acts()) ignored_ += milliseconds(500);
    }
  }
  // Until the trial that is next or in progress has ended.
  void GoThroughTrial() {
    while (!trial_.in_progress()) Go(milliseconds(500));
    while (trial_.in_progress()) Go(milliseconds(500));
  }

  AnnouncementTrial trial_;
  std::map<NodeId, double> steps_ = {{kWorker, 0}, {kOther, 0}};
  Rates rates_;
  bool announces_ = true;
  Duration ignored_{};
  MonotonicTime now_{seconds(1000)};
};

TEST_F(AnnouncementTrialTest, WhatIsFasterIsKept) {
  rates_ = {.with = 80, .without = 100};
  EXPECT_TRUE(trial_.acts());
  GoThroughTrial();
  EXPECT_FALSE(trial_.acts());
  EXPECT_NEAR(*trial_.speedup(), 0.8, 0.01);

  rates_ = {.with = 150, .without = 100};
  GoThroughTrial();
  EXPECT_TRUE(trial_.acts()) << "the next trial found otherwise";
  EXPECT_NEAR(*trial_.speedup(), 1.5, 0.01);
}

TEST_F(AnnouncementTrialTest, WhatMakesNoDifferenceIsNotDone) {
  GoThroughTrial();
  EXPECT_FALSE(trial_.acts());
}

// Copies have to come before they pay: at first acting on announcements is slower, and it takes so long until it is
// not.
TEST_F(AnnouncementTrialTest, APhaseIsMeasuredOnceItsRateHasRisen) {
  while (!trial_.in_progress()) Go(milliseconds(500));
  for (Duration acted{}; trial_.in_progress();) {
    acted = trial_.acts() ? acted + milliseconds(500) : Duration::zero();
    rates_ = {.with = std::min(150.0, 30 + 15 * Seconds(acted)), .without = 100};
    Go(milliseconds(500));
  }
  EXPECT_TRUE(trial_.acts());
  EXPECT_NEAR(*trial_.speedup(), 1.5, 0.1);
}

TEST_F(AnnouncementTrialTest, ARateThatRisesForeverIsNotWaitedFor) {
  while (!trial_.in_progress()) Go(milliseconds(500));
  const MonotonicTime began = now_;
  for (rates_ = {}; trial_.in_progress(); rates_.without = rates_.with *= 1.1) Go(milliseconds(500));
  EXPECT_LT(now_ - began, seconds(90));
}

TEST_F(AnnouncementTrialTest, JobsThatAnnounceNothingAreLeftAlone) {
  announces_ = false;
  Go(minutes(60));
  EXPECT_EQ(ignored_, Duration::zero());
  EXPECT_FALSE(trial_.speedup());
}

TEST_F(AnnouncementTrialTest, TrialsTakeLittleOfTheTimeAndLessWithEachEqualOutcome) {
  rates_ = {.with = 200, .without = 100};
  Go(minutes(10));
  EXPECT_LT(ignored_, seconds(10 * 60) * 6 / 100);
  ignored_ = {};
  Go(minutes(100));
  EXPECT_LT(ignored_, seconds(100 * 60) * 15 / 1000);
  EXPECT_GT(ignored_, Duration::zero()) << "links may become quicker";
}

TEST_F(AnnouncementTrialTest, OnePhaseOfChanceDecidesNothing) {
  for (int phase = 0; phase < 6; ++phase) {
    SCOPED_TRACE(phase);
    trial_ = {};
    rates_ = {.with = 150, .without = 100};
    while (!trial_.in_progress()) Go(milliseconds(500));
    for (int i = 0; i < 6; ++i) {
      rates_ = i == phase ? Rates{.with = 20, .without = 900} : Rates{.with = 150, .without = 100};
      for (const bool acts = trial_.acts(); trial_.in_progress() && trial_.acts() == acts;) Go(milliseconds(500));
    }
    EXPECT_TRUE(trial_.acts());
    EXPECT_NEAR(*trial_.speedup(), 1.5, 0.05);
  }
}

TEST_F(AnnouncementTrialTest, SlowStepsGetLongerPhases) {
  rates_ = {.with = 0.5, .without = 1};
  GoThroughTrial();
  EXPECT_FALSE(trial_.acts());
  EXPECT_NEAR(*trial_.speedup(), 0.5, 0.07) << "some ten steps a phase";
}

TEST_F(AnnouncementTrialTest, AWorkerThatDoesNoStepsEndsATrialWithoutOutcome) {
  Go(seconds(4));
  ASSERT_TRUE(trial_.in_progress());
  rates_ = {.with = 0, .without = 0};
  Go(minutes(6));
  EXPECT_FALSE(trial_.speedup());
  EXPECT_TRUE(trial_.acts());
}

TEST_F(AnnouncementTrialTest, AJobWithSuchAWorkerIsNotOnTrialAgainAndAgain) {
  rates_ = {.with = 0.01, .without = 0.01};
  Duration on_trial{};
  for (int i = 0; i < 2 * 3600; ++i) {
    Go(milliseconds(500));
    if (trial_.in_progress()) on_trial += milliseconds(500);
  }
  EXPECT_LT(on_trial, minutes(6));
}

// A worker's link was cut, or its process stood still.
TEST_F(AnnouncementTrialTest, ReportsThatWereHeldUpAndComeAtOnceMeasureNothing) {
  rates_ = {.with = 150, .without = 100};
  while (!trial_.in_progress()) Go(milliseconds(500));
  steps_.erase(kOther);
  Go(seconds(10));
  trial_.Report(kOther, 5000, true, now_);
  trial_.Report(kOther, 9000, true, now_);
  steps_[kOther] = 9000;
  GoThroughTrial();
  ASSERT_TRUE(trial_.speedup());
  EXPECT_NEAR(*trial_.speedup(), 1.5, 0.05);
}

TEST_F(AnnouncementTrialTest, WorkersThatComeAndGoAndPausesEndATrialWithoutOutcome) {
  const std::pair<const char*, std::function<void()>> kTable[] = {
      {"a worker comes", [&] { trial_.Report(NodeId(9), 0, true, now_); }},
      {"one goes", [&] { trial_.Remove(kOther, now_); }},
      {"one announces no more", [&] { trial_.Report(kOther, 0, false, now_); }},
      {"the coordinator stood still", [&] { trial_.SkipPause(seconds(20), now_); }}};
  for (const auto& [name, happens] : kTable) {
    SCOPED_TRACE(name);
    trial_ = {};
    rates_ = {.with = 100, .without = 300};
    Go(seconds(20));
    ASSERT_TRUE(trial_.in_progress());
    happens();
    EXPECT_FALSE(trial_.in_progress());
    EXPECT_TRUE(trial_.acts()) << "as before it";
    EXPECT_FALSE(trial_.speedup());
    trial_.Remove(NodeId(9), now_);
    GoThroughTrial();
    EXPECT_FALSE(trial_.acts()) << "it is tried again";
  }
}

}  // namespace
}  // namespace attune::ps::announcement_trial_test

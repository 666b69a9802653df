#include "operator/controller/tuning/state/past_tuners.h"

#include <gtest/gtest.h>

#include "tests/operator/controller/tuning/formula_job.h"

namespace attune::controller::past_tuners_test {
namespace {

// A tuner that has decided some changes of a job in which workers help.
tuner::Tuner Busy() {
  tuner::JobDescription job;
  job.space.knobs = {{"servers", 1, 4}, {"workers", 1, 8}};
  job.goal = {.kind = tuner::GoalKind::kSteps, .target = 60'000};
  job.window_seconds = 5;
  tuner::Tuner tuner = tuner::Tuner::Create(job, Priors()).value();
  tuner::Setting here{1, 1};
  double time = 0;
  for (int i = 0; i < 30; ++i) {
    const tuner::Decision decision = tuner.Decide(time, here);
    here = decision.setting;
    time += decision.seconds;
    const Status taken = tuner.Absorb(
        {.setting = here, .time = time, .seconds = decision.seconds, .steps = 10.0 * here[1] * decision.seconds});
    EXPECT_TRUE(taken.ok()) << taken;
  }
  EXPECT_FALSE(tuner.records().empty());
  return tuner;
}

TEST(PastTunersTest, TheNextTunerIsNumberedBehind) {
  const tuner::Tuner tuner = Busy();
  PastTuners past;
  std::vector<TuningOutput::Event> events;
  past.Add(tuner, /*tried=*/true, events);
  past.Add(tuner, /*tried=*/true, events);
  const size_t each = tuner.records().size();
  ASSERT_EQ(past.story().size(), 2 * each);
  EXPECT_EQ(past.story().back().record.number, 2 * tuner.records().back().number);
  EXPECT_EQ(past.decided(), past.story().back().record.number);
  EXPECT_DOUBLE_EQ(past.spent(), 2 * tuner.spent());
  for (const tuner::NamedRecord& named : past.story()) EXPECT_NE(named.record.verdict, tuner::Verdict::kOpen);
}

TEST(PastTunersTest, EveryOutcomeIsAnnouncedOnce) {
  const tuner::Tuner tuner = Busy();
  PastTuners past;
  std::vector<TuningOutput::Event> events;
  past.Report(tuner, events);
  past.Report(tuner, events);
  past.Add(tuner, /*tried=*/true, events);
  EXPECT_EQ(events.size(), tuner.records().size());
}

TEST(PastTunersTest, WhatWasOnlyRecommendedIsNoPartOfTheStory) {
  PastTuners past;
  std::vector<TuningOutput::Event> events;
  past.Add(Busy(), /*tried=*/false, events);
  EXPECT_TRUE(past.story().empty());
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(past.decided(), 0u);
  EXPECT_GT(past.spent(), 0);
}

TEST(PastTunersTest, TheNextTunerBeginsWithWhatTheyMeasured) {
  const tuner::Tuner tuner = Busy();
  tuner::JobHistory of_others;
  of_others.Add({.signature = "another job"});
  PastTuners past;
  past.SetHistory(of_others);
  std::vector<TuningOutput::Event> events;
  past.Add(tuner, /*tried=*/false, events);
  ASSERT_EQ(past.history().entries().size(), 2U);
  EXPECT_EQ(past.history().entries().back().signature, tuner.Summary().signature);
}

TEST(PastTunersTest, TheStoryIsBounded) {
  const tuner::Tuner tuner = Busy();
  PastTuners past;
  std::vector<TuningOutput::Event> events;
  for (int i = 0; i < 200; ++i) past.Add(tuner, /*tried=*/true, events);
  EXPECT_LE(past.story().size(), PastTuners::kStoryMax);
  EXPECT_EQ(past.story().back().record.number, past.decided());
}

}  // namespace
}  // namespace attune::controller::past_tuners_test

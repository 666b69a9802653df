#include "operator/tuner/choice/trial.h"

#include <gtest/gtest.h>

#include "tests/operator/tuner/belief/measured_job.h"

namespace attune::tuner::trial_test {
namespace {

TEST(TrialTest, AYoungJobThatIsLongIsWorthATrial) {
  MeasuredJob job;
  job.Measure({1, 1}, 10, 5);
  const View view = job.LookFrom({1, 1});
  const Proposal trial = BestTrial(job.evidence, view, kCaution);
  ASSERT_GE(trial.setting, 0);
  EXPECT_NE(trial.setting, view.incumbent);
  EXPECT_GT(trial.value, 0);
  EXPECT_GT(trial.saving, 0);
  EXPECT_GT(trial.cost, 0);
}

TEST(TrialTest, CautionMakesATrialWorthLess) {
  MeasuredJob job;
  job.Measure({1, 1}, 10, 5);
  const View view = job.LookFrom({1, 1});
  EXPECT_GT(BestTrial(job.evidence, view, kCaution).value, BestTrial(job.evidence, view, 4 * kCaution).value);
}

TEST(TrialTest, AJobThatEndsSoonIsNotWorthATrial) {
  MeasuredJob job;
  job.Measure({1, 1}, 10, 5);
  job.evidence.SetEnding(job.time, {.steps = 60});
  EXPECT_LE(BestTrial(job.evidence, job.LookFrom({1, 1}), kCaution).value, 0);
}

TEST(TrialTest, NeitherWhatIsKnownNorWhatCrashedIsTried) {
  MeasuredJob job;
  for (int servers = 1; servers <= 4; ++servers) {
    for (int workers = 1; workers <= 8; ++workers) {
      if (servers != 4 || workers != 8) job.Measure({servers, workers}, workers, 3);
    }
  }
  job.Crash({4, 8});
  EXPECT_EQ(BestTrial(job.evidence, job.LookFrom({1, 1}), kCaution).setting, -1);
}

TEST(TrialTest, AShorterLeadIsNotTriedWhereUpdatesCountWhateverTheyAreWorth) {
  JobDescription with_slack = SmallJob();
  with_slack.space.knobs = {{"workers", 4, 4}, {"slack", 0, kSlackAsync}};
  with_slack.space.current = Setting{4, kSlackAsync};
  MeasuredJob job(with_slack);
  job.Measure({4, kSlackAsync}, 10, 5);
  EXPECT_EQ(BestTrial(job.evidence, job.LookFrom({4, kSlackAsync}), kCaution).setting, -1);
}

}  // namespace
}  // namespace attune::tuner::trial_test

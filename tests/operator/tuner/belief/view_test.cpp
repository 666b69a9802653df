#include "operator/tuner/belief/view.h"

#include <gtest/gtest.h>

#include "tests/operator/tuner/belief/measured_job.h"

namespace attune::tuner::view_test {
namespace {

TEST(ViewTest, TheIncumbentIsTheBestMeasuredSetting) {
  MeasuredJob job;
  job.Measure({1, 1}, 10, 5);
  job.Measure({2, 4}, 30, 5);
  job.Measure({3, 8}, 20, 5);
  const View view = job.LookFrom({1, 1});
  EXPECT_EQ(view.incumbent, job.Id({2, 4}));
  EXPECT_NEAR(view.GainOver(job.Id({2, 4}), job.Id({1, 1})).mean, std::log(3), 0.1);
  EXPECT_DOUBLE_EQ(view.windows[static_cast<size_t>(job.Id({2, 4}))], 5);
}

TEST(ViewTest, ACrashedSettingIsNoIncumbent) {
  MeasuredJob job;
  job.Measure({1, 1}, 10, 5);
  job.Measure({2, 4}, 30, 5);
  job.Crash({2, 4});
  EXPECT_EQ(job.LookFrom({1, 1}).incumbent, job.Id({1, 1}));
}

TEST(ViewTest, TheRestOfAGoalInStepsIsEstimatedFromTheSpeed) {
  MeasuredJob job;
  EXPECT_FALSE(job.LookFrom({1, 1}).remaining) << "nothing is measured";
  job.Measure({1, 1}, 10, 5);
  const View view = job.LookFrom({1, 1});
  ASSERT_TRUE(view.remaining);
  EXPECT_NEAR(view.remaining->mid, 59'750 / 10.0, 200);
  EXPECT_LT(view.remaining->low, view.remaining->mid);
  EXPECT_GT(view.remaining->high, view.remaining->mid);
  EXPECT_EQ(view.outlook, Outlook::kEstimated);
  EXPECT_DOUBLE_EQ(view.horizon, view.remaining->mid);
}

TEST(ViewTest, AtTheLeastCostTheIncumbentIsCheaper) {
  JobDescription cheap = SmallJob();
  cheap.objective.kind = ObjectiveKind::kCost;
  MeasuredJob fast, frugal(cheap);
  for (MeasuredJob* job : {&fast, &frugal}) {
    job->Measure({1, 1}, 10, 5);
    job->Measure({4, 8}, 20, 5);  // twice as fast with six times the pods
  }
  EXPECT_EQ(fast.LookFrom({1, 1}).incumbent, fast.Id({4, 8}));
  EXPECT_EQ(frugal.LookFrom({1, 1}).incumbent, frugal.Id({1, 1}));
}

TEST(ViewTest, WhatIsMeasuredIsCertain) {
  MeasuredJob job;
  job.Measure({1, 1}, 10, 5);
  job.Measure({2, 4}, 30, 5);
  const View view = job.LookFrom({1, 1});
  EXPECT_GT(Certainty(job.evidence, view, job.Id({2, 4}), job.Id({1, 1})), 0.99);
  EXPECT_LT(Certainty(job.evidence, view, job.Id({1, 1}), job.Id({2, 4})), 0.01);
}

TEST(ViewTest, WhereUpdatesCountWhateverTheyAreWorthNothingCollapses) {
  MeasuredJob job;
  job.Measure({2, 8}, 10, 5);
  EXPECT_DOUBLE_EQ(CollapseProbability(job.evidence, job.LookFrom({2, 8})), 0);
}

}  // namespace
}  // namespace attune::tuner::view_test

#include "operator/tuner/choice/start_design.h"

#include <gtest/gtest.h>

#include "tests/operator/tuner/belief/measured_job.h"

namespace attune::tuner::start_design_test {
namespace {

TEST(StartDesignTest, ThereIsOneFirstLook) {
  MeasuredJob job;
  StartDesign design;
  const View view = job.LookFrom({1, 1});
  const auto look = design.Next(job.evidence, view);
  ASSERT_TRUE(look);
  EXPECT_TRUE(*look == view.current || IsBearable(view, *look));
  EXPECT_EQ(design.Next(job.evidence, view), std::nullopt);
  EXPECT_EQ(design.taken(), 1u);
}

TEST(StartDesignTest, ADesignThatWasTakenIsNotTakenAgain) {
  MeasuredJob job;
  StartDesign design;
  design.Load(1);
  EXPECT_EQ(design.Next(job.evidence, job.LookFrom({1, 1})), std::nullopt);
}

TEST(StartDesignTest, WhatIsMeasuredNeedsNoLook) {
  MeasuredJob job;
  for (int servers = 1; servers <= 4; ++servers)
    for (int workers = 1; workers <= 8; ++workers) job.Measure({servers, workers}, 10, 1);
  StartDesign design;
  EXPECT_EQ(design.Next(job.evidence, job.LookFrom({1, 1})), std::nullopt);
}

TEST(StartDesignTest, TimesOfProcessesStandInForALook) {
  MeasuredJob job;
  job.Measure({1, 1}, 10, 2, {.worker_compute = 0.9, .server_busy = 0.1});
  ASSERT_TRUE(job.evidence.KnowsTimes());
  StartDesign design;
  EXPECT_EQ(design.Next(job.evidence, job.LookFrom({1, 1})), std::nullopt);
  EXPECT_EQ(design.taken(), 0u);
}

TEST(StartDesignTest, WherePodsTakeLongerThanWindowsTheJobIsMeasuredWhereItIs) {
  JobDescription slow = SmallJob();
  slow.costs.pods = 60;
  MeasuredJob job(slow);
  StartDesign design;
  EXPECT_EQ(design.Next(job.evidence, job.LookFrom({1, 1})), job.Id({1, 1}));
}

TEST(StartDesignTest, WhatIsMuchSlowerIsNotBearable) {
  MeasuredJob job;
  job.Measure({2, 4}, 10, 5);
  job.Measure({1, 1}, 5, 5);
  const View view = job.LookFrom({2, 4});
  EXPECT_FALSE(IsBearable(view, job.Id({1, 1})));
  EXPECT_TRUE(IsBearable(view, job.Id({2, 4})));
}

}  // namespace
}  // namespace attune::tuner::start_design_test

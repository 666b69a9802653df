#include "operator/tuner/choice/efficiency_probe.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/operator/tuner/belief/measured_job.h"

namespace attune::tuner::efficiency_probe_test {
namespace {

// A job that runs with all its workers while its loss hardly falls: a collapse of progress looks like a flat curve.
struct Flat : MeasuredJob {
  Flat() : MeasuredJob(Job()) {
    Measure({4, 1}, 10, 3, {.loss_mean = 1.0});
    for (int i = 0; i < 40; ++i) {
      const double loss = std::exp(-0.0005 * i + 0.004 * ((i * 7) % 5 - 2));
      Measure({4, 8}, 60, 1, {.loss_mean = loss, .staleness = 7});
      probe.Absorb(Id({4, 8}), 1, true);
    }
  }
  static JobDescription Job() {
    JobDescription job = SmallJob();
    job.goal = {.kind = GoalKind::kLoss, .target = 0.2};
    return job;
  }
  EfficiencyProbe probe;
};

TEST(EfficiencyProbeTest, WhereUpdatesCountNothingIsProbed) {
  MeasuredJob job;
  job.Measure({1, 8}, 10, 20);
  EfficiencyProbe probe;
  probe.Absorb(job.Id({1, 8}), 20, true);
  EXPECT_EQ(probe.Next(job.evidence, job.LookFrom({1, 8})), std::nullopt);
}

TEST(EfficiencyProbeTest, ItWaitsForSomeWindowsWithALoss) {
  Flat job;
  EfficiencyProbe young;
  young.Absorb(job.Id({4, 8}), 100, false);
  EXPECT_EQ(young.Next(job.evidence, job.LookFrom({4, 8})), std::nullopt);
}

TEST(EfficiencyProbeTest, AProbeIsAtAnotherStalenessAndIsCarriedThrough) {
  Flat job;
  const View view = job.LookFrom({4, 8});
  const auto first = job.probe.Next(job.evidence, view);
  ASSERT_TRUE(first);
  EXPECT_NE(view.staleness[static_cast<size_t>(first->setting)], view.staleness[static_cast<size_t>(view.incumbent)]);
  EXPECT_GT(first->saving, first->cost);
  const auto second = job.probe.Next(job.evidence, view);
  ASSERT_TRUE(second) << "its windows are not made yet";
  EXPECT_EQ(second->setting, first->setting);
  job.probe.Absorb(first->setting, job.probe.Save().planned, true);
  EXPECT_EQ(job.probe.Next(job.evidence, view), std::nullopt) << "they are";
  EXPECT_EQ(job.probe.Next(job.evidence, view), std::nullopt) << "and the next one waits";
}

TEST(EfficiencyProbeTest, AProbeThatCrashedEnds) {
  Flat job;
  const auto first = job.probe.Next(job.evidence, job.LookFrom({4, 8}));
  ASSERT_TRUE(first);
  job.Crash(job.evidence.space().setting(first->setting));
  EXPECT_EQ(job.probe.Next(job.evidence, job.LookFrom({4, 8})), std::nullopt);
  EXPECT_EQ(job.probe.Save().setting, -1);
}

TEST(EfficiencyProbeTest, ALoadedOneContinues) {
  Flat job;
  const View view = job.LookFrom({4, 8});
  const auto first = job.probe.Next(job.evidence, view);
  ASSERT_TRUE(first);
  EfficiencyProbe loaded;
  loaded.Load(job.probe.Save());
  const auto next = loaded.Next(job.evidence, view);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->setting, first->setting);
}

}  // namespace
}  // namespace attune::tuner::efficiency_probe_test

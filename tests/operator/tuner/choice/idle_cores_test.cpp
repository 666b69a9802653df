#include "operator/tuner/choice/idle_cores.h"

#include <gtest/gtest.h>

#include "tests/operator/tuner/belief/measured_job.h"

namespace attune::tuner::idle_cores_test {
namespace {

JobDescription WithCores() {
  JobDescription job = SmallJob();
  job.space.knobs = {{"workers", 2, 4}, {"worker_millicores", 1000, 4000}};
  job.space.current = Setting{4, 4000};
  return job;
}

// Far below its limits.
Report Idle() { return {.worker_throttled = 0, .worker_cpu = 0.1}; }

TEST(IdleCoresTest, FewerCoresForTheSamePodsOnlyStarve) {
  MeasuredJob job(WithCores());
  EXPECT_TRUE(OnlyStarves(job.evidence, job.Id({4, 1000}), job.Id({4, 4000})));
  EXPECT_FALSE(OnlyStarves(job.evidence, job.Id({4, 4000}), job.Id({4, 1000})));
  EXPECT_FALSE(OnlyStarves(job.evidence, job.Id({2, 1000}), job.Id({4, 4000}))) << "fewer pods as well";
}

TEST(IdleCoresTest, AtTheLeastCostFewerCoresMayBeTried) {
  JobDescription cheap = WithCores();
  cheap.objective.kind = ObjectiveKind::kCost;
  MeasuredJob job(cheap);
  EXPECT_FALSE(OnlyStarves(job.evidence, job.Id({4, 1000}), job.Id({4, 4000})));
}

TEST(IdleCoresTest, CoresThatAreNotUsedAreGivenBack) {
  MeasuredJob job(WithCores());
  job.Measure({4, 4000}, 10, 8, Idle());
  const int spare = WithoutIdleCores(job.evidence, job.LookFrom({4, 4000}), 8);
  EXPECT_EQ(job.evidence.space().Value(spare, "workers", 0), 4);
  EXPECT_LT(job.evidence.space().Value(spare, "worker_millicores", 0), 4000);
}

TEST(IdleCoresTest, NothingIsGivenBackBeforeTheSettingIsKnown) {
  MeasuredJob job(WithCores());
  job.Measure({4, 4000}, 10, 8, Idle());
  EXPECT_EQ(WithoutIdleCores(job.evidence, job.LookFrom({4, 4000}), kKnownWindows - 1), job.Id({4, 4000}));
}

TEST(IdleCoresTest, CoresThatAreUsedStay) {
  MeasuredJob job(WithCores());
  job.Measure({4, 4000}, 10, 8, {.worker_throttled = 0.1, .worker_cpu = 0.95});
  EXPECT_EQ(WithoutIdleCores(job.evidence, job.LookFrom({4, 4000}), 8), job.Id({4, 4000}));
}

}  // namespace
}  // namespace attune::tuner::idle_cores_test

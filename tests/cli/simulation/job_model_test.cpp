#include "cli/simulation/job_model.h"

#include <gtest/gtest.h>

#include "operator/tuner/space/knob.h"

namespace attune::cli::job_model_test {
namespace {

using controller::JobSetting;

// A step is a second of computing on one core, so that figures can be checked by hand.
JobModel Plain() {
  JobModel model;
  model.samples_per_second = model.samples_per_step = 1000;
  return model;
}

double Speed(const JobModel& model, const JobSetting& setting, SyncMode mode = SyncMode::Async()) {
  return FiguresAt(model, setting, mode).steps_per_second;
}

TEST(JobModel, OneWorkerComputesThenSendsThenIsServed) {
  const ModelFigures figures = FiguresAt(Plain(), {.servers = 1, .workers = 1}, SyncMode::Async());
  const double seconds = 1 + 0.05 + 0.005 + 0.2;
  EXPECT_NEAR(figures.steps_per_second, 1 / seconds, 1e-9);
  EXPECT_NEAR(figures.worker_compute, 1 / seconds, 1e-9);
  EXPECT_NEAR(figures.server_busy, 0.2 / seconds, 1e-9);
  EXPECT_EQ(figures.staleness, 0);
  EXPECT_EQ(figures.worth, 1);
}

TEST(JobModel, TwoWorkersWaitForEachOtherAtTheServerByExactMeanValueAnalysis) {
  const double away = 1.055, service = 0.2;
  const double queue = service / (away + service);
  EXPECT_NEAR(Speed(Plain(), {.servers = 1, .workers = 2}), 2 / (away + service * (1 + queue)), 1e-9);
}

TEST(JobModel, WorkersHelpUntilTheServersAreBusyAndServersHelpThen) {
  const JobModel model = Plain();
  EXPECT_GT(Speed(model, {.servers = 1, .workers = 4}), 3 * Speed(model, {.servers = 1, .workers = 1}));
  EXPECT_LT(Speed(model, {.servers = 1, .workers = 32}), 5.0 + 1e-9) << "one server serves five steps a second";
  EXPECT_GT(FiguresAt(model, {.servers = 1, .workers = 32}, SyncMode::Async()).server_busy, 0.99);
  EXPECT_GT(Speed(model, {.servers = 4, .workers = 32}), 3 * Speed(model, {.servers = 1, .workers = 32}));
}

TEST(JobModel, ThreadsShareWhatMemoryDoesNotBound) {
  JobModel model = Plain();
  model.server_share = model.link_share = 0;
  const double one = 1.005, four = 0.8 / 4 + 0.2 + 0.005;
  EXPECT_NEAR(Speed(model, {.servers = 1, .workers = 1, .threads = 4}), 1 / four, 1e-9);
  model.memory_bound = 1;
  EXPECT_NEAR(Speed(model, {.servers = 1, .workers = 1, .threads = 4}), 1 / one, 1e-9);
}

TEST(JobModel, AMachineIsFullWhenItsCoresAreAndMoreProcessesDoHarm) {
  JobModel model = Plain();
  model.machine_cores = 2;
  EXPECT_DOUBLE_EQ(Speed(model, {.servers = 1, .workers = 1}), Speed(Plain(), {.servers = 1, .workers = 1}));
  EXPECT_LE(Speed(model, {.servers = 1, .workers = 8}), 2 / 1.2 + 1e-9) << "a step takes 1.2 s of CPU time";
  EXPECT_LT(Speed(model, {.servers = 1, .workers = 8}), Speed(model, {.servers = 1, .workers = 3}));
}

TEST(JobModel, ABoundedLeadWaitsForTheSlowestAndTheLessTheLongerItIs) {
  const JobSetting setting = {.servers = 2, .workers = 8};
  const double bsp = Speed(Plain(), setting, SyncMode::Bsp()), ssp = Speed(Plain(), setting, SyncMode::Ssp(4));
  EXPECT_LT(bsp, ssp);
  EXPECT_LT(ssp, Speed(Plain(), setting));
  JobSetting own = setting;
  own.slack = 0;
  EXPECT_DOUBLE_EQ(Speed(Plain(), own), bsp) << "a setting with a pace of its own overrules the job's";
}

TEST(JobModel, ALimitOfCpuStretchesTheComputingAndShowsAsThrottling) {
  const JobModel model = Plain();
  const ModelFigures half = FiguresAt(model, {.servers = 1, .workers = 1, .worker_millicores = 500}, SyncMode::Async());
  EXPECT_NEAR(half.steps_per_second, 1 / (2 + 0.055 + 0.2), 1e-9);
  EXPECT_NEAR(half.worker_throttled, 0.5 * half.worker_compute, 1e-9);
  EXPECT_NEAR(half.worker_cpu, half.worker_compute, 1e-9) << "while it computes it has all that it may";
  const ModelFigures ample =
      FiguresAt(model, {.servers = 1, .workers = 1, .worker_millicores = 4000}, SyncMode::Async());
  EXPECT_EQ(ample.worker_throttled, 0);
  EXPECT_LT(ample.worker_cpu, 0.25);
}

TEST(JobModel, StaleRowsCostProgressWhereTheyAreSaidTo) {
  JobModel model = Plain();
  model.staleness_cost = 0.1;
  const ModelFigures figures = FiguresAt(model, {.servers = 2, .workers = 11}, SyncMode::Async());
  EXPECT_NEAR(figures.worth, 0.5, 1e-9);
  EXPECT_NEAR(figures.progress(), 0.5 * figures.steps_per_second, 1e-9);
}

}  // namespace
}  // namespace attune::cli::job_model_test

#include "operator/controller/tuning/state/window_meter.h"

#include <gtest/gtest.h>

namespace attune::controller::window_meter_test {
namespace {

// A window of ten seconds in which a hundred steps were made.
struct Metered {
  Metered() {
    before.time = 20;
    before.steps = 500;
    before.settled = true;
    after = before;
    after.time = 30;
    after.steps = 600;
    meter.Open(before, before.time);
  }
  TuningInput before, after;
  WindowMeter meter;
};

TEST(WindowMeterTest, AWindowIsTheDifferenceOfCounters) {
  Metered job;
  job.before.loss_sum = 10;
  job.before.loss_weight = 5;
  job.meter.Open(job.before, 20);
  job.after.loss_sum = 16;
  job.after.loss_weight = 8;
  EXPECT_DOUBLE_EQ(job.meter.Length(30), 10);
  const auto report = job.meter.Close(job.after, false);
  ASSERT_TRUE(report);
  EXPECT_DOUBLE_EQ(report->seconds, 10);
  EXPECT_DOUBLE_EQ(report->steps, 100);
  EXPECT_DOUBLE_EQ(report->time, 30);
  EXPECT_EQ(report->loss_mean, 2);
  EXPECT_DOUBLE_EQ(job.meter.Length(34), 4) << "the next window begins";
}

TEST(WindowMeterTest, WhatIsNoWindowIsNotReported) {
  Metered restarted, brief, dropped;
  restarted.after.steps = 3;
  EXPECT_EQ(restarted.meter.Close(restarted.after, false), std::nullopt) << "the counters began again";
  brief.after.time = 20.01;
  EXPECT_EQ(brief.meter.Close(brief.after, false), std::nullopt);
  dropped.meter.Drop();
  EXPECT_FALSE(dropped.meter.is_open());
  EXPECT_EQ(dropped.meter.Close(dropped.after, false), std::nullopt);
}

TEST(WindowMeterTest, AMetricIsReportedOnce) {
  Metered job;
  job.after.metric = 0.8;
  job.after.metric_reports = 1;
  EXPECT_EQ(job.meter.Close(job.after, false)->metric, 0.8);
  job.after.time = 40;
  EXPECT_EQ(job.meter.Close(job.after, false)->metric, std::nullopt);
}

TEST(WindowMeterTest, FiguresAreMeansOfThePodsThatHaveThem) {
  Metered job;
  job.after.worker_figures = {{.cpu = 0.5, .throttled = 0.2, .at_work = 0.6},
                              {.cpu = 0, .throttled = 0.9, .at_work = {}}};
  const auto report = job.meter.Close(job.after, false);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->worker_cpu, 0.5) << "the other one has no limit";
  EXPECT_EQ(report->worker_throttled, 0.2);
  EXPECT_EQ(report->worker_compute, 0.6);
  EXPECT_EQ(report->server_cpu, std::nullopt);
}

TEST(WindowMeterTest, TheEndOfAChangeSaysNothingOfPods) {
  for (const bool settled : {false, true}) {
    Metered job;
    job.after.settled = settled;
    job.after.server_memory = 0.7;
    const auto report = job.meter.Close(job.after, true);
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->during_change);
    EXPECT_EQ(report->server_memory.has_value(), !settled) << "settled pods are those of the new setting";
  }
}

}  // namespace
}  // namespace attune::controller::window_meter_test

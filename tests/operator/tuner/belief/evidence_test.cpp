#include "operator/tuner/belief/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/operator/tuner/belief/measured_job.h"

namespace attune::tuner::evidence_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Report Window() { return {.setting = {2, 4}, .time = 5, .seconds = 5, .steps = 50}; }

TEST(EvidenceTest, AJobThatCannotBeTunedIsRefused) {
  PriorCache priors;
  JobDescription job = SmallJob();
  job.window_seconds = 0;
  EXPECT_THAT(std::string(Message(Evidence::Create(job, priors).status())), HasSubstr("window must last"));
  job = SmallJob();
  job.goal.target = -1;
  EXPECT_THAT(std::string(Message(Evidence::Create(job, priors).status())), HasSubstr("target must be"));
}

TEST(EvidenceTest, WhatCannotBeTrueChangesNothing) {
  const struct {
    const char* what;
    void (*falsify)(Report&);
    const char* want;
  } cases[] = {
      {"knobs of another space", [](Report& r) { r.setting = {1}; }, "has not the knobs"},
      {"steps that went back", [](Report& r) { r.steps = -1; }, "not be negative"},
      {"a time that is no number", [](Report& r) { r.time = std::nan(""); }, "must be finite"},
      {"no time at all", [](Report& r) { r.seconds = 0; }, "longer than 0 s"},
      {"more than all of a worker's time", [](Report& r) { r.worker_compute = 2; }, "must be shares"},
      {"memory below nothing", [](Report& r) { r.server_memory = -0.5; }, "memory must be a share"},
  };
  for (const auto& [what, falsify, want] : cases) {
    MeasuredJob job;
    Report report = Window();
    falsify(report);
    EXPECT_THAT(std::string(Message(job.evidence.Absorb(report))), HasSubstr(want)) << what;
    EXPECT_DOUBLE_EQ(job.evidence.progress().StepsToGo(), 60'000) << what;
  }
}

TEST(EvidenceTest, OfAnUnknownSettingOnlyTheStepsCount) {
  MeasuredJob job;
  Report report = Window();
  report.setting = {9, 9};
  EXPECT_THAT(std::string(Message(job.evidence.Absorb(report))), HasSubstr("its steps count"));
  EXPECT_DOUBLE_EQ(job.evidence.progress().StepsToGo(), 59'950);
  EXPECT_TRUE(job.evidence.blocks().blocks().empty());
}

TEST(EvidenceTest, AWindowThatEndsBeforeTheLastOneIsOld) {
  MeasuredJob job;
  job.Measure({2, 4}, 10, 4);
  EXPECT_THAT(std::string(Message(job.evidence.Absorb(Window()))), HasSubstr("before the last one"));
}

TEST(EvidenceTest, AChangeSaysNothingOfSpeed) {
  MeasuredJob job;
  job.Measure({2, 4}, 10, 2, {.during_change = true});
  EXPECT_TRUE(job.evidence.blocks().blocks().empty());
  EXPECT_DOUBLE_EQ(job.evidence.progress().StepsToGo(), 59'900);
}

TEST(EvidenceTest, ACrashedSettingIsBannedAndReportedToSimilarJobs) {
  MeasuredJob job;
  job.Crash({4, 8});
  EXPECT_TRUE(job.evidence.IsBanned(job.Id({4, 8})));
  EXPECT_FALSE(job.evidence.IsBanned(job.Id({2, 2})));
  EXPECT_THAT(job.evidence.Summary().crashed, ElementsAre(Setting{4, 8}));
}

TEST(EvidenceTest, SimilarJobsBringTheirSpeedsAndCrashes) {
  MeasuredJob first;
  first.Measure({2, 4}, 10, 3);
  first.Crash({4, 8});
  JobDescription second = SmallJob();
  second.history.Add(first.evidence.Summary());
  const MeasuredJob job(second);
  ASSERT_EQ(job.evidence.blocks().blocks().size(), 1u);
  EXPECT_EQ(job.evidence.blocks().blocks()[0].source, 1);
  EXPECT_TRUE(job.evidence.IsBanned(job.Id({4, 8})));
}

TEST(EvidenceTest, TheLossIsWhatTheGoalIsAbout) {
  JobDescription loss = SmallJob(), metric = SmallJob();
  loss.goal = {.kind = GoalKind::kLoss, .target = 0.1};
  metric.goal = {.kind = GoalKind::kMetric, .target = 20, .metric_falls = true};
  const Report report{.loss_mean = 0.7, .metric = 35};
  EXPECT_EQ(MeasuredJob(loss).evidence.LossIn(report), 0.7);
  EXPECT_EQ(MeasuredJob(metric).evidence.LossIn(report), 35);
  EXPECT_EQ(MeasuredJob(loss).evidence.LossIn({.loss_mean = std::nan("")}), std::nullopt);
  EXPECT_EQ(MeasuredJob(metric).evidence.LossIn({.loss_mean = 0.7}), std::nullopt);
}

TEST(EvidenceTest, MoneyIsSpentByTheHour) {
  MeasuredJob job;  // a pod costs one
  job.Measure({2, 4}, 10, 6);
  EXPECT_DOUBLE_EQ(job.evidence.spent(), 6 * 30.0 / 3600);
}

TEST(EvidenceTest, ALoadedOneHasSeenTheSame) {
  MeasuredJob job, loaded;
  job.Measure({2, 4}, 10, 3, {.staleness = 5, .server_memory = 0.5, .worker_memory = 0.4});
  job.Crash({4, 8});
  loaded.evidence.Load(job.evidence.Save());
  EXPECT_EQ(loaded.evidence.blocks().blocks().size(), job.evidence.blocks().blocks().size());
  EXPECT_TRUE(loaded.evidence.IsBanned(job.Id({4, 8})));
  EXPECT_DOUBLE_EQ(loaded.evidence.ExpectedStaleness(job.Id({2, 4})), 5);
  EXPECT_DOUBLE_EQ(loaded.evidence.progress().StepsToGo(), job.evidence.progress().StepsToGo());
  EXPECT_DOUBLE_EQ(loaded.evidence.spent(), job.evidence.spent());
}

}  // namespace
}  // namespace attune::tuner::evidence_test

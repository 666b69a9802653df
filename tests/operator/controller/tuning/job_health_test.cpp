#include "operator/controller/tuning/job_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace attune::controller::job_health_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A healthy job of two servers and three workers whose loss falls; tests make something wrong with it.
class HealthTest : public ::testing::Test {
 protected:
  HealthTest() {
    input_.policy.window_seconds = 5;
    input_.wanted = {2, 3};
    input_.training = input_.settled = true;
    input_.server_figures.assign(2, {.cpu = 0.3, .memory = 0.4, .requests = 100});
    input_.worker_figures.assign(3, {.cpu = 0.8, .memory = 0.3, .step_seconds = 0.1, .wait_share = 0.1});
    for (std::vector<NodeFigures>* figures : {&input_.server_figures, &input_.worker_figures}) {
      for (size_t i = 0; i < figures->size(); ++i) (*figures)[i].index = static_cast<int32_t>(i);
    }
  }

  void Window(std::optional<double> loss) {
    input_.time += 5;
    input_.steps += 100;
    if (loss) {
      input_.loss_sum += *loss * 1000;
      input_.loss_weight += 1000;
    }
    health_.Look(input_, events_);
  }
  void Windows(int count) {
    for (int i = 0; i < count; ++i) Window(3 / (1 + 0.02 * ++falls_));
  }
  std::vector<std::string> Present() const {
    std::vector<std::string> names;
    for (const tuner::Finding& finding : health_.findings()) names.emplace_back(tuner::Name(finding.symptom));
    return names;
  }
  std::string Events() const {
    std::string text;
    for (const auto& event : events_) text += event.reason + ": " + event.note + "\n";
    return text;
  }

  TuningInput input_;
  JobHealth health_;
  std::vector<TuningOutput::Event> events_;
  int falls_ = 0;
};

TEST_F(HealthTest, NothingIsSaidOfAHealthyJob) {
  Windows(100);
  EXPECT_THAT(Present(), IsEmpty()) << Events();
  EXPECT_EQ(Events(), "");
  EXPECT_EQ(health_.Save(), "[]");
}

TEST_F(HealthTest, AStragglerIsToldOnceWithItsRungAndAgainWhenItIsGone) {
  Windows(10);
  input_.worker_figures[1].step_seconds = 0.35;
  Windows(30);
  EXPECT_THAT(Present(), ElementsAre("StragglingWorker"));
  ASSERT_EQ(events_.size(), 1u) << Events();
  EXPECT_TRUE(events_[0].warning);
  EXPECT_EQ(events_[0].reason, "StragglingWorker");
  EXPECT_THAT(events_[0].note, HasSubstr("worker 1 takes 3.5 times"));
  EXPECT_THAT(events_[0].note, HasSubstr("(asks for: MovePod)"));
  input_.worker_figures[1].step_seconds = 0.1;
  Windows(10);
  EXPECT_THAT(Present(), IsEmpty());
  ASSERT_EQ(events_.size(), 2u) << Events();
  EXPECT_FALSE(events_[1].warning);
  EXPECT_THAT(events_[1].note, HasSubstr("No longer: worker 1"));
}

TEST_F(HealthTest, APodIsNamedByItsIndexAndNotByItsPlace) {
  input_.worker_figures[0].index = 1;
  input_.worker_figures[1].index = 2;
  input_.worker_figures[2].index = 5;
  input_.worker_figures[1].step_seconds = 0.35;
  Windows(10);
  ASSERT_EQ(events_.size(), 1u) << Events();
  EXPECT_THAT(events_[0].note, HasSubstr("worker 2 takes 3.5 times"));
  EXPECT_EQ(health_.findings().front().node, 2);
}

TEST_F(HealthTest, AnotherPodInTheSamePlaceDoesNotInheritItsPast) {
  input_.worker_figures[1].step_seconds = 0.35;
  Windows(static_cast<int>(tuner::kStraggleWindows) - 1);
  input_.worker_figures[1].index = 7;
  Windows(1);
  EXPECT_THAT(Present(), IsEmpty()) << "worker 7 has been slow for one window";
  Windows(static_cast<int>(tuner::kStraggleWindows) - 1);
  EXPECT_THAT(Present(), ElementsAre("StragglingWorker"));
}

TEST_F(HealthTest, WhatComesAndGoesIsNotToldEveryTime) {
  for (int i = 0; i < 6; ++i) {
    input_.worker_figures[2].step_seconds = 0.3;
    Windows(6);
    input_.worker_figures[2].step_seconds = 0.1;
    Windows(6);
  }
  int warnings = 0;
  for (const auto& event : events_) warnings += event.warning ? 1 : 0;
  EXPECT_EQ(warnings, 1) << "six minutes: reported once\n" << Events();
}

TEST_F(HealthTest, AHotServerAndStarvedWorkersAreTwoFindings) {
  input_.server_figures[0] = {.cpu = 0.97, .memory = 0.4, .requests = 400};
  input_.server_figures[1].cpu = 0.75;
  for (NodeFigures& worker : input_.worker_figures) worker.wait_share = 0.8;
  Windows(6);
  EXPECT_THAT(Present(), ElementsAre("HotServer", "StarvedWorkers")) << Events();
  EXPECT_THAT(Events(), HasSubstr("asks for: RelocateRows"));
  EXPECT_THAT(Events(), HasSubstr("asks for: MoreServers"));
}

TEST_F(HealthTest, MemoryThatGrowsTowardsItsLimitIsToldBeforeItGetsThere) {
  for (int i = 0; i < 40 && Present().empty(); ++i) {
    input_.server_figures[1].memory += 0.005;
    Windows(1);
  }
  EXPECT_THAT(Present(), ElementsAre("MemoryLimit"));
  EXPECT_LT(input_.server_figures[1].memory, 0.7);
}

TEST_F(HealthTest, ALossThatIsNoNumberIsSeenByItsAbsence) {
  Windows(10);
  for (int i = 0; i < JobHealth::kWindowsWithoutLoss - 1; ++i) Window({});
  EXPECT_THAT(Present(), IsEmpty()) << "a report may be late";
  Window({});
  EXPECT_THAT(Present(), ElementsAre("NotANumber"));
  EXPECT_THAT(Events(), HasSubstr("asks for: CheckpointStop"));
  Windows(8);
  EXPECT_THAT(Present(), IsEmpty()) << "losses are numbers again";
}

TEST_F(HealthTest, AProgramThatReportsNoLossAtAllIsHealthy) {
  for (int i = 0; i < 20; ++i) Window({});
  EXPECT_THAT(Present(), IsEmpty());
}

TEST_F(HealthTest, ALossThatStopsFallingIsStalled) {
  Windows(40);
  for (int i = 0; i < 60; ++i) Window(1.5 + 0.01 * std::sin(i * 2.1));
  EXPECT_THAT(Present(), ElementsAre("StalledLoss")) << Events();
}

TEST_F(HealthTest, OtherCountsBeginAnewAndUnsettledLooksDoNotCount) {
  input_.worker_figures[0].step_seconds = 0.5;
  Windows(3);
  input_.wanted = {2, 4};
  input_.worker_figures.push_back({.cpu = 0.8, .memory = 0.3, .step_seconds = 0.1, .wait_share = 0.1});
  Windows(1);
  EXPECT_THAT(Present(), IsEmpty()) << "windows of another setting are not compared with";
  input_.settled = false;
  Windows(10);
  EXPECT_THAT(Present(), IsEmpty());
}

TEST_F(HealthTest, SavedFindingsReadAsLinesAndDamageAsNone) {
  input_.worker_figures[1].step_seconds = 0.35;
  Windows(6);
  EXPECT_THAT(FindingsOf(health_.Save()), ElementsAre(HasSubstr("StragglingWorker: worker 1")));
  EXPECT_THAT(FindingsOf("[{\"symptom\": 3}]"), ElementsAre("?: ? (asks for: ?)"));
  EXPECT_THAT(FindingsOf("["), IsEmpty());
  EXPECT_THAT(FindingsOf("{}"), IsEmpty());
}

}  // namespace
}  // namespace attune::controller::job_health_test

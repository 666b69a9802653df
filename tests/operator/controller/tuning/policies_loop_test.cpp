// The tuner's control loop under policies: bounds, rates, and what is left of a namespace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/controller/tuning/formula_job.h"

namespace attune::controller::policies_loop_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(TuningLoopUnderPolicies, PoliciesBoundTheSearchAndItsRate) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.rules.policies = {"ClusterTuningPolicy a"};
  job.input.rules.knobs.at(static_cast<size_t>(api::PolicyKnob::kWorkers)).max = 3;
  job.input.rules.cool_down_seconds = 200;
  int last_write = -1000, writes = 0;
  JobSetting came_from;
  for (int second = 0; second < 900; ++second) {
    const JobSetting before = job.input.wanted;
    job.Tick();
    EXPECT_LE(job.input.wanted.workers, 3);
    if (job.input.wanted == before) continue;
    if (job.input.wanted != came_from) {  // the way back never waits
      EXPECT_GE(second - last_write, 199) << job.events;
    }
    came_from = before;
    last_write = second;
    ++writes;
  }
  EXPECT_GE(writes, 1) << job.events;
}

TEST(TuningLoopUnderPolicies, ATrialThatAPolicyHoldsUpIsNotMade) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.rules.policies = {"ClusterTuningPolicy a"};
  job.input.rules.trials_per_hour = job.input.rules.moves_per_hour = 0;
  job.Run(300);
  EXPECT_EQ(job.writes, 0);
  EXPECT_THAT(job.last.status.message, HasSubstr("a policy allows 0 "));
  EXPECT_THAT(job.events, Not(HasSubstr("TuningTrial"))) << "of what was not done nothing is reported";
  const uint64_t refusals = job.last.status.policy_refusals;
  EXPECT_GE(refusals, 1U);
  job.Restart();
  job.Tick();
  EXPECT_GE(job.last.status.policy_refusals, refusals) << "a new operator continues to count";
  job.input.rules = {};  // the policy is deleted while the job runs
  job.Run(900);
  EXPECT_GE(job.writes, 1) << job.last.status.message;
  EXPECT_LE(job.last.status.policy_refusals, refusals + 1) << "nothing is refused any more";
}

// One core each.
NamespaceRoom RoomFor(int64_t pods) {
  NamespaceRoom room;
  room.pods.server = room.pods.worker = {.millicores = 1000, .bytes = 1};
  room.millicores = pods * 1000;
  return room;
}

TEST(TuningLoopUnderPolicies, TheSearchStaysWithinTheRoomOfTheNamespace) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.rules.policies = {"ClusterTuningPolicy a"};
  job.input.room = RoomFor(5);
  for (int second = 0; second < 900; ++second) {
    job.Tick();
    EXPECT_LE(job.input.wanted.servers + job.input.wanted.workers, 5) << job.events;
  }
  EXPECT_GE(job.input.wanted.servers + job.input.wanted.workers, 4) << "most of it is of use: " << job.events;
  job.input.room = RoomFor(12);  // another job has ended
  job.Run(1800);
  EXPECT_GT(job.input.wanted.servers + job.input.wanted.workers, 5) << job.last.status.message;
}

TEST(TuningLoopUnderPolicies, RoomThatAnotherJobHasTakenMeanwhileIsNotUsed) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.rules.policies = {"ClusterTuningPolicy a"};
  job.input.room = RoomFor(12);
  job.Run(5);
  job.input.room = RoomFor(2);
  job.Run(900);
  EXPECT_EQ(job.input.wanted, (JobSetting{1, 1})) << job.events;
  EXPECT_THAT(job.events, Not(HasSubstr("TuningTrial"))) << "of what was not done nothing is reported";
}

TEST(TuningLoopUnderPolicies, WhileOtherJobsOfTheNamespaceChangeItWaits) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.rules.policies = {"ClusterTuningPolicy a"};
  job.input.rules.concurrent_changes_per_namespace = 1;
  job.input.room.others_changing = 1;
  job.Run(300);
  EXPECT_EQ(job.writes, 0);
  EXPECT_THAT(job.last.status.message, HasSubstr("a policy lets 1 job of a namespace change"));
  job.input.room.others_changing = 0;
  job.Run(300);
  EXPECT_GE(job.writes, 1) << job.last.status.message;
}

TEST(TuningLoopUnderPolicies, ANewOperatorCountsTheChangesOfTheOneBefore) {
  FormulaJob job(api::TuningMode::kAuto);
  job.input.rules.policies = {"ClusterTuningPolicy a"};
  job.input.rules.trials_per_hour = 1;
  job.input.rules.moves_per_hour = 0;
  job.Run(120);
  const int before = job.writes;
  EXPECT_GE(before, 1);
  job.Restart();
  job.Run(300);
  EXPECT_LE(job.writes, before + 1) << "the way back at most: " << job.events;
}

}  // namespace
}  // namespace attune::controller::policies_loop_test

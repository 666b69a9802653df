#include "ps/core/coordinator/state/goals.h"

#include <gtest/gtest.h>

#include "tests/ps/core/coordinator/coordinator_parts.h"

namespace attune::ps::goals_test {
namespace {

CoordinatorOptions WithGoal(JobGoal goal) {
  CoordinatorOptions options{.job_uid = "job", .may_be_followed = false, .servers = 2, .shards = 4};
  options.goal = std::move(goal);
  return options;
}

class GoalsTest : public CoordinatorParts {
 protected:
  GoalsTest() : CoordinatorParts(WithGoal({.steps = 10})) {}
  void Reach() {
    At(kWorker).last.steps = 10;
    ASSERT_TRUE(goals_.Check(nullptr, out_));
  }
};

TEST_F(GoalsTest, AGoalThatIsReachedIsReportedToAllMembersOnce) {
  At(kWorker).last.steps = 9;
  EXPECT_FALSE(goals_.Check(nullptr, out_));
  EXPECT_FALSE(goals_.reached());
  Reach();
  EXPECT_TRUE(goals_.reached());
  for (const NodeId node : {kServer0, kServer1, kWorker}) EXPECT_NE(Sent<GoalReached>(node), nullptr);
  EXPECT_EQ(out_.goal_reached, goals_.reason());
  EXPECT_FALSE(goals_.Check(nullptr, out_));
}

TEST_F(GoalsTest, ClosingWorkWithoutADataSetEndsWithAWorkerThatLeavesInOrder) {
  Reach();
  EXPECT_FALSE(goals_.MayFinish(false, nullptr, out_));
  EXPECT_TRUE(HasEvent("waiting for one"));
  out_.Clear();
  EXPECT_FALSE(goals_.MayFinish(false, nullptr, out_));
  EXPECT_TRUE(out_.events.empty()) << "said once";
  goals_.NoteLost();
  goals_.NoteLeft(kWorker);
  EXPECT_FALSE(goals_.MayFinish(false, nullptr, out_)) << "a later worker has to make up for the lost one";
  goals_.NoteLeft(job_.members().next());
  EXPECT_TRUE(goals_.MayFinish(false, nullptr, out_));
}

TEST_F(GoalsTest, AReportIsAnsweredAndARefusalIsLoggedOnce) {
  const auto report = [&](std::optional<double> value) {
    const RequestHeader header = NextHeader();
    EXPECT_TRUE(Replies::TakeUp(At(kWorker), header.request, out_));
    return goals_.OnReport(At(kWorker), {.header = header, .name = "loss", .value = value}, {}, out_);
  };
  EXPECT_TRUE(report(0.5));
  EXPECT_NE(Sent<Done>(kWorker), nullptr);
  ASSERT_EQ(goals_.training().metrics().size(), 1U);
}

TEST_F(GoalsTest, LossesAreWhatAHeartbeatAddsToTheOneBefore) {
  goals_.AddLoss({.loss_sum = 10, .loss_samples = 10}, {.loss_sum = 40, .loss_samples = 20});
  Now(std::chrono::seconds(5));
  EXPECT_FALSE(goals_.Check(nullptr, out_));
  JobProgress progress;
  goals_.Fill(progress);
  ASSERT_TRUE(progress.smoothed_loss);
  EXPECT_DOUBLE_EQ(*progress.smoothed_loss, 3.0);
}

TEST_F(GoalsTest, ASuccessorKnowsThatTheGoalIsReached) {
  Reach();
  CoordinatorRecord record;
  job_.Fill(record);
  goals_.Fill(record);
  JobContext job(WithGoal({}));
  Replies replies(job);
  Goals next(job, replies);
  job.Restore(record);
  next.Restore(record);
  EXPECT_EQ(next.reason(), goals_.reason());
}

}  // namespace
}  // namespace attune::ps::goals_test

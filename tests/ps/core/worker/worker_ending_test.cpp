#include "ps/core/worker/worker_ending.h"

#include <gtest/gtest.h>

namespace attune::ps::worker_ending_test {
namespace {

TEST(WorkerEndingTest, ALeavingWorkerTakesNoCallsAndIsOverOnceThatIsConfirmed) {
  WorkerEnding ending;
  EXPECT_TRUE(ending.takes_calls());
  EXPECT_TRUE(ending.Refusal().ok());
  ending.Leave();
  EXPECT_FALSE(ending.takes_calls());
  EXPECT_EQ(ending.Refusal().code(), StatusCode::kFailedPrecondition);
  EXPECT_FALSE(ending.over());
  ending.Left();
  EXPECT_TRUE(ending.over());
  EXPECT_TRUE(ending.lost().ok());
}

TEST(WorkerEndingTest, ASessionIsLostOnceAndItsErrorRefusesEveryCall) {
  WorkerEnding ending;
  EXPECT_TRUE(ending.Lose(Error(StatusCode::kAborted, "no member")));
  EXPECT_FALSE(ending.Lose(Error(StatusCode::kInternal, "later")));
  EXPECT_TRUE(ending.over());
  EXPECT_FALSE(ending.takes_calls());
  EXPECT_EQ(ending.Refusal().code(), StatusCode::kAborted);
  ending.Leave();
  EXPECT_EQ(ending.Refusal().code(), StatusCode::kAborted) << "what was lost cannot be left";
}

TEST(WorkerEndingTest, ARefusalToJoinSaysWhatWasRefused) {
  const Status status = Error(StatusCode::kFailedPrecondition, "no such job");
  EXPECT_EQ(attune::Message(WorkerEnding::ErrorOf(JoinRefused{status})).substr(0, 15), "joining the job");
  EXPECT_EQ(WorkerEnding::ErrorOf(SessionLost{status}), status);
  EXPECT_EQ(WorkerEnding::ErrorOf(Finished{}).code(), StatusCode::kOutOfRange) << "nothing is left to do";
}

}  // namespace
}  // namespace attune::ps::worker_ending_test

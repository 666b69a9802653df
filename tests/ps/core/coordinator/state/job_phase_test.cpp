#include "ps/core/coordinator/state/job_phase.h"

#include <gtest/gtest.h>

namespace attune::ps::job_phase_test {
namespace {

TEST(JobPhaseTest, OneThatFollowsAnotherLeadsOnceAllHaveAnswered) {
  JobPhase phase(true);
  EXPECT_TRUE(phase.taking_over());
  phase.Lead();
  EXPECT_FALSE(phase.taking_over());
  EXPECT_FALSE(JobPhase(false).taking_over());
}

TEST(JobPhaseTest, AFinishedJobHasNotFailed) {
  JobPhase phase(false);
  EXPECT_FALSE(phase.finished());
  phase.Finish();
  EXPECT_TRUE(phase.finished());
  EXPECT_FALSE(phase.failed());
}

TEST(JobPhaseTest, TheFirstReasonToFailCounts) {
  JobPhase phase(false);
  EXPECT_TRUE(phase.Fail(Error(StatusCode::kDataLoss, "rows are lost")));
  EXPECT_FALSE(phase.Fail(Error(StatusCode::kAborted, "and more")));
  EXPECT_TRUE(phase.failed());
  EXPECT_EQ(phase.failure().code(), StatusCode::kDataLoss);
}

TEST(JobPhaseTest, OneThatIsSupersededStaysWhatItWas) {
  JobPhase phase(true);
  phase.Supersede();
  EXPECT_TRUE(phase.superseded());
  EXPECT_TRUE(phase.taking_over());
}

}  // namespace
}  // namespace attune::ps::job_phase_test

// Silence: whose is evidence, after pauses of the coordinator itself too.
#include <gtest/gtest.h>

#include "tests/ps/core/coordinator/followed_job.h"

namespace attune::ps::coordinator_silence_test {
namespace {

using std::chrono::seconds;

class CoordinatorSilenceTest : public FollowedJob {};

TEST_F(CoordinatorSilenceTest, ACoordinatorThatWasStoppedDeclaresNobodyLost) {
  Live({kServer0, kServer1, kWorker});
  Sleep(std::chrono::minutes(10));
  EXPECT_EQ(core_->progress().servers, 2U);
  EXPECT_EQ(core_->progress().workers, 1U) << "it is the coordinator that was silent";
  Live({kServer0, kServer1, kWorker});
  Wait(seconds(1));
  Live({kServer0, kServer1, kWorker});
  ASSERT_NE(Sent<HeartbeatAck>(kWorker), nullptr);
  EXPECT_GT(Sent<HeartbeatAck>(kWorker)->liveness, Duration::zero());
}

TEST_F(CoordinatorSilenceTest, WhileNobodyIsHeardNobodyIsDeclaredLost) {
  Live({kServer0, kServer1, kWorker});
  Wait(seconds(1));
  Live({kServer0, kServer1});  // the last word of anybody else
  for (int i = 0; i < 6; ++i) {
    Wait(std::chrono::milliseconds(500));
    Live({kServer0});
  }
  EXPECT_EQ(core_->progress().workers, 1U) << "silent for 4 s, and so are all others for 3 s";
}

// Its own machine was cut off. With the first server that comes back it is leading again; the others need a moment.
TEST_F(CoordinatorSilenceTest, ACoordinatorThatWasCutOffDeclaresNobodyLostWhoComesBackALittleLater) {
  Live({kServer0, kServer1, kWorker});
  for (int i = 0; i < 40; ++i) {
    Wait(std::chrono::milliseconds(500));
    Live({kServer0});
  }
  Live({kServer0, kServer1});
  Wait(std::chrono::milliseconds(500));
  Live({kServer0, kServer1});
  EXPECT_EQ(core_->progress().workers, 1U);
  Live({kWorker});
  for (int i = 0; i < 12; ++i) {
    Wait(seconds(1));
    Live({kServer0, kServer1});
  }
  EXPECT_EQ(core_->progress().workers, 0U) << "silent while others are heard";
}

// It has heard no other server for ten minutes of real time: there may be another coordinator.
TEST_F(CoordinatorSilenceTest, ACoordinatorThatWasStoppedGivesNobodyTimeBeforeItHearsAnotherServer) {
  Live({kServer0, kServer1, kWorker});
  Sleep(std::chrono::minutes(10));
  Say(kWorker, Heartbeat{.number = ++heartbeat_});
  ASSERT_NE(Sent<HeartbeatAck>(kWorker), nullptr);
  EXPECT_EQ(Sent<HeartbeatAck>(kWorker)->liveness, Duration::zero());
  Live({kServer0, kServer1});
  Live({kServer0, kServer1});
  Say(kWorker, Heartbeat{.number = ++heartbeat_});
  ASSERT_NE(Sent<HeartbeatAck>(kWorker), nullptr);
  EXPECT_GT(Sent<HeartbeatAck>(kWorker)->liveness, Duration::zero());
}

TEST_F(CoordinatorSilenceTest, WhoIsSilentAfterAPauseIsStillLost) {
  Live({kServer0, kServer1, kWorker});
  Sleep(seconds(60));
  for (int i = 0; i < 12; ++i) {
    Live({kServer0, kServer1});
    Wait(seconds(1));
  }
  EXPECT_EQ(core_->progress().workers, 0U);
}

TEST_F(CoordinatorSilenceTest, AClockThatGoesBackStandsStill) {
  Live({kServer0, kServer1, kWorker});
  now_ -= seconds(60);
  Step(CoordinatorTimer{});
  Live({kServer0, kServer1, kWorker});
  now_ += seconds(60);
  Wait(seconds(2));
  EXPECT_EQ(core_->progress().servers, 2U);
  EXPECT_EQ(core_->progress().workers, 1U) << "no member was silent for long";
}

}  // namespace
}  // namespace attune::ps::coordinator_silence_test

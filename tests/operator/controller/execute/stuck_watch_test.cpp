#include "operator/controller/execute/stuck_watch.h"

#include <gtest/gtest.h>

namespace attune::controller::stuck_watch_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class StuckWatchTest : public testing::Test {
 protected:
  // Looks every ten seconds for so long; what the last look says.
  std::string LookFor(Duration length, const std::vector<MovingPart>& parts) {
    std::string said;
    for (Duration at{}; at < length; at += seconds(10)) {
      now_ += seconds(10);
      said = watch_.Look(parts, now_);
    }
    return said;
  }
  StuckWatch watch_;
  MonotonicTime now_{};
};

TEST_F(StuckWatchTest, ALoopThatStandsStillForLongIsNamed) {
  EXPECT_EQ(LookFor(minutes(5), {{"watch of pods", 7, false}}), "");
  EXPECT_EQ(LookFor(seconds(10), {{"watch of pods", 7, false}, {"work queue", 1, false}}),
            "watch of pods has not moved for 300 s");
  EXPECT_EQ(LookFor(seconds(10), {{"watch of pods", 8, false}}), "") << "it moved again";
}

TEST_F(StuckWatchTest, WhoHasNothingToDoMayStandStill) {
  EXPECT_EQ(LookFor(minutes(60), {{"work queue", 7, true}}), "");
  EXPECT_EQ(LookFor(minutes(4), {{"work queue", 7, false}}), "") << "counted from when there was something to do";
  EXPECT_NE(LookFor(minutes(1), {{"work queue", 7, false}}), "");
}

TEST_F(StuckWatchTest, AnEndedTurnIsForgotten) {
  LookFor(minutes(4), {{"reconcile of n/a", 1, false}});
  EXPECT_EQ(LookFor(seconds(10), {}), "");
  EXPECT_EQ(LookFor(minutes(4), {{"reconcile of n/a", 1, false}}), "");
}

TEST_F(StuckWatchTest, APauseOfTheOperatorIsNoEvidence) {
  LookFor(seconds(20), {{"watch of pods", 7, false}});
  now_ += minutes(60);  // SIGSTOP, and the first look comes before the loop had its turn
  EXPECT_EQ(watch_.Look({{"watch of pods", 7, false}}, now_), "");
  EXPECT_EQ(LookFor(seconds(10), {{"watch of pods", 8, false}}), "");
}

}  // namespace
}  // namespace attune::controller::stuck_watch_test

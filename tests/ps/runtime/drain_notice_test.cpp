#include "ps/runtime/worker/drain_notice.h"

#include <gtest/gtest.h>

namespace attune::ps::drain_notice_test {
namespace {

std::shared_ptr<Future::State> NewState() { return std::make_shared<Future::State>(); }
bool IsInterrupted(const Future::State& state) { return state.phase == Future::State::kInterrupted; }

TEST(DrainNotice, ARequestInterruptsThoseWhoWaitOnce) {
  DrainNotice drain;
  const auto waits = NewState();
  drain.InterruptOnRequest(waits);
  EXPECT_FALSE(drain.requested());
  EXPECT_FALSE(IsInterrupted(*waits));
  EXPECT_TRUE(drain.Request());
  EXPECT_TRUE(IsInterrupted(*waits));
  EXPECT_FALSE(drain.Request()) << "it was requested before";
}

TEST(DrainNotice, WhoBeginsToWaitAfterwardsIsInterruptedAtOnce) {
  DrainNotice drain;
  drain.Request();
  const auto late = NewState();
  drain.InterruptOnRequest(late);
  EXPECT_TRUE(IsInterrupted(*late));
}

TEST(DrainNotice, WaitsThatAreOverAreForgotten) {
  DrainNotice drain;
  drain.InterruptOnRequest(NewState());
  const auto done = NewState();
  drain.InterruptOnRequest(done);
  (void)done->Complete(OkStatus(), {});
  drain.Request();
  EXPECT_TRUE(done->done());
}

TEST(DrainNotice, TheProgramKnowsOfItOnlyWhenItHasAsked) {
  DrainNotice drain;
  EXPECT_FALSE(drain.Notice());
  drain.Request();
  EXPECT_FALSE(drain.noticed());
  EXPECT_TRUE(drain.Notice());
  EXPECT_TRUE(drain.noticed());
}

}  // namespace
}  // namespace attune::ps::drain_notice_test

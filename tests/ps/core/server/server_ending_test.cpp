#include "ps/core/server/server_ending.h"

#include <gtest/gtest.h>

namespace attune::ps::server_ending_test {
namespace {

TEST(ServerEnding, TheGoalIsNotTheEnd) {
  ServerEnding ending;
  EXPECT_FALSE(ending.goal_reached());
  ending.ReachGoal();
  EXPECT_TRUE(ending.goal_reached());
  EXPECT_FALSE(ending.over());
  EXPECT_TRUE(ending.Finish().ok());
  EXPECT_TRUE(ending.over());
}

TEST(ServerEnding, OneThatIsNoMemberEndsWellOnlyWhenItWasToLeave) {
  const Member stays{.node = NodeId(1)}, leaves{.node = NodeId(1), .leaving = true};
  const Status aborted = Error(StatusCode::kAborted, "no member"), failed = Error(StatusCode::kInternal, "no job");
  const struct {
    const char* name;
    Status status;
    const Member* self;
    StatusCode want;
  } cases[] = {
      {"it was to leave", aborted, &leaves, StatusCode::kOk},
      {"it was to stay", aborted, &stays, StatusCode::kAborted},
      {"it has no map", aborted, nullptr, StatusCode::kAborted},
      {"it was to leave, and the job has failed", failed, &leaves, StatusCode::kInternal},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    ServerEnding ending;
    EXPECT_EQ(ending.EndAsNoMember(test.status, test.self).code(), test.want);
    EXPECT_TRUE(ending.over());
  }
}

}  // namespace
}  // namespace attune::ps::server_ending_test

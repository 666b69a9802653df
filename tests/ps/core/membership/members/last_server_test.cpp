#include "ps/core/membership/members/last_server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace attune::ps::last_server_test {
namespace {

using std::chrono::seconds;
constexpr MonotonicTime At(int64_t time) { return MonotonicTime{} + seconds(time); }

TEST(LastServerTest, TheLastServerStaysUntilItIsBackOrReplaced) {
  MemberTable members(seconds(10));
  MemberState& server = members.Admit({.incarnation = 1, .role = Role::kServer}, ConnectionId(11));
  LastServer last;
  EXPECT_FALSE(last.is_lost());
  last.NoteLost(server, At(5));
  EXPECT_TRUE(last.is_lost());
  EXPECT_FALSE(last.IsLostFor(seconds(60), At(64)));
  EXPECT_TRUE(last.IsLostFor(seconds(60), At(65)));
  EXPECT_TRUE(last.NoteBack(server));
  EXPECT_FALSE(last.NoteBack(server));
  EXPECT_FALSE(last.is_lost());
  last.NoteLost(server, At(70));
  EXPECT_EQ(last.TakeLost(members), std::vector<NodeId>{server.member.node});
  EXPECT_FALSE(last.is_lost());
}

TEST(LastServerTest, APauseOfThisProcessIsNoTimeWithoutAServer) {
  MemberTable members(seconds(10));
  LastServer last;
  last.SkipPause(seconds(60));
  EXPECT_FALSE(last.is_lost());
  last.NoteLost(members.Admit({.incarnation = 1, .role = Role::kServer}, ConnectionId(11)), At(5));
  last.SkipPause(seconds(60));
  EXPECT_FALSE(last.IsLostFor(seconds(60), At(124)));
  EXPECT_TRUE(last.IsLostFor(seconds(60), At(125)));
}

}  // namespace
}  // namespace attune::ps::last_server_test

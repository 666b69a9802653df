#include "ps/core/server/server_membership.h"

#include <gtest/gtest.h>

namespace attune::ps::server_membership_test {
namespace {

using std::chrono::seconds;

class ServerMembershipTest : public testing::Test {
 protected:
  ServerMembership membership_{{.job_uid = "job", .role = Role::kServer, .index = 2}, seconds(2)};
  const MonotonicTime now_{seconds(100)};
};

TEST_F(ServerMembershipTest, JoiningIsRepeatedUntilThereIsANumber) {
  EXPECT_EQ(membership_.ask_again_at(), kNever) << "no coordinator to ask";
  membership_.Connected();
  const Join join = membership_.Ask(false, 3, now_);
  EXPECT_EQ(join.job_uid, "job");
  EXPECT_EQ(join.index, 2U);
  EXPECT_EQ(join.term, 3U);
  EXPECT_EQ(join.node, NodeId());
  EXPECT_EQ(membership_.ask_again_at(), now_ + seconds(2));
  EXPECT_FALSE(membership_.CanReport());
  EXPECT_TRUE(membership_.Welcomed(NodeId(5)));
  EXPECT_EQ(membership_.ask_again_at(), kNever);
  EXPECT_TRUE(membership_.CanReport());
  EXPECT_FALSE(membership_.Welcomed(NodeId(6))) << "it has a number";
  EXPECT_EQ(membership_.node(), NodeId(5));
}

TEST_F(ServerMembershipTest, ANumberWithoutAMapIsForgottenAtTheNextCoordinator) {
  membership_.Connected();
  membership_.Welcomed(NodeId(5));
  membership_.Disconnected();
  EXPECT_FALSE(membership_.CanReport());
  membership_.Connected();
  EXPECT_EQ(membership_.Ask(true, 4, now_).node, NodeId(5));
  EXPECT_EQ(membership_.Ask(false, 4, now_).node, NodeId());
  EXPECT_TRUE(membership_.Welcomed(NodeId(1)));
}

TEST_F(ServerMembershipTest, ANewerMapIsAskedForOnceInAWhile) {
  EXPECT_FALSE(membership_.AskForMap(MapVersion(1, 7), now_).has_value()) << "no coordinator to ask";
  membership_.Connected();
  const auto request = membership_.AskForMap(MapVersion(1, 7), now_);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->have, MapVersion(1, 7));
  EXPECT_FALSE(membership_.AskForMap(MapVersion(1, 7), now_ + seconds(1)).has_value());
  EXPECT_TRUE(membership_.AskForMap(MapVersion(1, 7), now_ + seconds(2)).has_value());
}

}  // namespace
}  // namespace attune::ps::server_membership_test

#include "ps/core/membership/members/member_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "ps/core/protocol/incarnation.h"
#include "tests/ps/core/membership/members/small_job.h"

namespace attune::ps::member_table_test {
namespace {

constexpr ConnectionId kLater{14};

class MemberTableTest : public testing::Test {
 protected:
  SmallJob job_;
  MemberTable& members_ = job_.members;
  const NodeId a_ = job_.a, b_ = job_.b, worker_ = job_.worker;
};

TEST_F(MemberTableTest, NumbersAreNeverGivenTwice) {
  members_.Remove(worker_, OkStatus(), At(0));
  EXPECT_EQ(members_.Find(worker_), nullptr);
  EXPECT_EQ(members_.next(), worker_.Next());
  members_.ReserveBelow(NodeId(20));
  members_.ReserveBelow(NodeId(10));
  EXPECT_EQ(members_.Admit(JoinOf(Role::kWorker, 0, 202), kLater).member.node, NodeId(20));
}

TEST_F(MemberTableTest, AProcessThatReturnsSpeaksOverItsNewConnection) {
  MemberState* b = members_.FindProcess(NewIncarnation(kPodOfB, 1));
  ASSERT_NE(b, nullptr);
  members_.Attach(*b, kLater);
  EXPECT_EQ(members_.NodeAt(kLater), b_);
  EXPECT_FALSE(members_.NodeAt(kToB));
  members_.Close(kToB);
  EXPECT_EQ(b->connection, kLater) << "that was the old one";
  members_.Close(kLater);
  EXPECT_FALSE(b->connection);
}

TEST_F(MemberTableTest, StepsOfThoseThatAreGoneCount) {
  members_.at(worker_).last.steps = 7;
  members_.AddStepsOfGone(5);
  EXPECT_EQ(members_.TotalSteps(), 12U);
}

TEST_F(MemberTableTest, OneThatOnlyAnEarlierCoordinatorKnewWaitsInVain) {
  constexpr NodeId kFormer{3000};
  Join join = JoinOf(Role::kWorker, 4, 300);
  join.node = kFormer;
  members_.ForgetFormer(kLater, join, At(0));
  EXPECT_EQ(members_.NodeAt(kLater), kFormer);
  EXPECT_EQ(members_.gone().NodeOf(join.incarnation), kFormer);
  EXPECT_FALSE(members_.WaitsInVain(kFormer, At(9)));
  EXPECT_TRUE(members_.WaitsInVain(kFormer, At(10)));
  EXPECT_FALSE(members_.WaitsInVain(worker_, At(10)));
}

TEST_F(MemberTableTest, TheConnectionsOfThoseThatAreForgottenAreClosed) {
  members_.Remove(worker_, OkStatus(), At(0));
  EXPECT_TRUE(members_.Expire(At(60)).empty()) << "it may ask whether its last words have arrived";
  EXPECT_EQ(members_.Expire(At(3 * 3600)), std::vector<ConnectionId>{kToWorker});
  EXPECT_FALSE(members_.NodeAt(kToWorker));
}

}  // namespace
}  // namespace attune::ps::member_table_test

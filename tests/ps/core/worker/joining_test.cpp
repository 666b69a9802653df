#include "ps/core/worker/joining.h"

#include <gtest/gtest.h>

#include "tests/ps/core/worker/operations/small_cluster.h"

namespace attune::ps::joining_test {
namespace {

using std::chrono::seconds;

class JoiningTest : public testing::Test {
 protected:
  // A member of a job that has formed, connected to everybody.
  void Form() {
    cluster_ = SmallCluster();
    cluster_.SetConnected(kCoordinator);
  }

  ClusterView cluster_;
  Joining joining_{cluster_, {.job_uid = "job", .role = Role::kWorker, .index = 2}, seconds(2)};
  const MonotonicTime now_{seconds(100)};
};

TEST_F(JoiningTest, AWorkerAsksUntilItHasANumber) {
  joining_.SetAddress("127.0.0.1:7");
  EXPECT_EQ(joining_.again_at(false), kNever) << "no coordinator to ask";
  cluster_.SetConnected(kCoordinator);
  const Join join = joining_.Ask(3, false, now_);
  EXPECT_EQ(join.job_uid, "job");
  EXPECT_EQ(join.index, 2U);
  EXPECT_EQ(join.address, "127.0.0.1:7");
  EXPECT_EQ(join.term, 3U);
  EXPECT_EQ(join.node, NodeId());
  EXPECT_EQ(joining_.again_at(false), now_ + seconds(2));
  EXPECT_TRUE(joining_.Welcomed({.node = kWorker}));
  EXPECT_EQ(cluster_.self(), kWorker);
  EXPECT_EQ(joining_.again_at(false), kNever);
  EXPECT_FALSE(joining_.Welcomed({.node = kOtherWorker})) << "it has one";
  EXPECT_EQ(cluster_.self(), kWorker);
}

TEST_F(JoiningTest, ANumberWithoutAMapIsForgottenAtTheNextCoordinator) {
  cluster_.SetConnected(kCoordinator);
  joining_.Welcomed({.node = kWorker});
  EXPECT_EQ(joining_.Ask(1, false, now_).node, NodeId());
  EXPECT_FALSE(cluster_.admitted());
  Form();
  EXPECT_EQ(joining_.Ask(1, false, now_).node, kWorker);
}

TEST_F(JoiningTest, PermissionToOwnRowsIsAskedForUntilTheMapGivesIt) {
  Form();
  EXPECT_TRUE(joining_.Ask(1, true, now_).takes_rows);
  EXPECT_EQ(joining_.again_at(true), now_ + seconds(2));
  EXPECT_EQ(joining_.again_at(false), kNever);
}

TEST_F(JoiningTest, TheCallThatWaitsIsTakenOnceWhenTheProgramMayBegin) {
  joining_.Wait(CallId(7));
  EXPECT_FALSE(joining_.TakeReady(true).has_value()) << "no member";
  Form();
  EXPECT_FALSE(joining_.TakeReady(false).has_value()) << "not in a step";
  cluster_.SetDisconnected(kSecondServer);
  EXPECT_FALSE(joining_.TakeReady(true).has_value());
  cluster_.SetConnected(kSecondServer);
  joining_.GiveUp(CallId(8));
  EXPECT_EQ(joining_.TakeReady(true), CallId(7)) << "another call has timed out";
  EXPECT_FALSE(joining_.TakeReady(true).has_value());
  joining_.Wait(CallId(9));
  joining_.GiveUp(CallId(9));
  EXPECT_FALSE(joining_.TakeReady(true).has_value());
}

TEST_F(JoiningTest, WhatIsMissingIsNamed) {
  EXPECT_EQ(joining_.WhatIsMissing(), "the coordinator is not reachable; see the log of server 0");
  cluster_.SetConnected(kCoordinator);
  EXPECT_EQ(joining_.WhatIsMissing(), "the coordinator has not answered");
  joining_.Welcomed({.node = kWorker, .map = {}, .servers_expected = 3, .servers_joined = 1});
  EXPECT_EQ(joining_.WhatIsMissing().substr(0, 6), "1 of 3");
  Form();
  EXPECT_EQ(joining_.WhatIsMissing(), "");
  cluster_.SetDisconnected(kSecondServer);
  EXPECT_NE(joining_.WhatIsMissing().find("is not reachable; see its log"), std::string::npos);
}

}  // namespace
}  // namespace attune::ps::joining_test

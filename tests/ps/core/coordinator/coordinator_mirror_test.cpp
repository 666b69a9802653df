// The copy of the coordinator's record: which answers wait for it, and where it is.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/ps/core/coordinator/followed_job.h"

namespace attune::ps::coordinator_mirror_test {
namespace {

using std::chrono::seconds;

class CoordinatorMirrorTest : public FollowedJob {};

TEST_F(CoordinatorMirrorTest, AnAnswerWaitsUntilTheCopyKnowsIt) {
  Mirror();
  Say(kWorker, OpenDataSet{.header = NextHeader(), .name = "train", .options = {}});
  EXPECT_EQ(Sent<DataSetOpened>(kWorker), nullptr);
  ASSERT_NE(Sent<MirrorUpdate>(kServer1), nullptr);
  ASSERT_EQ(record_.data_sets.size(), 1U);
  EXPECT_EQ(record_.data_sets[0].progress.items, 100U);
  Say(kServer1, MirrorAck{.number = record_.number - 1});
  EXPECT_EQ(Sent<DataSetOpened>(kWorker), nullptr) << "an older copy";
  Say(kServer1, MirrorAck{.number = record_.number});
  EXPECT_NE(Sent<DataSetOpened>(kWorker), nullptr);
}

// A successor may be leading before it hears that another server has joined.
TEST_F(CoordinatorMirrorTest, TheCopyStaysWithAServerThatVotesUntilTheNextOneDoes) {
  Mirror();
  Appoint({{Role::kServer, 0, 10}});
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  ASSERT_FALSE(core_->progress().taking_over);
  constexpr ConnectionId kServer2{8}, kServer0Again{9};
  Say(kServer2, JoinOf(Role::kServer, 2));
  for (int i = 0; i < 3; ++i) {
    Live({kServer1, kServer2});
    Wait(seconds(1));
  }
  Join join = JoinOf(Role::kServer, 0);
  join.incarnation = NewIncarnation(99, 1);
  Say(kServer0Again, join);
  ASSERT_TRUE(nodes_.contains(kServer0Again));
  EXPECT_EQ(Sent<MirrorUpdate>(kServer0Again), nullptr);
  bool copied = false;
  for (int i = 0; i < 5; ++i) {
    Live({kServer1, kServer2, kServer0Again});
    Wait(seconds(1));
    copied = copied || Sent<MirrorUpdate>(kServer0Again) != nullptr;
  }
  EXPECT_TRUE(copied) << "it votes by now, and is the first by index";
}

// A successor that finds the older copy alone would take it for the newest.
TEST_F(CoordinatorMirrorTest, AnAnswerWaitsUntilNoServerHasAnOlderCopy) {
  Mirror();
  Follow();
  for (const ConnectionId server : {kServer0, kServer1}) {
    JoinAgain(server);
    Say(server, AnswerOf({}, record_));
  }
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  ASSERT_FALSE(core_->progress().taking_over);
  Say(kWorker, OpenDataSet{.header = NextHeader(), .name = "train", .options = {}});
  for (int i = 0; i < 2; ++i) {
    Say(kServer0, MirrorAck{.number = record_.number});
    EXPECT_EQ(Sent<DataSetOpened>(kWorker), nullptr) << "server 1 has a copy of the coordinator before";
  }
  EXPECT_GT(map_.records_from >> 32, 1U);
  Say(kServer1, RowsReport{.number = 1, .map_version = map_.version});
  EXPECT_NE(Sent<DataSetOpened>(kWorker), nullptr) << "it has dropped that";
}

TEST_F(CoordinatorMirrorTest, WhenTheCopyMovesItsFormerPlaceDropsIt) {
  Mirror();
  constexpr ConnectionId kServer2{4};
  Say(kServer2, JoinOf(Role::kServer, 2));
  for (int i = 0; i < 3; ++i) {
    Live({kServer0, kServer1, kServer2});
    Wait(seconds(1));
  }
  Mirror();
  EXPECT_EQ(map_.records_from, 0U) << "no server has an older one";
  Step(FromOperator{.id = CommandId(1), .command = DrainServer{1}});
  ASSERT_NE(Sent<MirrorUpdate>(kServer2), nullptr);
  Say(kWorker, OpenDataSet{.header = NextHeader(), .name = "train", .options = {}});
  for (int i = 0; i < 2; ++i) {
    Say(kServer2, MirrorAck{.number = record_.number});
    EXPECT_EQ(Sent<DataSetOpened>(kWorker), nullptr);
  }
  EXPECT_GT(map_.records_from, 0U);
  Live({kServer1});
  EXPECT_NE(Sent<DataSetOpened>(kWorker), nullptr);
}

// In an orderly change the old one's server answers with what that one knew last, which no copy may have.
TEST_F(CoordinatorMirrorTest, WhatTheOldOneKnewLastIsNewerThanEveryCopy) {
  const LeaseGrant first = TakeLease();
  const CoordinatorRecord copy = record_;
  Say(kWorker, LeaseDone{.header = NextHeader(), .lease = first.lease});  // not in any acknowledged copy
  const std::optional<CoordinatorRecord> last = core_->LastRecord();
  ASSERT_TRUE(last.has_value());
  EXPECT_GT(last->number, copy.number);
  record_ = copy;
  Appoint({});
  JoinAgain(kServer0);
  Say(kServer0, AnswerOf({}, last));
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  EXPECT_FALSE(core_->progress().taking_over);
  EXPECT_EQ(core_->progress().items_done, first.end - first.begin);
}

TEST_F(CoordinatorMirrorTest, WithoutAnyCopyTheOldOnesServerIsWaitedFor) {
  (void)TakeLease();
  const std::optional<CoordinatorRecord> last = core_->LastRecord();
  Follow();
  JoinAgain(kServer1);
  Say(kServer1, AnswerOf());
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  for (int i = 0; i < 20; ++i) Wait(seconds(5));
  EXPECT_TRUE(core_->progress().taking_over);
  EXPECT_FALSE(out_.failed.has_value());
  JoinAgain(kServer0);
  Say(kServer0, AnswerOf({}, last));
  EXPECT_FALSE(core_->progress().taking_over);
  EXPECT_FALSE(out_.failed.has_value());
}

// Its worker has done all its items and is still in a step with it: others may not run ahead of that worker.
TEST_F(CoordinatorMirrorTest, ALeaseWhoseItemsAreDoneIsKeptUntilItsWorkerEndsIt) {
  const LeaseGrant grant = TakeLease();
  Say(kWorker, Heartbeat{.number = ++heartbeat_, .leases = {{grant.lease, grant.end}}});
  const std::optional<CoordinatorRecord> last = core_->LastRecord();
  ASSERT_TRUE(last && last->data_sets.size() == 1);
  EXPECT_EQ(last->data_sets[0].holders.size(), 1U);
  EXPECT_EQ(last->data_sets[0].progress.open.size(), 1U);
}

TEST_F(CoordinatorMirrorTest, WithoutACopyTheJobEnds) {
  (void)TakeLease();
  record_ = {};
  term_ = 2;
  questions_.clear();
  core_.emplace(CoordinatorOptions{.job_uid = "job",
                                   .term = 2,
                                   .takeover = true,
                                   .newest_checkpoint = {.directory = "/c", .checkpoint = 7, .clock = 40},
                                   .host_index = 1});
  Step(FromOperator{.id = CommandId(1), .command = NodeGone{Role::kServer, 0}});
  JoinAgain(kServer1);
  Say(kServer1, AnswerOf());
  JoinAgain(kWorker);
  Say(kWorker, WorkersAnswer({}));
  ConfirmWhenWanted();
  ASSERT_TRUE(out_.failed.has_value());
  EXPECT_NE(std::string(attune::Message(*out_.failed)).find("attune run --resume /c"), std::string::npos);
  EXPECT_NE(Sent<SessionLost>(kWorker), nullptr);
}

}  // namespace
}  // namespace attune::ps::coordinator_mirror_test

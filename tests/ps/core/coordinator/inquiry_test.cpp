#include "ps/core/coordinator/inquiry.h"

#include <gtest/gtest.h>

#include "tests/ps/core/coordinator/coordinator_parts.h"

namespace attune::ps::inquiry_test {
namespace {

// The coordinator of term 1 ran in server 0; this one runs in server 1.
class InquiryTest : public CoordinatorParts {
 protected:
  InquiryTest() : CoordinatorParts(Follower(), false) {
    map_.version = MapVersion(1, 5);
    map_.members = {MemberOf(kServer0, Role::kServer, 0), MemberOf(kServer1, Role::kServer, 1),
                    MemberOf(kWorker, Role::kWorker, 0)};
    map_.shards = {{.home = kServer0, .backup = kServer1}, {.home = kServer1, .backup = kServer0}};
    record_.number = (uint64_t{1} << 32) + 8;
    record_.host = kServer0;
    for (const Member& member : map_.members) record_.nodes.push_back({.node = member.node});
    record_.next_node = NodeId(5000);
  }

  static CoordinatorOptions Follower() {
    return {.job_uid = "job",
            .term = 2,
            .takeover = true,
            .newest_checkpoint = {.directory = "/c", .checkpoint = 7, .clock = 40},
            .host_index = 1};
  }
  static Member MemberOf(NodeId node, Role role, uint32_t index) {
    return {.node = node, .role = role, .index = index, .incarnation = NewIncarnation(PodOfIndex(role, index), 1)};
  }
  void Joins(NodeId node) {
    const Member& member = *map_.Find(node);
    Join join = JoinOf(member.role, member.index);
    join.node = node;
    inquiry_.OnJoin(To(node), join, out_);
  }
  void Answers(NodeId node, bool with_record = false) {
    Joins(node);
    Promised answer{.map = map_, .standing = {}, .sync = {}, .tables = {}, .mirror = {}};
    if (const Promise* promise = Sent<Promise>(node)) answer.standing.supports = promise->support.number;
    if (with_record) answer.mirror = record_;
    inquiry_.OnPromised(To(node), answer);
  }

  ShardMap map_;
  CoordinatorRecord record_;
};

TEST_F(InquiryTest, MembersThatJoinAreAskedForTheirPromise) {
  Joins(kServer0);
  ASSERT_NE(Sent<Promise>(kServer0), nullptr);
  EXPECT_NE(Sent<Promise>(kServer0)->support.number, 0U);
  Join join = JoinOf(Role::kWorker, 5);
  join.job_uid = "other";
  inquiry_.OnJoin(ConnectionId(9), join, out_);
  EXPECT_NE(Sent<JoinRefused>(ConnectionId(9)), nullptr);
}

TEST_F(InquiryTest, ItWaitsUntilEveryMemberHasAnswered) {
  Answers(kServer0);
  EXPECT_FALSE(inquiry_.Continue(out_)) << "its own server may know more";
  Answers(kServer1, true);
  EXPECT_FALSE(inquiry_.Continue(out_)) << "the worker is missing";
  Answers(kWorker);
  const auto found = inquiry_.Continue(out_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->map, map_);
  ASSERT_TRUE(found->record);
  EXPECT_EQ(found->record->number, record_.number);
  EXPECT_EQ(inquiry_.End().size(), 3U);
}

TEST_F(InquiryTest, WhatServersHaveAnsweredAgesSoTheyAreAskedAgain) {
  Answers(kServer0);
  out_.Clear();
  inquiry_.AskAgain(out_);
  EXPECT_TRUE(out_.send.empty());
  Now(std::chrono::seconds(10));
  inquiry_.AskAgain(out_);
  EXPECT_NE(Sent<Promise>(kServer0), nullptr);
}

TEST_F(InquiryTest, OneWhoseServerWasLostMeanwhileEnds) {
  std::erase_if(map_.members, [](const Member& member) { return member.node == kServer1; });
  map_.shards = {{.home = kServer0}, {.home = kServer0}};
  const ShardMap newest = map_;
  map_.members.insert(map_.members.begin() + 1, MemberOf(kServer1, Role::kServer, 1));
  map_.version = MapVersion(1, 4);
  Answers(kServer1, true);
  map_ = newest;
  Answers(kServer0);
  out_.Clear();
  EXPECT_FALSE(inquiry_.Continue(out_));
  EXPECT_TRUE(job_.phase().superseded());
  EXPECT_TRUE(out_.superseded);
  EXPECT_NE(Sent<SessionLost>(kServer1), nullptr);
}

TEST_F(InquiryTest, WithoutACopyOfTheRecordTheJobEndsWithAnAdvice) {
  Answers(kServer1);
  Answers(kServer0);
  Answers(kWorker);
  out_.Clear();
  const Status why = inquiry_.EndWithoutRecord(out_);
  EXPECT_NE(std::string(why.message()).find("attune run --resume /c"), std::string::npos);
  for (const NodeId node : {kServer0, kServer1, kWorker}) EXPECT_NE(Sent<SessionLost>(node), nullptr);
}

}  // namespace
}  // namespace attune::ps::inquiry_test

#include "ps/core/coordinator/restoration.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ps/core/protocol/limits.h"
#include "tests/ps/core/coordinator/coordinator_parts.h"

namespace attune::ps::restoration_test {
namespace {

// The coordinator of term 1 ran in server 0; this one runs in server 1.
class RestorationTest : public CoordinatorParts {
 protected:
  RestorationTest() : CoordinatorParts({.job_uid = "job", .term = 2, .takeover = true, .host_index = 1}, false) {
    map_.version = MapVersion(1, 5);
    for (const auto& [node, role, index] :
         {std::tuple{kServer0, Role::kServer, 0U}, std::tuple{kServer1, Role::kServer, 1U},
          std::tuple{kWorker, Role::kWorker, 0U}}) {
      map_.members.push_back(
          {.node = node, .role = role, .index = index, .incarnation = NewIncarnation(PodOfIndex(role, index), 1)});
      record_.nodes.push_back({.node = node});
    }
    map_.shards = {{.home = kServer0, .backup = kServer1}, {.home = kServer1, .backup = kServer0}};
    record_.number = (uint64_t{1} << 32) + 8;
    record_.host = kServer0;
    record_.servers = record_.servers_wanted = 2;
    record_.items = 100;
    record_.next_node = NodeId(5000);
    record_.steps_of_gone = 40;
  }

  void Answered(NodeId node, Heartbeat standing = {}) {
    const Member& member = *map_.Find(node);
    previous_[node] = {
        .join = JoinOf(member.role, member.index),
        .connection = To(node),
        .answer = Promised{.map = map_, .standing = std::move(standing), .sync = {}, .tables = {}, .mirror = {}}};
  }
  void Restore() { restoration_.Restore(map_, record_, previous_, out_); }

  ShardMap map_;
  CoordinatorRecord record_;
  PreviousMembers previous_;
};

TEST_F(RestorationTest, ThoseWhoHaveAnsweredContinueUnderItsTerm) {
  for (const NodeId node : {kServer0, kServer1, kWorker}) Answered(node, {.steps = node == kWorker ? 5U : 0U});
  Restore();
  EXPECT_EQ(job_.members().size(), 3U);
  EXPECT_EQ(job_.members().TotalSteps(), 45U);
  EXPECT_EQ(job_.members().next(), NodeId(5000));
  EXPECT_EQ(job_.map().version, MapVersion(2, 1));
  EXPECT_EQ(job_.map().shards, map_.shards);
  EXPECT_EQ(job_.options().items, 100U);
  EXPECT_FALSE(recoveries_.in_progress());
  EXPECT_TRUE(HasEvent("3 members have answered, 0 are lost"));
}

// Seed 852795981138 of coordinators: those of terms 2 and 3 both began from the copy of term 1, and a server got the
// number that a worker had.
TEST_F(RestorationTest, CoordinatorsThatBeginFromTheSameCopyGiveDifferentNumbers) {
  record_.number = uint64_t{1} << 32;
  for (const auto& [term, next] :
       {std::pair(2U, NodeId(5000)), std::pair(3U, NodeId(5000 + kMembersMax)),
        std::pair(9U, NodeId(5000 + 7 * kMembersMax)), std::pair(UINT32_MAX, NodeId(kNodeIdMax))}) {
    JobContext job({.job_uid = "job", .term = term, .takeover = true});
    job.Restore(record_);
    EXPECT_EQ(job.members().next(), next) << "term " << term;
  }
}

TEST_F(RestorationTest, RowsOfALostServerAreRecovered) {
  for (const NodeId node : {kServer1, kWorker}) Answered(node);
  Restore();
  EXPECT_FALSE(job_.map().Contains(kServer0));
  EXPECT_TRUE(recoveries_.in_progress());
  EXPECT_EQ(job_.map().recovered_at, job_.map().version);
  for (const Shard& shard : job_.map().shards) {
    EXPECT_EQ(shard.home, kServer1);
    EXPECT_EQ(shard.routing_since, job_.map().version);
  }
  EXPECT_FALSE(HasEvent("have no copy"));
}

TEST_F(RestorationTest, ShardsWithoutACopyComeFromTheNewestCheckpoint) {
  for (Shard& shard : map_.shards) shard.backup = {};
  record_.newest = {.directory = "/c", .checkpoint = 7, .clock = 40};
  for (const NodeId node : {kServer1, kWorker}) Answered(node);
  Restore();
  EXPECT_TRUE(HasEvent("1 shards have no copy, their rows go back to checkpoint 7"));
}

TEST_F(RestorationTest, ALostWorkerWithoutRowsMovesNone) {
  for (const NodeId node : {kServer0, kServer1}) Answered(node);
  Restore();
  EXPECT_FALSE(job_.map().Contains(kWorker));
  EXPECT_EQ(job_.map().shards, map_.shards);
  EXPECT_EQ(job_.map().recoveries, map_.recoveries);
  EXPECT_FALSE(recoveries_.in_progress());
}

TEST_F(RestorationTest, OneThatTheRecordKnowsNoMoreHearsSo) {
  for (const NodeId node : {kServer0, kServer1, kWorker}) Answered(node);
  std::erase_if(record_.nodes, [](const auto& node) { return node.node == kServer0; });
  ASSERT_TRUE(WasRemovedBefore(record_, kServer0));
  Restore();
  EXPECT_FALSE(job_.members().contains(kServer0));
  EXPECT_NE(Sent<SessionLost>(kServer0), nullptr);
}

TEST_F(RestorationTest, AServerWithoutAllTablesGetsNoShardsOfALostOne) {
  constexpr NodeId kServer2{4};
  map_.members.push_back({.node = kServer2, .role = Role::kServer, .index = 2, .incarnation = NewIncarnation(12, 1)});
  record_.nodes.push_back({.node = kServer2});
  for (Shard& shard : map_.shards) shard = {.home = kServer0};
  const TableSpec spec{.name = "rows", .options = {.dim = 2}};
  record_.tables = {{.spec = spec, .opened = true}};
  for (const NodeId node : {kServer1, kServer2, kWorker}) Answered(node);
  previous_[kServer1].answer->tables = {{.table = TableId(1), .spec = spec, .load = {}}};
  Restore();
  for (const Shard& shard : job_.map().shards) EXPECT_EQ(shard.home, kServer1);
}

TEST_F(RestorationTest, AServerThatMayHaveAnOlderCopyHoldsBackAnswers) {
  for (const NodeId node : {kServer0, kServer1, kWorker}) Answered(node);
  previous_[kServer1].answer->mirror = record_;
  Restore();
  for (const NodeId server : {kServer0, kServer1}) Support(server);
  const bool moved = replies_.ChooseHost();
  ASSERT_NE(replies_.CopyDue(moved), nullptr);
  ASSERT_TRUE(replies_.Acknowledge(kServer0, replies_.number()));
  EXPECT_TRUE(replies_.ToAnnounce()) << "the next map says from which copy on they count";
}

}  // namespace
}  // namespace attune::ps::restoration_test

#include "ps/core/coordinator/state/job_context.h"

#include <gtest/gtest.h>

#include "ps/core/protocol/limits.h"
#include "tests/ps/core/coordinator/coordinator_parts.h"

namespace attune::ps::job_context_test {
namespace {

class JobContextTest : public CoordinatorParts {};

TEST_F(JobContextTest, AJobHasAServerAndAShardForEach) {
  EXPECT_EQ(JobContext(CoordinatorOptions{.servers = 0}).options().servers, 1U);
  EXPECT_EQ(JobContext(CoordinatorOptions{.servers = 3, .shards = 1}).options().shards, 3U);
  EXPECT_EQ(JobContext(CoordinatorOptions{.shards = kShardsMax + 1}).options().shards, kShardsMax);
}

TEST_F(JobContextTest, MessagesReachThoseWithAConnectionAndTheirRole) {
  At(kServer1).connection.reset();
  job_.SendToAll(Finished{}, out_);
  EXPECT_EQ(out_.send.size(), 2U);
  EXPECT_EQ(Sent<Finished>(kServer1), nullptr);
  out_.Clear();
  job_.SendToAll(Role::kWorker, Finished{}, out_);
  ASSERT_EQ(out_.send.size(), 1U);
  EXPECT_NE(Sent<Finished>(kWorker), nullptr);
}

TEST_F(JobContextTest, AnotherJobIsRefusedByItsName) {
  Join join = JoinOf(Role::kWorker, 0);
  EXPECT_TRUE(job_.CheckJob(join).ok());
  join.job_uid = "other";
  EXPECT_NE(std::string(job_.CheckJob(join).message()).find("\"other\""), std::string::npos);
}

TEST_F(JobContextTest, ADeadlineWithoutEndHasNone) {
  EXPECT_EQ(job_.DeadlineAfter(std::chrono::seconds(3)), job_.now() + std::chrono::seconds(3));
  EXPECT_EQ(job_.DeadlineAfter(Duration::max()), kNever);
}

TEST_F(JobContextTest, ASuccessorStartsWithWhatTheJobWasStartedWith) {
  job_.members().AddStepsOfGone(7);
  CoordinatorRecord record;
  job_.Fill(record);
  ASSERT_EQ(record.nodes.size(), 3U);
  JobContext next(CoordinatorOptions{.job_uid = "job", .term = 2, .takeover = true});
  next.Restore(record);
  EXPECT_EQ(next.options().items, 100U);
  EXPECT_EQ(next.options().servers, 2U);
  EXPECT_EQ(next.options().goal, job_.options().goal);
  EXPECT_EQ(next.members().steps_of_gone(), 7U);
  EXPECT_GT(next.members().next(), NodeId(kMembersMax)) << "who has joined meanwhile is not in the record";
}

TEST_F(JobContextTest, TelemetryCountsMembersByRole) {
  JobProgress progress;
  job_.Fill(progress);
  EXPECT_EQ(progress.servers, 2U);
  EXPECT_EQ(progress.workers, 1U);
  EXPECT_TRUE(progress.serving);
  EXPECT_EQ(progress.lease.map_version, job_.map().version);
  job_.phase().Fail(Error(StatusCode::kDataLoss, "lost"));
  job_.Fill(progress);
  EXPECT_FALSE(progress.serving);
}

}  // namespace
}  // namespace attune::ps::job_context_test

#include "ps/core/coordinator/member_watch.h"

#include <gtest/gtest.h>

#include "tests/ps/core/coordinator/coordinator_parts.h"

namespace attune::ps::member_watch_test {
namespace {

using std::chrono::seconds;

CoordinatorOptions WithBackups() {
  CoordinatorOptions options{.job_uid = "job", .may_be_followed = false, .servers = 2, .shards = 4};
  options.backups = 1;
  return options;
}

class MemberWatchTest : public CoordinatorParts {
 protected:
  MemberWatchTest() : CoordinatorParts(WithBackups()) {}

  bool Says(NodeId node, std::vector<NodeId> unreached) {
    const Heartbeat next{.number = 2, .map_version = At(node).last.map_version, .unreached = std::move(unreached)};
    return watch_.NoteLinks(At(node), next);
  }
};

TEST_F(MemberWatchTest, AMissingLinkChangesWhereShardsMayLie) {
  EXPECT_FALSE(Says(kWorker, {}));
  EXPECT_TRUE(Says(kWorker, {kServer1}));
  EXPECT_FALSE(Says(kWorker, {kServer1})) << "known";
  EXPECT_TRUE(Says(kWorker, {NodeId(99), kWorker})) << "neither is another member";
  EXPECT_TRUE(watch_.links().HasAllLinks(kWorker));
}

TEST_F(MemberWatchTest, WhoDoesNotReachOthersIsGivenUpAndNotHeardAnyMore) {
  Says(kWorker, {kServer1});
  Now(seconds(13));
  watch_.CheckLinks(out_);
  ASSERT_TRUE(watch_.IsGivenUp(kWorker));
  EXPECT_TRUE(HasEvent("it is given up"));
  watch_.Heard(At(kWorker));
  EXPECT_NE(At(kWorker).silent_since, job_.now());
  watch_.Heard(At(kServer1));
  EXPECT_EQ(At(kServer1).silent_since, job_.now());
}

TEST_F(MemberWatchTest, NoneIsGivenUpDuringARecoveryOrWhenTheJobIsFinished) {
  recoveries_.Begin(0);
  Says(kWorker, {kServer1});
  Now(seconds(13));
  watch_.CheckLinks(out_);
  EXPECT_FALSE(watch_.IsGivenUp(kWorker)) << "any node may have the only copy of a row";
  (void)recoveries_.End();
  watch_.CheckLinks(out_);
  ASSERT_TRUE(watch_.IsGivenUp(kWorker));
  job_.phase().Finish();
  watch_.CheckLinks(out_);
  EXPECT_FALSE(watch_.IsGivenUp(kWorker));
}

TEST_F(MemberWatchTest, WhoIsSilentIsLostWithAReason) {
  Now(seconds(9));
  for (const NodeId server : {kServer0, kServer1}) watch_.Heard(At(server));
  EXPECT_TRUE(watch_.Lost().empty()) << "the time before was forgiven: none was heard";
  for (int half = 19; half <= 26; ++half) {
    Now(half * std::chrono::milliseconds(500));
    for (const NodeId server : {kServer0, kServer1}) watch_.Heard(At(server));
  }
  EXPECT_EQ(watch_.Lost(), std::set{kWorker});
  EXPECT_NE(std::string(watch_.WhyLost(kWorker).message()).find("worker 0 (node 3) has not been heard of for"),
            std::string::npos);
}

TEST_F(MemberWatchTest, AnEndedProcessIsAnsweredWhenItHasNoPartAndAllServersKnow) {
  ASSERT_TRUE(watch_.OnGone(CommandId(1), {Role::kServer, 1, PodOfIndex(Role::kServer, 1)}, kNever, out_));
  watch_.AnswerGoneOrders(out_);
  EXPECT_TRUE(out_.command_results.empty()) << "it is a member";
  departures_.Lose(kServer1, Error(StatusCode::kAborted, "gone"), out_);
  watch_.AnswerGoneOrders(out_);
  EXPECT_TRUE(out_.command_results.empty()) << "server 0 has an older map";
  KnowTheMap(kServer0);
  watch_.AnswerGoneOrders(out_);
  ASSERT_EQ(out_.command_results.size(), 1U);
  EXPECT_TRUE(out_.command_results[0].status.ok());
}

TEST_F(MemberWatchTest, ReportsOfEndedProcessesAreBounded) {
  for (size_t i = 0; i < kMembersMax; ++i) {
    ASSERT_TRUE(watch_.OnGone(CommandId(i), {Role::kWorker, 0, 1}, kNever, out_));
  }
  EXPECT_FALSE(watch_.OnGone(CommandId(kMembersMax), {Role::kWorker, 0, 1}, kNever, out_));
  ASSERT_EQ(out_.command_results.size(), 1U);
  EXPECT_EQ(watch_.AbandonAll().size(), kMembersMax);
}

}  // namespace
}  // namespace attune::ps::member_watch_test

#include "ps/core/coordinator/state/replies.h"

#include <gtest/gtest.h>

#include "ps/core/protocol/limits.h"
#include "tests/ps/core/coordinator/coordinator_parts.h"

namespace attune::ps::replies_test {
namespace {

class RepliesTest : public CoordinatorParts {
 protected:
  using CoordinatorParts::CoordinatorParts;

  RequestId TakeUp() {
    const RequestHeader header = NextHeader();
    EXPECT_TRUE(Replies::IsNew(At(kWorker), header, out_));
    EXPECT_TRUE(Replies::TakeUp(At(kWorker), header.request, out_));
    return header.request;
  }
};

TEST_F(RepliesTest, ARequestIsTakenUpOnceAndItsAnswerSentAgain) {
  const RequestId request = TakeUp();
  EXPECT_FALSE(Replies::IsNew(At(kWorker), {.request = request}, out_));
  EXPECT_TRUE(out_.send.empty()) << "it is being worked on";
  replies_.Reply(kWorker, request, Done{.request = request}, out_);
  EXPECT_NE(Sent<Done>(kWorker), nullptr);
  out_.Clear();
  EXPECT_FALSE(Replies::IsNew(At(kWorker), {.request = request}, out_));
  EXPECT_NE(Sent<Done>(kWorker), nullptr);
}

TEST_F(RepliesTest, OpenRequestsAreBounded) {
  for (size_t i = 0; i < kRequestsInFlightMax; ++i) TakeUp();
  EXPECT_FALSE(Replies::TakeUp(At(kWorker), RequestId(++request_), out_));
  ASSERT_NE(Sent<Refused>(kWorker), nullptr);
  EXPECT_EQ(Sent<Refused>(kWorker)->status.code(), StatusCode::kResourceExhausted);
}

class MirroredRepliesTest : public RepliesTest {
 protected:
  MirroredRepliesTest() : RepliesTest(Followed()) {}
  // The copy is sent and arrives.
  void Copy() {
    const bool moved = replies_.ChooseHost();
    ASSERT_TRUE(replies_.HasHost());
    ASSERT_NE(replies_.CopyDue(moved), nullptr);
    ASSERT_TRUE(replies_.Acknowledge(kServer1, replies_.number()));
    replies_.Release(false, out_);
  }
};

TEST_F(MirroredRepliesTest, AnAnswerWaitsForTheCopyThatKnowsOfIt) {
  const RequestId request = TakeUp();
  replies_.Refuse(kWorker, request, Error(StatusCode::kNotFound, "no"), out_);
  EXPECT_EQ(Sent<Refused>(kWorker), nullptr);
  Copy();
  EXPECT_NE(Sent<Refused>(kWorker), nullptr);
}

TEST_F(MirroredRepliesTest, WithoutTheLeaseNothingIsAnswered) {
  const RequestId request = TakeUp();
  Now(std::chrono::minutes(1));
  ASSERT_FALSE(job_.Leads());
  replies_.Reply(kWorker, request, Done{.request = request}, out_);
  replies_.Release(true, out_);
  EXPECT_EQ(Sent<Done>(kWorker), nullptr);
  for (const NodeId server : {kServer0, kServer1}) Support(server);
  replies_.Release(true, out_);
  EXPECT_NE(Sent<Done>(kWorker), nullptr);
}

TEST_F(MirroredRepliesTest, AWorkerThatHasLeftIsAnsweredOverItsConnection) {
  const RequestId request = TakeUp();
  replies_.Reply(kWorker, request, Done{.request = request}, out_);
  job_.members().Remove(kWorker, OkStatus(), job_.now());
  replies_.Release(true, out_);
  EXPECT_NE(Sent<Done>(kWorker), nullptr);
}

TEST_F(MirroredRepliesTest, OlderCopiesAreAnnouncedAsOutOfDate) {
  ASSERT_TRUE(replies_.ChooseHost());
  replies_.NoteOlderCopy(kServer0);
  replies_.NoteChange();
  EXPECT_EQ(replies_.ToAnnounce(), std::nullopt) << "the first copy has not arrived";
  Copy();
  const auto from = replies_.ToAnnounce();
  ASSERT_TRUE(from);
  placement_.PublishRecordsFrom(*from, out_);
  replies_.NoteAnnounced();
  EXPECT_EQ(replies_.ToAnnounce(), std::nullopt) << "the newest map says so";
}

TEST_F(MirroredRepliesTest, WithoutAnotherServerThereIsNoCopy) {
  job_.members().Remove(kServer1, OkStatus(), job_.now());
  EXPECT_FALSE(replies_.ChooseHost());
  EXPECT_FALSE(replies_.HasHost());
}

}  // namespace
}  // namespace attune::ps::replies_test

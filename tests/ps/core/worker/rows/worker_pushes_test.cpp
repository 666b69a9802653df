#include "ps/core/worker/rows/worker_pushes.h"

#include "ps/core/protocol/limits.h"
#include "tests/ps/core/worker/rows/row_parts.h"

namespace attune::ps::worker_pushes_test {
namespace {

using std::chrono::seconds;

class WorkerPushesTest : public RowPartsTest {
 protected:
  void Push(std::vector<Key> keys) { pushes_.Push(PushOf(std::move(keys)), /*step=*/7, now_, out_); }
  bool Acknowledge(uint64_t sequence, uint32_t first, uint32_t count) {
    return pushes_.Acknowledged({.sequence = SequenceNumber(sequence),
                                 .map_version = {},
                                 .positions = {.first = first, .count = count, .list = {}}},
                                now_, out_);
  }

  WorkerPushes pushes_{options_, cluster_, own_, routes_};
};

TEST_F(WorkerPushesTest, WhatDoesNotFitTheTableIsRefused) {
  PushCall call = PushOf({1, 2});
  EXPECT_TRUE(pushes_.Check(call).ok());
  call.gradients = std::vector<float>{1};
  EXPECT_EQ(pushes_.Check(call).code(), StatusCode::kInvalidArgument);
  call.table = TableId(2);
  EXPECT_EQ(pushes_.Check(call).code(), StatusCode::kNotFound);
}

TEST_F(WorkerPushesTest, NoMoreAreTakenThanCanBeKept) {
  for (size_t i = 0; i < size_t{4} * kPushWindowMax; ++i) Push({KeyAt(kFirstServer)});
  EXPECT_EQ(pushes_.Check(PushOf({1})).code(), StatusCode::kResourceExhausted);
  Acknowledge(1, 0, 1);
  EXPECT_TRUE(pushes_.Check(PushOf({1})).ok());
}

TEST_F(WorkerPushesTest, ACallEndsOnceEveryHomeHasAcknowledgedItsPart) {
  Push({KeyAt(kFirstServer), KeyAt(kSecondServer), KeyAt(kFirstServer)});
  const auto sent = SentOf<ps::Push>();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].second.gradients, Slice<float>(std::vector<float>{2})) << "those of equal keys are summed";
  EXPECT_EQ(sent[0].second.step, 7U);
  EXPECT_FALSE(Acknowledge(1, 1, 1));
  EXPECT_TRUE(Ended().empty());
  EXPECT_TRUE(Acknowledge(1, 0, 1));
  ASSERT_EQ(out_.completions.size(), 1U);
  EXPECT_TRUE(out_.completions[0].status.ok());
}

TEST_F(WorkerPushesTest, ARefusalNamesWhoRefused) {
  Push({KeyAt(kFirstServer)});
  EXPECT_TRUE(pushes_.Refused(kFirstServer,
                              {.sequence = SequenceNumber(1),
                               .map_version = {},
                               .positions = {.first = 0, .count = 1, .list = {}},
                               .status = Error(StatusCode::kResourceExhausted, "full")},
                              now_, out_));
  const auto ended = Ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(attune::Message(ended[0].status).substr(0, 8), "push to ");
}

TEST_F(WorkerPushesTest, OneWithoutRoomWaitsForTheOldest) {
  for (int i = 0; i < 3; ++i) Push({KeyAt(kFirstServer)});
  EXPECT_EQ(SentOf<ps::Push>().size(), 2U);
  EXPECT_TRUE(Acknowledge(1, 0, 1));
  pushes_.SendWaiting(now_, out_);
  EXPECT_EQ(SentOf<ps::Push>().size(), 1U);
}

TEST_F(WorkerPushesTest, OnlyWhatIsOpenIsSentAgain) {
  Push({KeyAt(kFirstServer), KeyAt(kFirstServer, 1), KeyAt(kSecondServer)});
  SentOf<ps::Push>();
  Acknowledge(1, 0, 1);
  pushes_.Connected(kFirstServer, now_, out_);
  auto sent = SentOf<ps::Push>();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].second.positions.first, 1U);
  pushes_.Reissue(now_, out_);
  EXPECT_EQ(SentOf<ps::Push>().size(), 2U);
  EXPECT_EQ(pushes_.WakeAt(), now_ + options_.reissue_after);
  now_ = pushes_.WakeAt();
  pushes_.EndOverdue(now_, out_);
  pushes_.SendAgain(now_, out_);
  EXPECT_EQ(SentOf<ps::Push>().size(), 2U);
  EXPECT_EQ(pushes_.WakeAt(), now_ + 2 * options_.reissue_after) << "later each time";
}

TEST_F(WorkerPushesTest, AnOwnerWithoutAConnectionIsReachedByTheHome) {
  const Key key = KeyAt(kFirstServer);
  routes_.hints().LearnFrom(PushAck{.sequence = SequenceNumber(1),
                                    .map_version = {},
                                    .positions = {.first = 0, .count = 1, .list = {}},
                                    .owner = kOtherWorker},
                            kTable, std::vector<Key>{key}, cluster_);
  Push({key});
  EXPECT_EQ(SentOf<ps::Push>().at(0).first, kOtherWorker);
  cluster_.SetDisconnected(kOtherWorker);
  Push({key});
  EXPECT_EQ(SentOf<ps::Push>().at(0).first, kFirstServer);
}

TEST_F(WorkerPushesTest, RowsThatAreHereAreWrittenAtOnce) {
  const Key key = KeyAt(kFirstServer);
  const std::vector<float> gradient = {1};
  EXPECT_FALSE(pushes_.PushHere(kTable, {&key, 1}, gradient, 7).has_value()) << "no row is here";
  Own(key);
  const auto pushed = pushes_.PushHere(kTable, {&key, 1}, gradient, 7);
  ASSERT_TRUE(pushed.has_value());
  EXPECT_TRUE(pushed->ok());
  EXPECT_TRUE(pushes_.window().empty()) << "it needs no number";
  const std::vector<Key> twice = {key, key};
  EXPECT_FALSE(pushes_.PushHere(kTable, twice, std::vector<float>{1, 1}, 7).has_value()) << "to be summed first";
  const std::vector<Key> both = {key, KeyAt(kFirstServer, 1)};
  EXPECT_FALSE(pushes_.PushHere(kTable, both, std::vector<float>{1, 1}, 7).has_value()) << "one is elsewhere";
}

// The caller of Push is not ready for an answer before the end of its step.
TEST_F(WorkerPushesTest, ThePartOfAPushThatIsHereIsAnsweredLater) {
  const Key key = KeyAt(kFirstServer);
  Own(key);
  Push({key, KeyAt(kSecondServer)});
  EXPECT_EQ(SentOf<ps::Push>().size(), 1U);
  EXPECT_TRUE(Ended().empty());
  const auto answer = own_.NextAnswer();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(std::get<PushAck>(answer->second).owner, kWorker);
}

TEST_F(WorkerPushesTest, ACallWhoseTimeIsOverEndsAndItsPushStays) {
  Push({KeyAt(kFirstServer)});
  pushes_.Postpone(seconds(1));
  pushes_.EndOverdue(now_ + seconds(10), out_);
  EXPECT_TRUE(Ended().empty());
  pushes_.EndOverdue(now_ + seconds(11), out_);
  const auto ended = Ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(pushes_.window().size(), 1U);
  pushes_.EndAll(Error(StatusCode::kAborted, "lost"), out_);
  EXPECT_TRUE(Ended().empty()) << "its call has ended";
  EXPECT_TRUE(pushes_.window().empty());
}

}  // namespace
}  // namespace attune::ps::worker_pushes_test

#include "ps/core/worker/rows/worker_pulls.h"

#include <gmock/gmock.h>

#include "ps/core/worker/rows/worker_pushes.h"
#include "tests/ps/core/worker/rows/row_parts.h"

namespace attune::ps::worker_pulls_test {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;

class WorkerPullsTest : public RowPartsTest {
 protected:
  CallId Begin(std::vector<Key> keys) {
    const PullCall call = PullOf(std::move(keys));
    pulls_.Begin(call);
    pulls_.AskAll(call, now_, out_);
    return call.call;
  }
  void Answer(const std::pair<NodeId, Pull>& asked, float value) {
    PullReply reply = AnswerTo(asked.second, value);
    EXPECT_TRUE(pulls_.Take(asked.first, reply, out_).has_value());
  }

  WorkerPushes pushes_{options_, cluster_, own_, routes_};
  WorkerPulls pulls_{options_, cluster_, own_, routes_, pushes_.window()};
};

TEST_F(WorkerPullsTest, WhatDoesNotFitTheTableIsRefused) {
  PullCall call = PullOf({1, 2});
  EXPECT_TRUE(pulls_.Check(call).ok());
  call.rows = call.rows.first(1);
  EXPECT_EQ(pulls_.Check(call).code(), StatusCode::kInvalidArgument);
  call.table = TableId(2);
  EXPECT_EQ(pulls_.Check(call).code(), StatusCode::kNotFound);
  EXPECT_FALSE(pulls_.HasRoomFor(kPullsInFlightMax * kKeysPerMessageMax, 1));
}

TEST_F(WorkerPullsTest, ACallEndsOnceEveryHomeHasAnswered) {
  Begin({KeyAt(kSecondServer), KeyAt(kFirstServer)});
  const auto asked = SentOf<Pull>();
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].first, kFirstServer);
  Answer(asked[0], 1);
  EXPECT_TRUE(Ended().empty());
  Answer(asked[1], 2);
  EXPECT_EQ(Ended().size(), 1U);
  EXPECT_THAT(pulled_, ElementsAre(2, 1));
  EXPECT_EQ(pulls_.TakeAccesses().remote, 2U);
}

TEST_F(WorkerPullsTest, APullComesBehindOwnPushesOfItsKeys) {
  const Key key = KeyAt(kFirstServer);
  pushes_.Push(PushOf({key}), 0, now_, out_);
  Begin({KeyAt(kFirstServer, 1), key});
  const auto asked = SentOf<Pull>();
  ASSERT_EQ(asked.size(), 1U);
  ASSERT_EQ(asked[0].second.after.size(), 1U);
  EXPECT_EQ(asked[0].second.after[0].key_index, 1U);
}

TEST_F(WorkerPullsTest, RowsThatAreHereAreTakenAtOnce) {
  const Key here = KeyAt(kFirstServer);
  std::vector<float> row(1, -1);
  EXPECT_FALSE(pulls_.PullHere(kTable, {&here, 1}, row));
  Own(here);
  EXPECT_TRUE(pulls_.PullHere(kTable, {&here, 1}, row));
  EXPECT_THAT(row, ElementsAre(0));
  Begin({here});
  EXPECT_TRUE(SentOf<Pull>().empty());
  EXPECT_EQ(Ended().size(), 1U);
  EXPECT_EQ(pulls_.TakeAccesses().owned, 2U);
}

TEST_F(WorkerPullsTest, HeldRowsComeFromElsewhereOrAreAskedForInstead) {
  const PullCall call = PullOf({KeyAt(kFirstServer), KeyAt(kFirstServer, 1), KeyAt(kSecondServer)});
  pulls_.Begin(call);
  pulls_.Hold(call.call);
  pulls_.Hold(call.call);
  pulls_.AskSome(call, std::vector<uint32_t>{2}, now_, out_);
  auto asked = SentOf<Pull>();
  ASSERT_EQ(asked.size(), 1U);
  Answer(asked[0], 3);
  pulls_.Fill(call.call, 0, std::vector<float>{4}, out_);
  EXPECT_TRUE(Ended().empty());
  pulls_.AskInstead(call.call, kTable, 1, {{1, call.keys[1]}}, now_, out_);
  EXPECT_TRUE(Ended().empty());
  asked = SentOf<Pull>();
  ASSERT_EQ(asked.size(), 1U);
  Answer(asked[0], 5);
  EXPECT_EQ(Ended().size(), 1U);
  EXPECT_THAT(pulled_, ElementsAre(4, 5, 3));
  pulls_.AskInstead(call.call, kTable, 1, {{1, call.keys[1]}}, now_, out_);
  EXPECT_TRUE(SentOf<Pull>().empty()) << "it has ended";
}

TEST_F(WorkerPullsTest, WhatIsOpenIsAskedForAgain) {
  Begin({KeyAt(kFirstServer), KeyAt(kSecondServer)});
  SentOf<Pull>();
  pulls_.Connected(kFirstServer, now_, out_);
  EXPECT_EQ(SentOf<Pull>().size(), 1U);
  pulls_.Reissue(now_, out_);
  EXPECT_EQ(SentOf<Pull>().size(), 2U);
  EXPECT_EQ(pulls_.WakeAt(), now_ + options_.reissue_after);
  now_ = pulls_.WakeAt();
  pulls_.EndOverdue(now_, out_);
  pulls_.SendAgain(now_, out_);
  EXPECT_EQ(SentOf<Pull>().size(), 2U);
}

TEST_F(WorkerPullsTest, ACallEndsByItsDeadlineARefusalOrItsProgram) {
  Begin({KeyAt(kFirstServer)});
  const CallId second = Begin({KeyAt(kFirstServer)});
  Begin({KeyAt(kFirstServer)});
  const auto asked = SentOf<Pull>();
  pulls_.Refused(kFirstServer,
                 {.request = asked[0].second.request, .status = Error(StatusCode::kNotFound, "no such table")}, out_);
  pulls_.Cancel(second, out_);
  pulls_.Postpone(seconds(1));
  pulls_.EndOverdue(now_ + seconds(10), out_);
  auto ended = Ended();
  ASSERT_EQ(ended.size(), 2U);
  EXPECT_EQ(ended[0].status.code(), StatusCode::kNotFound);
  EXPECT_EQ(ended[1].status.code(), StatusCode::kCancelled);
  pulls_.EndOverdue(now_ + seconds(11), out_);
  ended = Ended();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].status.code(), StatusCode::kDeadlineExceeded);
}

TEST_F(WorkerPullsTest, OnlyMembersAnswerInPlace) {
  Begin({KeyAt(kFirstServer)});
  const auto asked = SentOf<Pull>();
  const RequestId request = asked.at(0).second.request;
  EXPECT_TRUE(pulls_.PlaceOf(NodeId(99), request, 1).empty());
  EXPECT_EQ(pulls_.PlaceOf(kFirstServer, request, 1).data(), pulled_.data());
  EXPECT_THAT(pulls_.PlacedBy(kFirstServer), ElementsAre(request));
  PullReply reply = AnswerTo(asked[0].second, 6);
  EXPECT_FALSE(pulls_.Take(kSecondServer, reply, out_).has_value()) << "the place is another's";
  ASSERT_EQ(out_.revoke.size(), 1U);
  EXPECT_EQ(pulls_.Revoked(request).size(), 1U);
}

}  // namespace
}  // namespace attune::ps::worker_pulls_test

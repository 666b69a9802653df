#include "ps/core/worker/operations/push_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/ps/core/worker/operations/small_cluster.h"

namespace attune::ps::push_window_test {
namespace {

using std::chrono::seconds;

constexpr TableId kTable{1};

class PushWindowTest : public testing::Test {
 protected:
  // Pushes one value for each key; its call is known by `call`.
  void Add(uint64_t call, std::vector<Key> keys) {
    std::vector<float> values(keys.size());
    groups_.Group(kTable, keys, cluster_, LocationCache(16), nullptr);
    GroupedGradients gradients({.keys = std::move(keys), .values = std::move(values)}, 1, groups_,
                               cluster_.homes_version());
    window_.Add({.call = CallId(call), .deadline = now_ + seconds(10), .table = kTable, .gradients = gradients});
  }
  size_t SendAll() { return NewlySent().size(); }
  std::vector<uint64_t> NewlySent() {
    std::vector<uint64_t> sent;
    while (const PushWindow::Push* const push = window_.TakeNextToSend(now_)) sent.push_back(push->sequence().value());
    return sent;
  }
  uint64_t Reserve() { return window_.Reserve(kTable).value(); }
  void Fill(uint64_t reserved, std::vector<Key> keys) {
    const std::vector<FoldCounts> counts(keys.size(), {.pushes = 2, .updates = 2});
    std::vector<float> changes(keys.size());
    window_.Fill(SequenceNumber(reserved),
                 {std::move(keys), std::move(changes), 1, kFirstServer, cluster_.homes_version()}, counts, now_);
  }
  // Those of one key, oldest first.
  std::vector<uint64_t> OpenOf(Key key) {
    std::vector<After> after;
    window_.FindOpenOf(kTable, {&key, 1}, after);
    std::vector<uint64_t> pushes;
    for (const After& entry : after) pushes.push_back(entry.sequence.value());
    std::ranges::sort(pushes);
    return pushes;
  }
  bool Settle(uint64_t push, uint32_t first, uint32_t count, const Status& status = OkStatus()) {
    return window_.Settle(SequenceNumber(push), {.first = first, .count = count, .list = {}}, status, completions_);
  }
  std::vector<uint64_t> SentAgain() {
    std::vector<uint64_t> again;
    next_ = window_.SendAgain(now_, [&](const PushWindow::Push& push) { again.push_back(push.sequence().value()); });
    return again;
  }

  ClusterView cluster_ = SmallCluster();
  RouteGroups groups_;
  PushWindow window_{{.in_flight_max = 2, .resend_after = seconds(2), .resend_after_max = seconds(5)}};
  std::vector<Completion> completions_;
  MonotonicTime now_{seconds(100)}, next_{};
};

using Numbers = std::vector<uint64_t>;

TEST_F(PushWindowTest, ACallEndsWithItsLastKey) {
  Add(7, {1, 2, 3});
  ASSERT_EQ(SendAll(), 1U);
  EXPECT_FALSE(Settle(1, 0, 2));
  EXPECT_FALSE(Settle(1, 0, 2)) << "the same answer again";
  EXPECT_TRUE(completions_.empty());
  EXPECT_TRUE(Settle(1, 2, 1));
  ASSERT_EQ(completions_.size(), 1U);
  EXPECT_EQ(completions_[0].call, CallId(7));
  EXPECT_TRUE(completions_[0].status.ok());
  EXPECT_TRUE(window_.empty());
  EXPECT_FALSE(Settle(1, 2, 1)) << "there is no such push any more";
}

TEST_F(PushWindowTest, ACallEndsWithItsFirstRefusal) {
  Add(7, {1, 2, 3});
  SendAll();
  Settle(1, 0, 1, Error(StatusCode::kResourceExhausted, "full"));
  Settle(1, 1, 1, Error(StatusCode::kInternal, "broken"));
  EXPECT_TRUE(Settle(1, 2, 1));
  ASSERT_EQ(completions_.size(), 1U);
  EXPECT_EQ(completions_[0].status.code(), StatusCode::kResourceExhausted);
}

TEST_F(PushWindowTest, NoMoreNumbersAreInFlightThanThereIsRoomFor) {
  for (uint64_t call = 1; call <= 4; ++call) Add(call, {call});
  EXPECT_EQ(SendAll(), 2U);
  EXPECT_FALSE(Settle(2, 0, 1)) << "the oldest is still open";
  EXPECT_EQ(SendAll(), 0U) << "the room counts from the oldest open push";
  EXPECT_EQ(window_.SettledBelow(), SequenceNumber(0));
  EXPECT_TRUE(Settle(1, 0, 1));
  EXPECT_EQ(window_.SettledBelow(), SequenceNumber(2));
  EXPECT_EQ(window_.last_issued(), SequenceNumber(4));
  EXPECT_EQ(SendAll(), 2U);
}

TEST_F(PushWindowTest, APushIsSentAgainAtLongerAndLongerIntervals) {
  Add(1, {1, 2});
  EXPECT_TRUE(SentAgain().empty()) << "it has not been sent at all";
  EXPECT_EQ(next_, kNever);
  SendAll();
  Settle(1, 0, 1);
  EXPECT_TRUE(SentAgain().empty());
  EXPECT_EQ(next_, now_ + seconds(2));
  now_ += seconds(2);
  EXPECT_EQ(SentAgain(), Numbers{1});
  EXPECT_EQ(next_, now_ + seconds(4));
  now_ += seconds(4);
  EXPECT_EQ(SentAgain(), Numbers{1});
  EXPECT_EQ(next_, now_ + seconds(5)) << "bounded";
  Settle(1, 1, 1);
  now_ += seconds(5);
  EXPECT_TRUE(SentAgain().empty());
}

TEST_F(PushWindowTest, APushOutlivesItsCall) {
  Add(1, {1});
  SendAll();
  EXPECT_EQ(window_.EndOverdue(now_, completions_), now_ + seconds(10));
  window_.Postpone(seconds(1));
  now_ += seconds(10);
  window_.EndOverdue(now_, completions_);
  EXPECT_TRUE(completions_.empty()) << "the deadline has moved";
  now_ += seconds(1);
  EXPECT_EQ(window_.EndOverdue(now_, completions_), kNever);
  ASSERT_EQ(completions_.size(), 1U);
  EXPECT_EQ(completions_[0].status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(SentAgain(), Numbers{1}) << "the gradients are not lost";
  EXPECT_TRUE(Settle(1, 0, 1));
  EXPECT_EQ(completions_.size(), 1U) << "a call ends once";
}

TEST_F(PushWindowTest, OpenPushesOfAKeyAreFoundUntilThatKeyIsSettled) {
  Add(1, {5, 6});
  Add(2, {6});
  SendAll();
  EXPECT_TRUE(window_.AnyOpenOf(kTable, std::vector<Key>{4, 6}));
  EXPECT_FALSE(window_.AnyOpenOf(TableId(2), std::vector<Key>{6}));
  const auto open_of = [&](Key key) {
    std::vector<After> after;
    window_.FindOpenOf(kTable, std::vector<Key>{99, key}, after);
    Numbers pushes;
    for (const After& entry : after) {
      EXPECT_EQ(entry.key_index, 1U);
      pushes.push_back(entry.sequence.value());
    }
    return pushes;
  };
  EXPECT_EQ(open_of(6), (Numbers{1, 2}));
  const uint32_t place_of_six = window_.Find(SequenceNumber(1))->gradients().keys()[0] == 6 ? 0 : 1;
  Settle(1, place_of_six, 1);
  EXPECT_EQ(open_of(6), Numbers{2});
  EXPECT_EQ(open_of(5), Numbers{1});
  Settle(1, 1 - place_of_six, 1);
  Settle(2, 0, 1);
  EXPECT_FALSE(window_.AnyOpenOf(kTable, std::vector<Key>{5, 6}));
}

TEST_F(PushWindowTest, OnlyWhatIsInFlightIsVisited) {
  for (uint64_t call = 1; call <= 3; ++call) Add(call, {call});
  SendAll();
  Settle(2, 0, 1);
  Numbers in_flight;
  window_.ForEachInFlight([&](const PushWindow::Push& push) { in_flight.push_back(push.sequence().value()); });
  EXPECT_EQ(in_flight, Numbers{1});
}

TEST_F(PushWindowTest, PositionsOutsideOfThePushAreIgnored) {
  Add(1, {1, 2});
  SendAll();
  EXPECT_FALSE(Settle(1, 1, 2));
  EXPECT_FALSE(Settle(1, 0, 3)) << "more than it has";
  EXPECT_EQ(window_.size(), 1U);
  EXPECT_TRUE(Settle(1, 0, 1));
}

TEST_F(PushWindowTest, ALostSessionEndsEveryOpenCall) {
  Add(1, {1});
  Add(2, {2});
  SendAll();
  Settle(2, 0, 1);
  window_.EndAll(Error(StatusCode::kAborted, "lost"), completions_);
  ASSERT_EQ(completions_.size(), 2U);
  EXPECT_EQ(completions_[1].call, CallId(1));
  EXPECT_EQ(completions_[1].status.code(), StatusCode::kAborted);
  EXPECT_TRUE(window_.empty());
  EXPECT_EQ(window_.TakeNextToSend(now_), nullptr);
}

// --- pushes whose keys follow

TEST_F(PushWindowTest, AReservedPushIsOpenAndLaterOnesGoOutBeforeIt) {
  EXPECT_EQ(Reserve(), 1U);
  Add(1, {5});
  EXPECT_EQ(window_.last_issued(), SequenceNumber(2));
  EXPECT_EQ(NewlySent(), Numbers{2});
  EXPECT_FALSE(Settle(2, 0, 1));
  EXPECT_EQ(completions_.size(), 1U) << "its call ends";
  EXPECT_EQ(window_.SettledBelow(), SequenceNumber(0));
  EXPECT_EQ(window_.AckedBelow(), SequenceNumber(0));
  EXPECT_FALSE(Settle(1, 0, 1)) << "it has no keys yet";
  EXPECT_EQ(window_.size(), 2U);
  Fill(1, {6, 7});
  EXPECT_EQ(NewlySent(), Numbers{}) << "it counts as sent";
  EXPECT_FALSE(Settle(1, 0, 1));
  EXPECT_TRUE(Settle(1, 1, 1));
  EXPECT_EQ(window_.SettledBelow(), SequenceNumber(2));
  EXPECT_EQ(completions_.size(), 1U) << "no call waits for what was reserved";
}

TEST_F(PushWindowTest, AReservedPushHasItsKeysAndFoldsOnceTheyHaveCome) {
  Reserve();
  EXPECT_FALSE(window_.AnyOpenOf(kTable, std::vector<Key>{6}));
  Fill(1, {6, 7});
  EXPECT_EQ(OpenOf(6), Numbers{1}) << "also when it was looked for before";
  EXPECT_EQ(OpenOf(5), Numbers{});
  const PushWindow::Push& push = *window_.Find(SequenceNumber(1));
  EXPECT_EQ(push.folds().size(), 2U);
  EXPECT_EQ(push.table(), kTable);
  Settle(1, 0, 1);
  EXPECT_EQ(OpenOf(6), Numbers{});
  EXPECT_EQ(OpenOf(7), Numbers{1});
  Reserve();
  Fill(2, {6});
  EXPECT_EQ(OpenOf(6), Numbers{2}) << "and when it was not";
}

TEST_F(PushWindowTest, PushesAreHeldUpWhenThereIsNoRoomBehindAReservedOne) {
  EXPECT_FALSE(window_.IsHeldUp());
  Reserve();
  Add(1, {1});
  SendAll();
  EXPECT_FALSE(window_.IsHeldUp()) << "none waits";
  Add(2, {2});
  EXPECT_EQ(SendAll(), 0U);
  EXPECT_TRUE(window_.IsHeldUp());
  Fill(1, {7});
  EXPECT_FALSE(window_.IsHeldUp()) << "its acknowledgement is on its way";
  Settle(1, 0, 1);
  EXPECT_EQ(NewlySent(), Numbers{3});
}

TEST_F(PushWindowTest, WithAReservedPushOthersAreSentAgainAndEndAsEver) {
  Reserve();
  Add(1, {1});
  SendAll();
  EXPECT_EQ(window_.EndOverdue(now_, completions_), now_ + seconds(10)) << "of the other one";
  now_ += seconds(2);
  EXPECT_EQ(SentAgain(), Numbers{2});
  EXPECT_EQ(next_, now_ + seconds(4));
  now_ += seconds(8);
  EXPECT_EQ(window_.EndOverdue(now_, completions_), kNever);
  EXPECT_EQ(completions_.size(), 1U);
  Fill(1, {7});
  now_ += seconds(2);
  EXPECT_EQ(SentAgain(), (Numbers{1, 2}));
  Numbers in_flight;
  window_.ForEachInFlight([&](const PushWindow::Push& push) { in_flight.push_back(push.sequence().value()); });
  EXPECT_EQ(in_flight, (Numbers{1, 2}));
  Reserve();
  window_.EndAll(Error(StatusCode::kAborted, "lost"), completions_);
  EXPECT_EQ(completions_.size(), 1U) << "no other call waits";
}

// It is on its way, whatever waits for room before it.
TEST_F(PushWindowTest, AFilledPushIsSentAgainAlsoBehindOneThatWaitsForRoom) {
  Reserve();
  for (uint64_t call = 1; call <= 2; ++call) Add(call, {call});
  EXPECT_EQ(NewlySent(), Numbers{2});
  const uint64_t last = Reserve();
  Fill(last, {7});
  now_ += seconds(2);
  EXPECT_EQ(SentAgain(), (Numbers{2, last}));
}

}  // namespace
}  // namespace attune::ps::push_window_test

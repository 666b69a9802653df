#include "ps/core/coordinator/state/pending_orders.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

namespace attune::ps::pending_orders_test {
namespace {

using std::chrono::seconds;
constexpr MonotonicTime kStart{}, kDeadline = kStart + seconds(60);
constexpr CommandId kFirst{1}, kSecond{2};
constexpr NodeId kWorker{9};

// --- switches

class SwitchOrdersTest : public testing::Test {
 protected:
  std::optional<SwitchOrders::Done> Continue(MonotonicTime now = kStart, bool may_begin = true) {
    return orders_.Continue(now, clocks_, may_begin, [](NodeId id) { return "node " + std::to_string(id.value()); });
  }

  SyncMode bsp_ = SyncMode::Bsp(), async_ = SyncMode::Async();
  ClockBoard clocks_{1, bsp_};
  SwitchOrders orders_;
};

TEST_F(SwitchOrdersTest, WithoutWorkersASwitchIsDoneAtOnce) {
  orders_.Add(kFirst, async_, kDeadline);
  const auto done = Continue();
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->result.status.ok());
  EXPECT_EQ(clocks_.mode(), async_);
  EXPECT_FALSE(Continue());
}

TEST_F(SwitchOrdersTest, AModeThatIsInForceNeedsNoSwitch) {
  orders_.Add(kFirst, bsp_, kDeadline);
  const auto done = Continue();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->result.text, "bsp already");
  EXPECT_EQ(done->event, "") << "nothing has happened";
}

TEST_F(SwitchOrdersTest, ItWaitsForThePromisesOfAllWorkers) {
  clocks_.Add(kWorker);
  orders_.Add(kFirst, async_, kDeadline);
  orders_.Add(kSecond, bsp_, kDeadline);
  EXPECT_FALSE(Continue());
  EXPECT_TRUE(clocks_.holding());
  EXPECT_FALSE(Continue());
  clocks_.Report(kWorker, 0, 0, clocks_.state().hold);
  const auto done = Continue();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->result.id, kFirst);
  EXPECT_EQ(done->event, "synchronization: " + done->result.text);
  EXPECT_EQ(orders_.AbandonAll(), std::vector<CommandId>{kSecond});
}

TEST_F(SwitchOrdersTest, ACheckpointThatHoldsTheClocksGoesFirst) {
  orders_.Add(kFirst, async_, kDeadline);
  EXPECT_FALSE(Continue(kStart, false));
  EXPECT_FALSE(clocks_.holding());
  EXPECT_TRUE(Continue());
}

TEST_F(SwitchOrdersTest, OneThatIsLateReleasesTheWorkersAndNamesWhoHasNotAnswered) {
  clocks_.Add(kWorker);
  orders_.Add(kFirst, async_, kDeadline);
  EXPECT_FALSE(Continue());
  const auto done = Continue(kDeadline);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->result.status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(done->event, "switching to async: node 9 has not answered; bsp continues");
  EXPECT_FALSE(clocks_.holding());
}

// --- placement

class PlacementOrdersTest : public testing::Test {
 protected:
  std::vector<CommandResult> Answered(MonotonicTime now = kStart, bool acts = true) {
    return orders_.TakeAnswered(now, acts, servers_, [&](NodeId id) { return here_.contains(id); });
  }

  PlacementOrders orders_;
  PlacementOrders::Servers servers_{.staying = 2};
  std::set<NodeId> here_{NodeId(1), NodeId(2), NodeId(3)};
};

TEST_F(PlacementOrdersTest, ADrainIsDoneWhenTheServerHasGone) {
  orders_.AddDrain(kFirst, NodeId(3), kDeadline);
  EXPECT_TRUE(Answered().empty());
  here_.erase(NodeId(3));
  EXPECT_TRUE(Answered(kStart, false).empty()) << "another coordinator may know better";
  ASSERT_EQ(Answered().size(), 1U);
  EXPECT_TRUE(Answered().empty()) << "it is answered";
}

TEST_F(PlacementOrdersTest, ANumberOfServersIsReachedWhenTheShardsLieOnThem) {
  orders_.Want(2);
  EXPECT_FALSE(orders_.HasCount());
  orders_.AddCount(kFirst, kDeadline);
  EXPECT_TRUE(orders_.HasCount());
  EXPECT_TRUE(Answered().empty()) << "shards are not settled";
  (void)orders_.Settle(true);
  servers_.any_leaves = true;
  EXPECT_TRUE(Answered().empty()) << "a server is still to be drained";
  servers_.any_leaves = false;
  servers_.staying = 1;
  EXPECT_TRUE(Answered().empty()) << "a server is still to join";
  servers_.staying = 2;
  orders_.NotePublished();
  EXPECT_TRUE(Answered().empty()) << "there is a new map";
  (void)orders_.Settle(true);
  const auto results = Answered();
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].text, "2 servers share the shards evenly");
}

TEST_F(PlacementOrdersTest, OneThatIsLateSaysWhatIsMissing) {
  orders_.Want(3);
  orders_.NoteToChange(7);
  orders_.AddCount(kFirst, kDeadline);
  servers_.apart = "; server 2 has no connection";
  const auto results = Answered(kDeadline, false);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(attune::Message(results[0].status),
            "7 shards are still to change, 2 of 3 servers are here; server 2 has no connection; it continues");
}

TEST_F(PlacementOrdersTest, ChangesAreLookedAtOnceAndMovesReportedAtTheirBeginningAndEnd) {
  EXPECT_FALSE(orders_.TakeChange());
  orders_.NoteChange();
  EXPECT_TRUE(orders_.TakeChange());
  EXPECT_FALSE(orders_.TakeChange());
  EXPECT_FALSE(orders_.Settle(true)) << "nothing was moved";
  EXPECT_TRUE(orders_.BeginMoving());
  EXPECT_FALSE(orders_.BeginMoving());
  EXPECT_TRUE(orders_.Settle(true));
}

// --- processes that are gone

class GoneOrdersTest : public testing::Test {
 protected:
  static constexpr NodeGone kServer{.role = Role::kServer, .index = 1, .pod = 7};

  std::vector<CommandResult> Answered(MapVersion newest, MonotonicTime now = kStart, bool may_act = true) {
    return orders_.TakeAnswered(
        now, newest, may_act, [&](const NodeGone&) { return has_part_; },
        [&](MapVersion map) { return map <= known_; });
  }

  bool has_part_ = true;
  MapVersion known_{1, 0};  // to all servers
  GoneOrders orders_;
};

TEST_F(GoneOrdersTest, ItIsAnsweredWhenAllServersHaveTheMapWithoutTheProcess) {
  orders_.Add(kFirst, kServer, kDeadline);
  EXPECT_TRUE(Answered(MapVersion(1, 5)).empty()) << "it is a member";
  has_part_ = false;
  EXPECT_TRUE(Answered(MapVersion(1, 6)).empty());
  known_ = MapVersion(1, 6);
  const auto results = Answered(MapVersion(1, 9));
  ASSERT_EQ(results.size(), 1U) << "later maps need not be known";
  EXPECT_TRUE(results[0].status.ok());
}

TEST_F(GoneOrdersTest, AProcessThatIsAMemberAgainNeedsALaterMap) {
  orders_.Add(kFirst, kServer, kDeadline);
  has_part_ = false;
  EXPECT_TRUE(Answered(MapVersion(1, 6)).empty());
  has_part_ = true;
  EXPECT_TRUE(Answered(MapVersion(1, 7)).empty());
  has_part_ = false;
  known_ = MapVersion(1, 7);
  EXPECT_TRUE(Answered(MapVersion(1, 8)).empty());
}

TEST_F(GoneOrdersTest, OfAWorkerOrAnUnknownProcessNoMapHasToSayAnything) {
  orders_.Add(kFirst, {.role = Role::kWorker, .index = 0, .pod = 7}, kDeadline);
  orders_.Add(kSecond, {.role = Role::kServer, .index = 1, .pod = 0}, kDeadline);
  EXPECT_TRUE(Answered(MapVersion(1, 6), kStart, false).empty()) << "the coordinator takes over";
  EXPECT_EQ(Answered(MapVersion(1, 6)).size(), 2U);
}

TEST_F(GoneOrdersTest, OneThatIsLateIsToBeAskedAgain) {
  orders_.Add(kFirst, kServer, kDeadline);
  const auto results = Answered(MapVersion(1, 5), kDeadline);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].status.code(), StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace attune::ps::pending_orders_test

#include "ps/core/coordinator/balance/shard_load.h"

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

namespace attune::ps::shard_load_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Four shards: two at A, two at B.
class ShardLoadTest : public testing::Test {
 protected:
  static constexpr NodeId kA{1}, kB{2}, kWorker{3};

  ShardLoadTest() {
    map_.version = MapVersion(1, 1);
    map_.shards = EvenShards(4, std::vector{kA, kB}, false, map_.version);  // A, B, A, B
    map_.members = {{.node = kA, .role = Role::kServer}, {.node = kB, .role = Role::kServer, .index = 1}};
  }

  // `keys` of one shard in so much time of the server's.
  void Report(NodeId server, uint32_t shard, uint64_t keys, Duration lasted = seconds(1)) {
    load_.OnReport(server, Next(shard, keys, lasted), map_, now_);
  }
  LoadReport Next(uint32_t shard, uint64_t keys, Duration lasted = seconds(1)) {
    return {.number = ++number_, .map_version = map_.version, .lasted = lasted, .shards = {{ShardId(shard), keys}}};
  }
  // A second after the other, the same in each.
  void Serve(NodeId server, uint32_t shard, uint64_t keys, int times) {
    for (int i = 0; i < times; ++i) {
      now_ += seconds(1);
      Report(server, shard, keys);
    }
  }
  double Rate(uint32_t shard) const { return load_.Rates(map_, now_)[shard]; }

  ShardMap map_;
  ShardLoad load_;
  uint64_t number_ = 0;
  MonotonicTime now_{seconds(100)};
};

TEST_F(ShardLoadTest, NothingIsKnownBeforeTheFirstReport) {
  EXPECT_EQ(load_.Rates(map_, now_), std::vector<double>(4, 0));
  EXPECT_TRUE(load_.Rates(ShardMap(), now_).empty());
}

TEST_F(ShardLoadTest, ARateIsKeysOverTheTimeThatTheServerHasMeasured) {
  Report(kA, 0, 500, milliseconds(500));
  EXPECT_DOUBLE_EQ(Rate(0), 1000);
  EXPECT_EQ(Rate(2), 0) << "nothing was asked for";
}

TEST_F(ShardLoadTest, ASteadyLoadIsItsMean) {
  Serve(kA, 0, 700, 30);
  EXPECT_NEAR(Rate(0), 700, 1e-6);
}

TEST_F(ShardLoadTest, AfterTenSecondsTwoThirdsOfTheMeanAreNew) {
  Serve(kA, 0, 1000, 60);
  Serve(kA, 0, 0, 10);
  EXPECT_NEAR(Rate(0), 1000 / std::exp(1), 10);
}

TEST_F(ShardLoadTest, OneSecondsBurstIsATenthOfALoad) {
  Serve(kA, 2, 1, 60);
  Serve(kA, 0, 1000, 1);
  EXPECT_NEAR(Rate(0), 95, 5);
}

// The coordinator was not reached for a minute; what waited comes at once.
TEST_F(ShardLoadTest, ReportsThatComeLateTogetherAreNoPeak) {
  Serve(kA, 0, 100, 10);
  for (int i = 0; i < 10; ++i) Report(kA, 0, 100);
  EXPECT_NEAR(Rate(0), 100, 1e-6);
}

TEST_F(ShardLoadTest, ALostReportIsNoPeakInTheNext) {
  Serve(kA, 0, 100, 10);
  now_ += seconds(1);
  (void)Next(0, 100);
  Serve(kA, 0, 100, 1);
  EXPECT_NEAR(Rate(0), 100, 1e-6);
}

TEST_F(ShardLoadTest, ARepeatedOrOlderReportChangesNothing) {
  Serve(kA, 2, 1, 20);
  const LoadReport report = Next(0, 1000);
  load_.OnReport(kA, report, map_, now_);
  const double once = Rate(0);
  for (int i = 0; i < 50; ++i) load_.OnReport(kA, report, map_, now_);
  EXPECT_EQ(Rate(0), once);
}

TEST_F(ShardLoadTest, ATimeTooShortForARateCountsNothing) {
  for (const Duration lasted : {Duration(0), Duration(1), Duration(milliseconds(99))}) Report(kA, 0, 1U << 30, lasted);
  EXPECT_EQ(Rate(0), 0);
}

TEST_F(ShardLoadTest, WhateverIsSaidTheSumIsFinite) {
  Report(kA, 0, kNumberMax, milliseconds(100));
  EXPECT_LE(Rate(0), 1e12);
}

TEST_F(ShardLoadTest, OnlyTheHomeOfAShardIsBelieved) {
  Report(kB, 0, 1000);
  Report(kWorker, 0, 1000);
  EXPECT_EQ(Rate(0), 0);
}

TEST_F(ShardLoadTest, AShardThatNoMapHasIsLeftOut) {
  Report(kA, 4, 1000);
  Report(kA, UINT32_MAX, 1000);
  EXPECT_EQ(load_.Rates(map_, now_), std::vector<double>(4, 0));
}

TEST_F(ShardLoadTest, AShardThatCameWithinTheReportedTimeWaitsForTheNext) {
  Serve(kA, 0, 800, 20);
  LoadReport under_the_old_map = Next(0, 10);
  map_.version = map_.version.Next();
  map_.shards[0].home = kB;
  map_.shards[0].routing_since = map_.version;
  now_ += seconds(1);
  load_.OnReport(kB, under_the_old_map, map_, now_);
  EXPECT_NEAR(Rate(0), 800, 1e-6) << "a moment of B's is no whole second";
  Serve(kB, 0, 800, 5);
  EXPECT_NEAR(Rate(0), 800, 1e-6);
}

TEST_F(ShardLoadTest, ALoadFollowsItsShard) {
  Serve(kA, 0, 800, 20);
  map_.shards[0].home = kB;
  EXPECT_NEAR(LoadByServer(map_, std::vector{kA, kB}, load_.Rates(map_, now_))[1], 800, 1e-6);
  Report(kA, 0, 5000);
  EXPECT_NEAR(Rate(0), 800, 1e-6) << "A has nothing to say of it any more";
}

// A server that nothing is asked of says nothing.
TEST_F(ShardLoadTest, ALoadThatEndsIsForgottenThoughNoReportSaysSo) {
  Serve(kA, 0, 1000, 30);
  now_ += seconds(2);
  EXPECT_NEAR(Rate(0), 1000, 1e-6) << "the next report may be on its way";
  now_ += seconds(60);
  EXPECT_LT(Rate(0), 5);
  Serve(kA, 0, 1000, 1);
  EXPECT_NEAR(Rate(0), 95, 10) << "and begins again from nothing";
}

TEST_F(ShardLoadTest, WhileTheCoordinatorStoodStillNoServerWasSilent) {
  Serve(kA, 0, 1000, 30);
  now_ += seconds(60);
  load_.SkipPause(seconds(60));
  EXPECT_NEAR(Rate(0), 1000, 1e-6);
  Serve(kA, 0, 1000, 1);
  EXPECT_NEAR(Rate(0), 1000, 1e-6);
}

TEST_F(ShardLoadTest, APausedServersNextReportSaysHowLongItTook) {
  Serve(kA, 0, 1000, 30);
  now_ += seconds(30);
  Report(kA, 0, 1000, seconds(30));
  EXPECT_NEAR(Rate(0), 1000 * std::exp(-3) + 33 * (1 - std::exp(-3)), 5);
}

TEST_F(ShardLoadTest, AServerThatIsNoMemberAnyMoreIsForgotten) {
  Serve(kA, 0, 1000, 10);
  map_.members.erase(map_.members.begin());
  for (Shard& shard : map_.shards) shard.home = kB;
  Report(kA, 0, 9000);
  EXPECT_NEAR(Rate(0), 1000, 1e-6) << "of its shards the last is known, until their new home speaks";
  Serve(kB, 0, 10, 60);
  EXPECT_NEAR(Rate(0), 10, 5);
}

}  // namespace
}  // namespace attune::ps::shard_load_test

// What a server says of its load: which keys count, and when it says so.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ps/core/server/server_core.h"
#include "tests/ps/core/rows/map_store.h"

namespace attune::ps::server_load_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr NodeId kSelf{1}, kOther{2}, kWorker{3};
constexpr TableId kTable{1};

// Three shards are homed here, the last one at another server.
class ServerLoadTest : public testing::Test {
 protected:
  ServerLoadTest()
      : core_({.job_uid = "job", .incarnation = 7, .address = "127.0.0.1:1", .create_store = MapStore::Make}) {
    map_.version = MapVersion(1, 0);
    map_.shards = {{.home = kSelf}, {.home = kSelf}, {.home = kSelf}, {.home = kOther}};
    map_.members = {{.node = kSelf, .role = Role::kServer, .index = 0, .address = "127.0.0.1:1"},
                    {.node = kOther, .role = Role::kServer, .index = 1, .address = "127.0.0.9:2"},
                    {.node = kWorker, .role = Role::kWorker}};
    Step(PeerConnected{kCoordinator});
    Hear(Welcome{.node = kSelf, .map = map_});
    Hear(InstallTable{.table = kTable, .spec = {"rows", {.dim = 1, .optimizer = Sgd{.rate = 1}}}});
    Wait(seconds(1));
    reports_.clear();
  }

  void Step(ServerInput input) {
    ServerOutputs out;
    core_.Step(std::move(input), now_, out);
    for (Outgoing& sent : out.send) {
      if (auto* load = std::get_if<LoadReport>(&sent.message)) {
        EXPECT_EQ(sent.to, kCoordinator);
        reports_.push_back(std::move(*load));
      }
    }
  }
  void Hear(Message message) { Step(Received{.from = kCoordinator, .message = std::move(message), .term = 1}); }
  void Wait(Duration time) {
    for (const MonotonicTime until = now_ + time; now_ < until;) {
      now_ += milliseconds(100);
      Step(Timer{});
    }
  }
  static Key KeyIn(uint32_t shard) {
    Key key = 0;
    while (ShardMap::ShardIndex(key, 4) != shard) ++key;
    return key;
  }
  static std::vector<Key> KeysIn(const std::vector<uint32_t>& shards) {
    std::vector<Key> keys;
    for (const uint32_t shard : shards) keys.push_back(KeyIn(shard));
    return keys;
  }
  void Push(const std::vector<uint32_t>& shards) {
    const auto count = static_cast<uint32_t>(shards.size());
    Step(Received{.from = kWorker,
                  .message = ps::Push{.origin = kWorker,
                                      .sequence = SequenceNumber(++pushes_),
                                      .table = kTable,
                                      .map_version = map_.version,
                                      .acked_below = SequenceNumber(0),
                                      .positions = {0, count, {}},
                                      .keys = KeysIn(shards),
                                      .gradients = std::vector<float>(count, 1)},
                  .link = {.sequence = ++sent_}});
  }
  void Pull(const std::vector<uint32_t>& shards) {
    Step(Received{.from = kWorker,
                  .message = ps::Pull{.origin = kWorker,
                                      .request = RequestId(sent_ + 1),
                                      .table = kTable,
                                      .map_version = map_.version,
                                      .acked_below = SequenceNumber(0),
                                      .remaining = seconds(9),
                                      .keys = KeysIn(shards),
                                      .positions = {0, static_cast<uint32_t>(shards.size()), {}}},
                  .link = {.sequence = ++sent_}});
  }
  using Counts = std::vector<ShardKeys>;

  ShardMap map_;
  ServerCore core_;
  std::vector<LoadReport> reports_;
  uint64_t sent_ = 0, pushes_ = 0;
  MonotonicTime now_{seconds(1)};
};

TEST_F(ServerLoadTest, WhatIsPulledAndPushedIsCountedByShard) {
  Push({0, 1, 1});
  Pull({1, 2});
  Wait(seconds(1));
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0].shards, (Counts{{ShardId(0), 1}, {ShardId(1), 3}, {ShardId(2), 1}}));
  EXPECT_EQ(reports_[0].map_version, map_.version);
  EXPECT_NEAR(Seconds(reports_[0].lasted), 1, 0.11);
}

TEST_F(ServerLoadTest, WhereNothingIsAskedForNothingIsSaid) {
  Wait(seconds(60));
  EXPECT_TRUE(reports_.empty());
  Push({0});
  Wait(seconds(1));
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_LE(reports_[0].lasted, milliseconds(1100)) << "not the minute before";
}

TEST_F(ServerLoadTest, ReportsComeAboutOnceASecondAndRise) {
  for (int i = 0; i < 100; ++i) {
    Push({0});
    Wait(milliseconds(100));
  }
  ASSERT_GE(reports_.size(), 9U);
  EXPECT_LE(reports_.size(), 11U);
  uint64_t keys = 0;
  for (size_t i = 0; i < reports_.size(); ++i) {
    EXPECT_EQ(reports_[i].number, reports_[0].number + i);
    keys += reports_[i].shards.at(0).keys;
  }
  EXPECT_GE(keys, 90U);
  EXPECT_LE(keys, 100U) << "each once";
}

TEST_F(ServerLoadTest, WhatIsSentOnToAnotherHomeIsNoLoadOfThisOne) {
  Push({0, 3});
  Pull({3});
  Wait(seconds(1));
  ASSERT_EQ(reports_.size(), 1U);
  EXPECT_EQ(reports_[0].shards, (Counts{{ShardId(0), 1}}));
}

TEST_F(ServerLoadTest, AShardThatComesIsReportedUnderTheMapOfTheTimesBeginning) {
  Push({0});
  map_.version = map_.version.Next();
  const MapVersion newer = map_.version;
  Hear(MapUpdate{.map = map_});
  Push({0});
  Wait(seconds(1));
  Push({0});
  Wait(seconds(1));
  ASSERT_EQ(reports_.size(), 2U);
  EXPECT_LT(reports_[0].map_version, newer);
  EXPECT_EQ(reports_[1].map_version, newer);
}

TEST_F(ServerLoadTest, WhatIsOlderThanAMinuteIsNotSaid) {
  Push({0});
  Step(PeerDisconnected{kCoordinator});
  Wait(seconds(90));
  Step(PeerConnected{kCoordinator});
  Hear(Welcome{.node = kSelf, .map = map_});
  Wait(seconds(2));
  EXPECT_TRUE(reports_.empty());
  Push({0});
  Wait(seconds(1));
  EXPECT_EQ(reports_.size(), 1U);
}

}  // namespace
}  // namespace attune::ps::server_load_test

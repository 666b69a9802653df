// Tables of a checkpoint that a job continues from: who reads what, and servers that are lost while they read.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/server/server_core.h"
#include "tests/ps/core/coordinator/coordinated_job.h"
#include "tests/ps/core/rows/map_store.h"

namespace attune::ps::table_load_test {
namespace {

using std::chrono::seconds;

const RestorePoint kCheckpoint{.directory = "/c", .checkpoint = 3, .clock = 9};
const TableSpec kSpec{"rows", {.dim = 1}};

// One server of three; it is home of shard 0 and backup of shard 1.
class TableLoadTest : public testing::Test {
 protected:
  static constexpr NodeId kSelf{1}, kSecond{2}, kThird{3}, kWorker{4};
  static constexpr uint32_t kShards = 3;

  TableLoadTest()
      : core_({.job_uid = "job", .incarnation = 7, .address = "127.0.0.1:1", .create_store = MapStore::Make}) {
    map_.version = MapVersion(1, 0);
    map_.shards = {
        {.home = kSelf, .backup = kSecond}, {.home = kSecond, .backup = kSelf}, {.home = kThird, .backup = kSecond}};
    map_.members = {{kSelf, Role::kServer, 0, "127.0.0.1:1"},
                    {kSecond, Role::kServer, 1, "127.0.0.1:2"},
                    {kThird, Role::kServer, 2, "127.0.0.1:3"},
                    {kWorker, Role::kWorker, 0, ""}};
    Step(PeerConnected{kCoordinator});
    Hear(NewestCheckpoint{.point = kCheckpoint});
    Hear(Welcome{.node = kSelf, .map = map_});
  }

  void Step(ServerInput input) {
    out_.Clear();
    core_.Step(std::move(input), now_, out_);
  }
  void Hear(Message message) { Step(Received{.from = kCoordinator, .message = std::move(message), .term = 1}); }
  void Order() { Hear(InstallTable{.table = TableId(1), .spec = kSpec, .load = kCheckpoint}); }
  void Lose(NodeId server) {
    map_ = WithoutFailed(map_, std::array{server});
    Hear(MapUpdate{.map = map_});
  }
  // Every shard has one row in the checkpoint; its value is 10 and the number of the shard.
  static Key KeyOf(uint32_t shard) {
    Key key = 0;
    while (ShardMap::ShardIndex(key, kShards) != shard) ++key;
    return key;
  }
  static std::unique_ptr<TableStore> Read(const std::vector<ShardId>& shards) {
    auto store = std::make_unique<MapStore>(kSpec);
    for (const ShardId shard : shards) {
      const float value = 10.0F + static_cast<float>(shard.value());
      const RowView row{.key = KeyOf(shard.value()), .version = RowVersion(0, 4), .values = {&value, 1}};
      EXPECT_TRUE(store->Insert(std::span(&row, 1)).ok());
    }
    return store;
  }
  // What the shell does with the newest order.
  void ReadIt(const LoadOrder& order) {
    Step(TableLoaded{.order = order, .table = {.rows = Read(order.homes), .copies = Read(order.backups)}});
  }
  template <typename Kind>
  const Kind* Sent(NodeId to) const {
    for (const Outgoing& sent : out_.send) {
      if (sent.to == to && std::holds_alternative<Kind>(sent.message)) return &std::get<Kind>(sent.message);
    }
    return nullptr;
  }
  bool Holds(uint32_t shard) const { return core_.rows().tables()[0]->Contains(KeyOf(shard)); }

  ServerCore core_;
  ServerOutputs out_;
  ShardMap map_;
  MonotonicTime now_{seconds(1)};
};

TEST_F(TableLoadTest, AServerReadsItsRowsAndTheCopiesItKeeps) {
  Order();
  ASSERT_EQ(out_.load.size(), 1U);
  const LoadOrder order = out_.load[0];
  EXPECT_EQ(order.homes, std::vector{ShardId(0)});
  EXPECT_EQ(order.backups, std::vector{ShardId(1)});
  EXPECT_EQ(Sent<TableInstalled>(kCoordinator), nullptr) << "no process may push before the rows are here";
  Order();
  EXPECT_TRUE(out_.load.empty()) << "it is being read";
  ReadIt(order);
  ASSERT_NE(Sent<TableInstalled>(kCoordinator), nullptr);
  EXPECT_TRUE(Sent<TableInstalled>(kCoordinator)->status.ok());
  EXPECT_EQ(Sent<Install>(kSecond), nullptr) << "the backup reads its copies itself";
  Order();
  EXPECT_TRUE(out_.load.empty());
  EXPECT_NE(Sent<TableInstalled>(kCoordinator), nullptr) << "the first answer may be lost";
}

// The home had informed no other node of its rows, not even that it had read them.
TEST_F(TableLoadTest, RowsOfAHomeThatIsLostWhileItReadsAreWithItsBackup) {
  Order();
  ReadIt(LoadOrder(out_.load[0]));
  EXPECT_FALSE(Holds(1));
  Lose(kSecond);
  for (const NodeId other : {kThird}) {
    Step(PeerConnected{other});
    Step(Received{.from = other,
                  .message = OwnersReport{.map_version = map_.version, .recovered_at = map_.version, .last = true},
                  .link = {.sequence = 1}});
  }
  EXPECT_TRUE(out_.restore.empty()) << "nothing is lost";
  ASSERT_TRUE(Holds(1));
  float value = 0;
  const Key key = KeyOf(1);
  core_.rows().tables()[0]->Pull({&key, 1}, {&value, 1});
  EXPECT_EQ(value, 11.0F);
}

TEST_F(TableLoadTest, AServerThatGetsOtherShardsWhileItReadsReadsAgain) {
  Order();
  const LoadOrder first = out_.load[0];
  Lose(kSecond);
  ReadIt(first);
  EXPECT_EQ(Sent<TableInstalled>(kCoordinator), nullptr);
  ASSERT_EQ(out_.load.size(), 1U);
  EXPECT_EQ(out_.load[0].homes, (std::vector{ShardId(0), ShardId(1)}));
  EXPECT_TRUE(out_.load[0].backups.empty());
  ReadIt(LoadOrder(out_.load[0]));
  ASSERT_NE(Sent<TableInstalled>(kCoordinator), nullptr);
  EXPECT_TRUE(Holds(0) && Holds(1));
}

// The rows would be loaded by their new home as well.
TEST_F(TableLoadTest, AServerWhoseMapIsTooOldWaitsForTheMapOfTheOrder) {
  ShardMap next = map_;
  next.version = map_.version.Next();
  next.shards[0].home = kThird;
  const InstallTable order{.table = TableId(1), .spec = kSpec, .load = kCheckpoint, .map_version = next.version};
  Hear(order);
  EXPECT_TRUE(out_.load.empty());
  EXPECT_NE(Sent<MapRequest>(kCoordinator), nullptr);
  Hear(MapUpdate{.map = next});
  Hear(order);  // repeated until answered
  ASSERT_EQ(out_.load.size(), 1U);
  EXPECT_TRUE(out_.load[0].homes.empty());
}

TEST_F(TableLoadTest, AFileThatCannotBeReadIsReportedAndReadAgainWhenAsked) {
  Order();
  Step(TableLoaded{.order = out_.load[0], .status = Error(StatusCode::kDataLoss, "a checksum is wrong"), .table = {}});
  ASSERT_NE(Sent<TableInstalled>(kCoordinator), nullptr);
  EXPECT_EQ(Sent<TableInstalled>(kCoordinator)->status.code(), StatusCode::kDataLoss);
  Order();
  EXPECT_EQ(out_.load.size(), 1U);
}

// Another coordinator may number its tables otherwise.
TEST_F(TableLoadTest, WhatACoordinatorWantedThatIsObeyedNoLongerIsNotInstalled) {
  Order();
  const LoadOrder order = out_.load[0];
  Step(Received{.from = kCoordinator, .message = NewestCheckpoint{.point = kCheckpoint}, .term = 2});
  ReadIt(order);
  EXPECT_EQ(Sent<TableInstalled>(kCoordinator), nullptr);
  Step(Received{.from = kCoordinator,
                .message = InstallTable{.table = TableId(1), .spec = kSpec, .load = kCheckpoint},
                .term = 2});
  ASSERT_EQ(out_.load.size(), 1U) << "read again";
  ReadIt(LoadOrder(out_.load[0]));
  EXPECT_NE(Sent<TableInstalled>(kCoordinator), nullptr);
}

// The coordinator of a job that continues from a checkpoint.
class LoadingCoordinatorTest : public CoordinatedJob {
 protected:
  static constexpr ConnectionId kLater{4};

  LoadingCoordinatorTest()
      : CoordinatedJob(
            {.job_uid = "job", .servers = 2, .shards = 4, .backups = 1, .load = kCheckpoint, .host_index = 0}) {
    Say(kWorker, OpenTable{.header = {.request = RequestId(1), .remaining = seconds(30)}, .spec = kSpec});
  }
  void Installed(ConnectionId server) { Say(server, TableInstalled{.table = TableId(1), .status = OkStatus()}); }
  // Server 0 is gone; server 1, which knows the table, runs the next coordinator.
  void TakeOver() {
    Follow();
    orders_.clear();
    Step(FromOperator{.id = CommandId(1), .command = NodeGone{Role::kServer, 0}});
    JoinAgain(kServer1);
    Say(kServer1, AnswerOf({{TableId(1), kSpec, {}}}, record_));
    ConfirmWhenWanted();
    JoinAgain(kWorker);
    Say(kWorker, AnswerOf());
    ASSERT_FALSE(core_->progress().taking_over);
  }
};

TEST_F(LoadingCoordinatorTest, AServerThatComesBeforeTheTableIsOpenedLoadsToo) {
  EXPECT_EQ(orders_.at(kServer0).load, kCheckpoint);
  EXPECT_EQ(orders_.at(kServer1).load, kCheckpoint);
  Say(kLater, JoinOf(Role::kServer, 2));
  EXPECT_EQ(orders_.at(kLater).load, kCheckpoint) << "it may be home of shards before the others have read theirs";
}

TEST_F(LoadingCoordinatorTest, AnOrderNamesTheMapWhoseHomesLoad) {
  EXPECT_EQ(orders_.at(kServer1).map_version, core_->map().version);
}

TEST_F(LoadingCoordinatorTest, AServerThatComesLaterIsGivenRowsByTheOthers) {
  Installed(kServer0);
  Installed(kServer1);
  Say(kLater, JoinOf(Role::kServer, 2));
  EXPECT_EQ(orders_.at(kLater).load, RestorePoint());
}

TEST_F(LoadingCoordinatorTest, ACoordinatorThatTakesOverHasTheRestLoaded) {
  Installed(kServer1);  // server 0 was still reading
  Mirror();
  TakeOver();
  ASSERT_TRUE(orders_.contains(kServer1));
  EXPECT_EQ(orders_.at(kServer1).load, kCheckpoint) << "it is not known who had read what";
}

TEST_F(LoadingCoordinatorTest, ACoordinatorThatTakesOverDoesNotLoadWhatWasOpened) {
  Installed(kServer0);
  Installed(kServer1);
  Mirror();
  TakeOver();
  EXPECT_EQ(orders_.at(kServer1).load, RestorePoint()) << "its rows have been trained since";
}

}  // namespace
}  // namespace attune::ps::table_load_test

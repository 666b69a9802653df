// What one member can make another keep: messages that wait for a newer map, and orders for rows that have not come.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "ps/core/server/server_core.h"
#include "tests/ps/core/rows/map_store.h"

namespace attune::ps::row_bounds_test {
namespace {

using std::chrono::seconds;

constexpr NodeId kSelf{1}, kOther{2}, kWorker{3};
constexpr TableId kTable{1};

ShardMap MapOfTwoServers() {
  ShardMap map;
  map.version = MapVersion(1, 0);
  map.shards = {{.home = kSelf}};
  map.members = {{.node = kSelf, .role = Role::kServer, .index = 0, .address = "127.0.0.1:1"},
                 {.node = kOther, .role = Role::kServer, .index = 1, .address = "127.0.0.9:2"},
                 {.node = kWorker, .role = Role::kWorker}};
  return map;
}

class StalledMessagesTest : public testing::Test {
 protected:
  StalledMessagesTest()
      : core_({.job_uid = "job", .incarnation = 7, .address = "127.0.0.1:1", .create_store = MapStore::Make}) {
    Step(PeerConnected{kCoordinator});
    Hear(Welcome{.node = kSelf, .map = map_});
    Hear(InstallTable{.table = kTable, .spec = {"rows", {.dim = 1, .optimizer = Sgd{.rate = 1}}}});
    Step(PeerConnected{kOther});
  }

  void Step(ServerInput input) {
    out_.Clear();
    core_.Step(std::move(input), now_, out_);
  }
  void Hear(Message message) { Step(Received{.from = kCoordinator, .message = std::move(message), .term = 1}); }
  // A push that the other server sends on, under a map that this one does not have yet.
  void HearPush(uint64_t number) {
    Step(Received{.from = kOther,
                  .message = Push{.origin = kWorker,
                                  .sequence = SequenceNumber(number),
                                  .table = kTable,
                                  .map_version = newer_,
                                  .acked_below = SequenceNumber(number - 1),
                                  .positions = {0, 1, {}},
                                  .keys = std::vector<Key>{5},
                                  .gradients = std::vector<float>{1}},
                  .link = {.sequence = number}});
  }
  size_t Stalled() const {
    size_t stalled = 0;
    core_.rows().inbox().stalled().ForEach([&](NodeId, const Message&) { ++stalled; });
    return stalled;
  }

  ShardMap map_ = MapOfTwoServers();
  const MapVersion newer_{1, 1};
  ServerCore core_;
  ServerOutputs out_;
  MonotonicTime now_{seconds(1)};
};

TEST_F(StalledMessagesTest, ThoseThatFindNoRoomComeAgainAndNoneIsLost) {
  constexpr uint64_t kPushes = kHeldMessagesMax + 500;
  for (uint64_t number = 1; number <= kPushes; ++number) HearPush(number);
  EXPECT_EQ(Stalled(), kHeldMessagesMax);
  map_.version = newer_;
  Hear(MapUpdate{.map = map_});
  EXPECT_EQ(Stalled(), 0U);
  for (uint64_t number = 1; number <= kPushes; ++number) HearPush(number);  // as a link sends what is not acknowledged
  std::vector<float> row(1);
  core_.rows().tables()[0]->Pull(std::vector<Key>{5}, row);
  EXPECT_EQ(row[0], -static_cast<float>(kPushes));
}

class OrdersTest : public testing::Test {
 protected:
  OrdersTest() : rows_({.create_store = MapStore::Make, .orders_max = 4}) {
    rows_.SetSelf(kWorker);
    RowOutputs out;
    rows_.AdoptMap(map_, {}, out);
    EXPECT_TRUE(rows_.InstallTable(kTable, {"rows", {.dim = 1}}).ok());
  }
  // Whether it was taken.
  bool Order(std::vector<Key> keys, uint16_t number) {
    RowOutputs out;
    std::vector<uint16_t> numbers(keys.size(), number);
    rows_.Receive(kSelf,
                  MoveOrder{.map_version = map_.version,
                            .table = kTable,
                            .to = kOther,
                            .keys = std::move(keys),
                            .move_numbers = std::move(numbers)},
                  {}, out);
    return out.rejected.empty();
  }

  const ShardMap map_ = MapOfTwoServers();
  RowNode rows_;
};

TEST_F(OrdersTest, ForRowsThatHaveNotComeAreBounded) {
  EXPECT_TRUE(Order({1, 2}, 3));
  EXPECT_TRUE(Order({3, 4}, 3));
  EXPECT_FALSE(Order({5}, 3));
  EXPECT_FALSE(Order({1}, 4)) << "of one row likewise";
  EXPECT_EQ(rows_.counters().rejected, 2U);
}

TEST_F(OrdersTest, TheSameOrderAgainTakesNoRoom) {
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Order({1}, 3));
}

TEST_F(OrdersTest, RowsThatComeMakeRoom) {
  EXPECT_TRUE(Order({1, 2, 3, 4}, 3));
  EXPECT_FALSE(Order({5}, 3));
  RowOutputs out;
  rows_.Receive(kOther,
                Handover{.map_version = map_.version,
                         .rows = {.table = kTable,
                                  .keys = std::vector<Key>{1},
                                  .versions = std::vector<RowVersion>{RowVersion(1)},
                                  .move_numbers = std::vector<uint16_t>{2},
                                  .values = std::vector<float>{7}}},
                {}, out);
  EXPECT_TRUE(Order({5}, 3));
}

}  // namespace
}  // namespace attune::ps::row_bounds_test

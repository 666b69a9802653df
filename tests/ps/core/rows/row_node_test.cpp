// One server's rows, of which the test sees what they answer: measured staleness, the limit of rows.
#include "ps/core/rows/row_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "ps/core/keys/seen_versions.h"
#include "tests/ps/core/rows/map_store.h"

namespace attune::ps::row_node_test {
namespace {

constexpr TableId kTable(1);
constexpr NodeId kServer(1), kWorker(2);

TEST(SeenVersions, ARowIsMeasuredOncePerPull) {
  SeenVersions seen;
  const std::vector<Key> keys = {7, 8};
  EXPECT_EQ(seen.Take(kTable, keys).second, RowVersion());
  seen.Note(kTable, keys, std::vector<RowVersion>{RowVersion(), RowVersion(5)});
  EXPECT_EQ(seen.Take(TableId(2), keys).second, RowVersion()) << "of another table";
  EXPECT_EQ(seen.Take(kTable, keys), std::pair(1U, RowVersion(5)))
      << "key 7 has no version: no worker has pushed to it";
  EXPECT_EQ(seen.Take(kTable, keys).second, RowVersion()) << "it was taken";
}

TEST(SeenVersions, LargeBatchesOfPullAndPushChooseTheSameKeys) {
  SeenVersions seen;
  std::vector<Key> pulled(1000);
  std::iota(pulled.begin(), pulled.end(), 0);
  const MeasuredPlaces measured(kTable, pulled);
  ASSERT_EQ(measured.count, MeasuredPlaces::kMax) << "one of 16 keys is chosen, up to the maximum";
  seen.Note(kTable, pulled, std::vector<RowVersion>(measured.count, RowVersion(9)));
  const std::vector<Key> pushed(pulled.rbegin(), pulled.rend());
  const auto [place, version] = seen.Take(kTable, pushed);
  EXPECT_EQ(version, RowVersion(9));
  EXPECT_LT(place, pushed.size());
}

class RowNodeTest : public testing::Test {
 protected:
  RowNodeTest() : rows_({.create_store = MapStore::Make}) {
    rows_.SetSelf(kServer);
    RowOutputs out;
    ShardMap map;
    map.version = MapVersion(1, 0);
    map.shards = EvenShards(4, std::vector{kServer}, false, map.version);
    map.members = {{.node = kServer, .role = Role::kServer}, {.node = kWorker, .takes_rows = true}};
    rows_.AdoptMap(map, {}, out);
  }
  void InstallTable(TableOptions options) {
    RowOutputs out;
    ASSERT_TRUE(rows_.InstallTable(kTable, {"rows", std::move(options)}).ok());
  }
  // What comes of it.
  std::vector<Outgoing> Receive(Message message) {
    SetMapVersion(message, rows_.map().version);
    RowOutputs out;
    rows_.Receive(kWorker, std::move(message), {}, out);
    return std::move(out.send);
  }
  Message AnswerToPush(std::vector<Key> keys, RowVersion seen = {}, uint32_t seen_index = 0) {
    const auto count = static_cast<uint32_t>(keys.size());
    std::vector<Outgoing> answers = Receive(Push{.origin = kWorker,
                                                 .sequence = sequence_ = sequence_.Next(),
                                                 .table = kTable,
                                                 .positions = {.first = 0, .count = count, .list = {}},
                                                 .keys = std::move(keys),
                                                 .gradients = std::vector<float>(count, 1.0F),
                                                 .seen = seen,
                                                 .seen_index = seen_index});
    EXPECT_EQ(answers.size(), 1U);
    return answers.at(0).message;
  }
  uint64_t StalenessOfPush(std::vector<Key> keys, RowVersion seen, uint32_t seen_index) {
    return std::get<PushAck>(AnswerToPush(std::move(keys), seen, seen_index)).staleness;
  }

  RowNode rows_;
  SequenceNumber sequence_;
};

TEST_F(RowNodeTest, StalenessIsTheNumberOfVersionsSinceThePull) {
  InstallTable({.dim = 1});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(StalenessOfPush({1, 2}, {}, 0), kNotMeasured) << "nothing was seen";
  EXPECT_EQ(StalenessOfPush({1}, RowVersion(3), 0), 0U) << "of version 3, which it still had";
  EXPECT_EQ(StalenessOfPush({2, 1}, RowVersion(3), 1), 1U);
  EXPECT_EQ(StalenessOfPush({2, 1}, RowVersion(1), 0), 3U) << "key 2 had version 4";
  EXPECT_EQ(StalenessOfPush({1}, RowVersion(99), 0), kNotMeasured) << "a version that never was";
  EXPECT_EQ(StalenessOfPush({1}, RowVersion(uint16_t{1}, 2), 0), kNotMeasured) << "of another era";
  EXPECT_EQ(StalenessOfPush({1}, RowVersion(3), 7), kNotMeasured) << "a place outside of the message";
}

TEST_F(RowNodeTest, FetchedRowsKeepTheirRoomBelowTheLimit) {
  InstallTable({.dim = 1, .rows_max = 3});
  EXPECT_TRUE(std::holds_alternative<PushAck>(AnswerToPush({1, 2, 3})));
  const std::vector<Outgoing> moved = Receive(Localize{.table = kTable, .to = kWorker, .keys = std::vector<Key>{1}});
  ASSERT_EQ(moved.size(), 1U);
  ASSERT_TRUE(std::holds_alternative<Handover>(moved[0].message));
  EXPECT_TRUE(std::holds_alternative<PushAck>(AnswerToPush({2, 3})));
  const Message refused = AnswerToPush({2, 4});
  ASSERT_TRUE(std::holds_alternative<PushRefused>(refused)) << "key 1 comes back one day";
  EXPECT_EQ(std::get<PushRefused>(refused).status.code(), StatusCode::kResourceExhausted);
}

// What is settled is sent once: a row that contains such a push may come later, from the same member, without a record.
TEST_F(RowNodeTest, WhatIsSettledIsLearnedAlsoFromTheRowsOfAnEarlierRecovery) {
  InstallTable({.dim = 1});
  FetchedRows late{.recovered_at = MapVersion(1, 7), .rows = {}, .records = {}};
  late.records.settled = {{.origin = kWorker, .acked_below = SequenceNumber(1)}};
  late.map_version = rows_.map().version;
  RowOutputs out;
  rows_.Receive(kServer, std::move(late), {}, out);
  EXPECT_TRUE(rows_.filter().Covered(kWorker, SequenceNumber(1)));
}

// A shard's home goes away and comes back, while the order to pass a row on is still on its way to where the row has
// been all the time. That the row is there does not mean that it stays.
class HomeThatComesBackTest : public testing::Test {
 protected:
  HomeThatComesBackTest() {
    rows_.SetSelf(kSelf);
    for (const NodeId node : {kSelf, kOther, kThird}) map_.members.push_back({.node = node, .role = Role::kServer});
    Adopt(0, kSelf);
    EXPECT_TRUE(rows_.InstallTable(kTable, {"rows", {.dim = 1}}).ok());
    rows_.Receive(kThird,
                  Push{.origin = kThird,
                       .sequence = SequenceNumber(1),
                       .table = kTable,
                       .map_version = map_.version,
                       .positions = {.first = 0, .count = 2, .list = {}},
                       .keys = std::vector<Key>{kLeaves, kStays},
                       .gradients = std::vector<float>{1, 1}},
                  {}, out_);
    Adopt(1, kOther);
    order_ = {.map_version = map_.version,
              .table = kTable,
              .to = kThird,
              .keys = std::vector<Key>{kLeaves},
              .move_numbers = std::vector<uint16_t>{1}};
    Adopt(2, kSelf);
    rows_.Receive(kOther,
                  HomeHandoff{.map_version = map_.version,
                              .entries = {.table = kTable,
                                          .keys = std::vector<Key>{kLeaves, kStays},
                                          .owners = std::vector<NodeId>{kThird, kSelf},
                                          .move_numbers = std::vector<uint16_t>{1, 0}},
                              .complete = std::vector<ShardId>{ShardId(0)}},
                  {}, out_);
  }
  void Adopt(uint32_t counter, NodeId home) {
    map_.version = MapVersion(1, counter);
    map_.shards = {{.home = home, .routing_since = map_.version}};
    rows_.AdoptMap(map_, {}, out_);
  }

  static constexpr NodeId kSelf{1}, kOther{2}, kThird{3};
  static constexpr Key kLeaves = 1, kStays = 2;
  RowNode rows_{{.create_store = MapStore::Make, .call_back_from_servers = false}};
  ShardMap map_;
  MoveOrder order_;  // of the other home, late
  RowOutputs out_;
};

TEST_F(HomeThatComesBackTest, ItsDirectoryNamesWhereItsRowsGo) {
  rows_.Receive(kOther, order_, {}, out_);
  EXPECT_EQ(rows_.DirectoryOwner(kTable, kLeaves), kThird);
  EXPECT_EQ(rows_.DirectoryOwner(kTable, kStays), kSelf);
  EXPECT_FALSE(rows_.OwnsNow(kTable, kLeaves));
  EXPECT_TRUE(rows_.OwnsNow(kTable, kStays));
}

TEST_F(HomeThatComesBackTest, TheNextHomeIsToldWhereItsRowsGoBeforeTheyHaveLeft) {
  out_.Clear();
  Adopt(3, kOther);
  std::map<Key, std::vector<NodeId>> reported;
  for (const Outgoing& sent : out_.send) {
    const auto* handoff = std::get_if<HomeHandoff>(&sent.message);
    for (size_t i = 0; handoff != nullptr && i < handoff->entries.keys.size(); ++i) {
      reported[handoff->entries.keys[i]].push_back(handoff->entries.owners[i]);
    }
  }
  EXPECT_EQ(reported[kLeaves], std::vector{kThird}) << "not also this node, where the row still is";
  EXPECT_EQ(reported[kStays], std::vector{kSelf});
}

// What a decoder cannot know: the tables here, and how long their rows are.
TEST_F(RowNodeTest, RowsThatFitNoTableAreRejectedAndEndNothing) {
  InstallTable({.dim = 2});
  const auto rows = [](TableId table, size_t values) {
    return RowBatch{.table = table,
                    .keys = std::vector<Key>{5},
                    .versions = std::vector<RowVersion>{RowVersion(1)},
                    .move_numbers = std::vector<uint16_t>{1},
                    .values = std::vector<float>(values, 1.0F)};
  };
  const Replicate copy{.origin = kWorker,
                       .sequence = SequenceNumber(1),
                       .table = kTable,
                       .positions = {.first = 0, .count = 1, .list = {}},
                       .keys = std::vector<Key>{5},
                       .gradients = std::vector<float>(3, 1.0F),
                       .versions = std::vector<RowVersion>{RowVersion(1)},
                       .owner = kWorker};
  const std::vector<Message> hostile = {
      Handover{.handover = 1, .rows = rows(TableId(7), 2)}, Handover{.handover = 1, .rows = rows(kTable, 3)},
      Install{.install = 1, .rows = rows(kTable, 1)},       FetchedRows{.rows = rows(kTable, 5)},
      SnapshotRows{.number = 1, .rows = rows(kTable, 3)},   copy};
  for (Message message : hostile) {
    SetMapVersion(message, rows_.map().version);
    const std::string name = NameOf(message);
    RowOutputs out;
    rows_.Receive(kWorker, std::move(message), {}, out);
    EXPECT_FALSE(out.lost) << name << ": " << attune::ToString(*out.lost);
    EXPECT_EQ(out.rejected.size(), 1U) << name;
    EXPECT_TRUE(out.send.empty()) << name << " is acknowledged";
  }
  EXPECT_EQ(rows_.tables()[0]->row_count(), 0U);
  EXPECT_EQ(rows_.counters().rejected, hostile.size());
}

// Rows that come twice were counted twice as foreign, and would never have gone.
TEST_F(RowNodeTest, ARowThatComesAgainIsCountedOnce) {
  InstallTable({.dim = 1});
  ShardMap map = rows_.map();
  map.version = map.version.Next();
  map.members.insert(map.members.begin() + 1, {.node = NodeId(1000), .role = Role::kServer, .index = 1});
  std::ranges::sort(map.members, {}, &Member::node);
  for (Shard& shard : map.shards) shard.home = NodeId(1000);
  RowOutputs out;
  rows_.AdoptMap(map, {}, out);
  for (uint64_t number = 1; number <= 2; ++number) {
    Receive(Handover{.handover = number,
                     .rows = {.table = kTable,
                              .keys = std::vector<Key>{5},
                              .versions = std::vector<RowVersion>{RowVersion(number)},
                              .move_numbers = std::vector<uint16_t>{1},
                              .values = std::vector<float>{1}}});
  }
  EXPECT_EQ(rows_.Report().rows_held, 1U);
  EXPECT_EQ(rows_.Report().rows_foreign, 1U);
}

}  // namespace
}  // namespace attune::ps::row_node_test

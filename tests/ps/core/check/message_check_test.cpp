// What no honest node says is refused where it is decoded, field by field; and what honest ones say is not.
#include "ps/core/check/message_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "ps/core/protocol/limits.h"

namespace attune::ps::message_check_test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Push GoodPush() {
  return {.origin = NodeId(4),
          .sequence = SequenceNumber(7),
          .table = TableId(1),
          .positions = {.first = 0, .count = 0, .list = {1, 5}},
          .keys = std::vector<Key>{8, 9},
          .gradients = std::vector<float>(6)};
}
Replicate GoodReplicate() {
  return {.origin = NodeId(4),
          .sequence = SequenceNumber(7),
          .table = TableId(1),
          .positions = {.first = 3, .count = 2, .list = {}},
          .keys = std::vector<Key>{8, 9},
          .gradients = std::vector<float>(6),
          .versions = std::vector<RowVersion>(2),
          .owner = NodeId(1)};
}
Pull GoodPull() {
  return {.origin = NodeId(4),
          .request = RequestId(7),
          .table = TableId(1),
          .keys = std::vector<Key>{8, 8},
          .after = {{SequenceNumber(3), 2, 1}},
          .positions = {.first = 0, .count = 2, .list = {}}};
}
Handover GoodHandover() {
  return {.handover = 3,
          .rows = {.table = TableId(1),
                   .keys = std::vector<Key>{8, 9},
                   .versions = std::vector<RowVersion>(2),
                   .move_numbers = std::vector<uint16_t>(2),
                   .values = std::vector<float>(8)},
          .records = {.records = {{.sequence = SequenceNumber(3), .origin = NodeId(4), .position = 5, .key_index = 1}},
                      .settled = {{.origin = NodeId(4), .acked_below = SequenceNumber(2)}}}};
}
MoveOrder GoodOrder() {
  return {
      .table = TableId(1), .to = NodeId(2), .keys = std::vector<Key>{8, 9}, .move_numbers = std::vector<uint16_t>(2)};
}
HomeHandoff GoodHandoff() {
  return {.entries = {.table = TableId(1),
                      .keys = std::vector<Key>{8},
                      .owners = std::vector<NodeId>{NodeId(3)},
                      .move_numbers = std::vector<uint16_t>(1)},
          .complete = {ShardId(3)}};
}
CoordinatorRecord GoodRecord() {
  CoordinatorRecord record{.servers = 2, .synchronization = "bsp", .trained_seconds = 3.5, .smoothed_loss = 0.5};
  CutRecord::DataSet progress{.name = "train", .items = 10, .epochs = 1, .lease_items = 2};
  progress.open = {{0, 0, 2, 1}, {0, 2, 4, 2}};
  record.data_sets = {{progress, true, {{LeaseId(1), NodeId(3)}, {LeaseId(2), NodeId(3)}}}};
  return record;
}

TEST(MessageCheck, WhatHonestNodesSayIsTaken) {
  const std::vector<Message> good = {GoodPush(),
                                     GoodReplicate(),
                                     GoodPull(),
                                     GoodHandover(),
                                     GoodOrder(),
                                     GoodHandoff(),
                                     HomeHandoff{.entries = {}, .complete = {ShardId(0)}},
                                     FetchRows{.keys = {}, .last = true},
                                     MirrorUpdate{GoodRecord()},
                                     Heartbeat{.number = 1, .leases = {{LeaseId(4), UINT64_MAX}}},
                                     LinkAck{}};
  for (const Message& message : good)
    EXPECT_TRUE(CheckMessage(message).ok()) << attune::ToString(CheckMessage(message));
}

// One wrong field each.
TEST(MessageCheck, EveryFieldThatCouldHurtACoreIsRefused) {
  std::vector<std::pair<std::string, Message>> bad;
  const auto add = [&](const std::string& what, auto good, const std::function<void(decltype(good)&)>& spoil) {
    ASSERT_TRUE(CheckMessage(good).ok()) << what;
    spoil(good);
    bad.emplace_back(what, std::move(good));
  };
  using P = Push&;
  add("positions do not ascend", GoodPush(), [](P push) { push.positions.list = {5, 1}; });
  add("a position twice", GoodPush(), [](P push) { push.positions.list = {5, 5}; });
  add("a position beyond any call", GoodPush(), [](P push) { push.positions.list = {5, kKeysPerCallMax}; });
  add("positions that wrap", GoodPush(), [](P push) { push.positions = {.first = ~0U, .count = 2, .list = {}}; });
  add("fewer positions than keys", GoodPush(), [](P push) { push.positions.list = {5}; });
  add("no keys", GoodPush(), [](P push) { push.keys = {}, push.gradients = {}, push.positions = {}; });
  add("half a gradient", GoodPush(), [](P push) { push.gradients = std::vector<float>(5); });
  add("table 0", GoodPush(), [](P push) { push.table = TableId(); });
  add("a table beyond all", GoodPush(), [](P push) { push.table = TableId(kTablesMax + 1); });
  add("a push without origin", GoodPush(), [](P push) { push.origin = NodeId(); });
  add("a sequence that wraps", GoodPush(), [](P push) { push.sequence = SequenceNumber(~uint64_t{0}); });
  add("settled for ever", GoodPush(), [](P push) { push.acked_below = SequenceNumber(~uint64_t{0}); });
  add("a step that wraps", GoodPush(), [](P push) { push.step = ~uint64_t{0}; });
  add("a version of no key", GoodPush(), [](P push) { push.seen = RowVersion(1), push.seen_index = 2; });

  using R = Replicate&;
  add("positions of a copy do not ascend", GoodReplicate(), [](R copy) { copy.positions.list = {5, 1}; });
  add("positions of a copy wrap", GoodReplicate(), [](R copy) { copy.positions = {~0U, 2, {}}; });
  add("versions of a copy", GoodReplicate(), [](R copy) { copy.versions = std::vector<RowVersion>(1); });
  add("a copy of nothing", GoodReplicate(), [](R copy) { copy.gradients = {}; });
  add("a staleness", GoodReplicate(), [](R copy) { copy.staleness = kNotMeasured - 1; });
  add("what comes back", ReplicateRefused{.replicate = GoodReplicate()}, [](ReplicateRefused& refused) {
    refused.replicate.positions.list = {5, 1};
  });

  using L = Pull&;
  add("an after of no key", GoodPull(), [](L pull) { pull.after[0].key_index = 2; });
  add("an after beyond any call", GoodPull(), [](L pull) { pull.after[0].position = kKeysPerCallMax; });
  add("positions of a pull", GoodPull(), [](L pull) { pull.positions.count = 3; });
  add("positions of an answer", PushAck{.sequence = SequenceNumber(1), .positions = {0, 2, {}}}, [](PushAck& ack) {
    ack.positions.list = {5, 1};
  });
  add("positions of rows", PullReply{.request = RequestId(1), .rows = std::vector<float>(4), .positions = {0, 2, {}}},
      [](PullReply& reply) {
        reply.positions.list = {9, 3};
      });

  using H = Handover&;
  add("no rows", GoodHandover(), [](H handover) { handover.rows = {.table = TableId(1)}, handover.records = {}; });
  add("a record of no key", GoodHandover(), [](H handover) { handover.records.records[0].key_index = 2; });
  add("a record far away", GoodHandover(), [](H handover) { handover.records.records[0].position = ~0U; });
  add("a record without origin", GoodHandover(), [](H handover) { handover.records.records[0].origin = NodeId(); });
  add("settled without origin", GoodHandover(), [](H handover) { handover.records.settled[0].origin = NodeId(); });
  add("a row twice", GoodHandover(), [](H handover) { handover.rows.keys = std::vector<Key>{8, 8}; });
  add("move numbers", GoodHandover(), [](H handover) { handover.rows.move_numbers = {}; });
  add("half a row", GoodHandover(), [](H handover) { handover.rows.values = std::vector<float>(7); });
  add("a row ordered twice", GoodOrder(), [](MoveOrder& order) { order.keys = std::vector<Key>{8, 8}; });
  add("numbers of an order", GoodOrder(), [](MoveOrder& order) { order.move_numbers = {}; });
  add("owners", GoodHandoff(), [](HomeHandoff& handoff) { handoff.entries.owners = {}; });
  add("an owner that is none", GoodHandoff(),
      [](HomeHandoff& handoff) { handoff.entries.owners = std::vector<NodeId>{NodeId()}; });
  add("entries of table 0", GoodHandoff(), [](HomeHandoff& handoff) { handoff.entries.table = TableId(); });

  add("a shard twice", GoodHandoff(), [](HomeHandoff& handoff) { handoff.complete = {ShardId(3), ShardId(3)}; });
  add("a shard of no job", FetchRows{.all_but = true, .shards = {ShardId(1)}, .last = true},
      [](FetchRows& fetch) { fetch.shards = {ShardId(kShardsMax)}; });

  using B = Heartbeat&;
  add("a loss that is none", Heartbeat{.number = 1}, [](B heartbeat) { heartbeat.loss_sum = kNaN; });
  add("a clock that wraps", Heartbeat{.number = 1}, [](B heartbeat) { heartbeat.clock = ~uint64_t{0}; });
  add("a lease for ever", HeartbeatAck{.number = 1}, [](HeartbeatAck& ack) { ack.liveness = Duration::max(); });
  add("a slack", SyncUpdate{}, [](SyncUpdate& update) { update.sync.mode = SyncMode::Ssp(~0U); });
  add("a lease that ends first", LeaseGrant{.request = RequestId(1), .begin = 1, .end = 2},
      [](LeaseGrant& grant) { grant.begin = 3; });
  add("a path", SnapshotDone{.cut = CutId(1), .files = {{.table = TableId(1), .name = "rows.1"}}},
      [](SnapshotDone& done) { done.files[0].name = "../../etc/passwd"; });
  add("a file of no table", SnapshotDone{.cut = CutId(1), .files = {{.table = TableId(1), .name = "rows.1"}}},
      [](SnapshotDone& done) { done.files[0].table = TableId(kTablesMax + 1); });
  add("a table of an answer", TableOpened{RequestId(1), TableId(1)},
      [](TableOpened& opened) { opened.table = TableId(); });
  add("a refusal that is none", Refused{RequestId(1), Error(StatusCode::kNotFound, "no")},
      [](Refused& refused) { refused.status = OkStatus(); });
  add("a node without number", Welcome{.node = NodeId(3)}, [](Welcome& welcome) { welcome.node = NodeId(); });
  add("a node beyond all", Join{.incarnation = 1}, [](Join& join) { join.node = NodeId(~0U); });

  using U = MirrorUpdate&;
  add("a time that is none", MirrorUpdate{GoodRecord()}, [](U update) { update.record.trained_seconds = 1e300; });
  add("a smoothed loss", MirrorUpdate{GoodRecord()}, [](U update) { update.record.smoothed_loss = kNaN; });
  add("a worker that is waited for beyond all", MirrorUpdate{GoodRecord()},
      [](U update) { update.record.closing_from = NodeId(1); });
  add("no servers", MirrorUpdate{GoodRecord()}, [](U update) { update.record.servers = 0; });
  add("leases of no items", MirrorUpdate{GoodRecord()},
      [](U update) { update.record.data_sets[0].progress.lease_items = 0; });
  add("leases that overlap", MirrorUpdate{GoodRecord()},
      [](U update) { update.record.data_sets[0].progress.open[1].begin = 1; });
  add("a lease twice", MirrorUpdate{GoodRecord()},
      [](U update) { update.record.data_sets[0].holders[1].lease = LeaseId(1); });
  add("the copy of an answer", Promised{.mirror = GoodRecord()},
      [](Promised& promised) { promised.mirror->data_sets[0].holders.pop_back(); });

  for (const auto& [what, message] : bad) {
    EXPECT_EQ(CheckMessage(message).code(), StatusCode::kInvalidArgument) << what << " in " << NameOf(message);
  }
}

TEST(MessageCheck, OnlyWhatIsAskedForAgainTravelsOutsideOfTheOrder) {
  const LinkHeader ordered{.sequence = 3}, outside{};
  for (const Message& message : std::vector<Message>{GoodPush(), GoodPull(), LinkAck{}}) {
    EXPECT_TRUE(CheckOrder(message, outside).ok()) << NameOf(message);
  }
  for (const Message& message : std::vector<Message>{GoodHandover(), GoodReplicate(), GoodOrder(), GoodHandoff()}) {
    EXPECT_TRUE(CheckOrder(message, ordered).ok()) << NameOf(message);
    EXPECT_FALSE(CheckOrder(message, outside).ok()) << NameOf(message) << " twice, or before its predecessors";
  }
}

}  // namespace
}  // namespace attune::ps::message_check_test

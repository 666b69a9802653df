#include "tests/ps/transport/samples.h"

#include <numeric>

namespace attune::ps {

std::vector<float> Ramp(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.5F);
  return values;
}

RowBatch SomeRows(size_t rows, size_t length) {
  std::vector<Key> keys(rows);
  std::iota(keys.begin(), keys.end(), 100);
  std::vector<RowVersion> versions(rows, RowVersion(2, 77));
  std::vector<uint16_t> moves(rows, 65535);
  return {.table = TableId(2),
          .keys = std::move(keys),
          .versions = std::move(versions),
          .move_numbers = std::move(moves),
          .values = Ramp(rows * length)};
}
Records SomeRecords() {
  return {.records = {{.sequence = SequenceNumber(9), .origin = NodeId(4), .position = 3, .key_index = 1},
                      {.sequence = SequenceNumber(8), .origin = NodeId(5), .key_index = 0, .refused = true}},
          .settled = {{.origin = NodeId(4), .acked_below = SequenceNumber(7)}}};
}
namespace {

DirectoryBatch SomeDirectory() {
  return {.table = TableId(2),
          .keys = std::vector<Key>{4, 5, 6},
          .owners = std::vector<NodeId>{NodeId(1), NodeId(9), NodeId(1)},
          .move_numbers = std::vector<uint16_t>{1, 2, 65535}};
}
Replicate SomeReplicate() {
  return {.origin = NodeId(3),
          .sequence = SequenceNumber(7),
          .table = TableId(2),
          .map_version = MapVersion(1, 4),
          .acked_below = SequenceNumber(5),
          .positions = {.list = {1, 5}},
          .keys = std::vector<Key>{8, 9},
          .gradients = Ramp(6),
          .versions = std::vector<RowVersion>{RowVersion(0, 3), RowVersion(1, 1)},
          .step = 12,
          .owner = NodeId(6),
          .ack_wanted = false,
          .relayed = true};
}

Replicate SomeCopiedFold() {
  Replicate copied = SomeReplicate();
  copied.folds = {{.pushes = 4, .updates = 4}, {.pushes = 2, .updates = 1}};
  return copied;
}
Push SomeFold() {
  Push fold{.origin = NodeId(3), .sequence = SequenceNumber(10), .table = TableId(2), .map_version = MapVersion(1, 4)};
  fold.positions = {.first = 0, .count = 2, .list = {}};
  fold.keys = std::vector<Key>{8, 9};
  fold.gradients = Ramp(8);
  fold.folds = {{.pushes = 4, .updates = 4}, {.pushes = 2, .updates = 1}};
  return fold;
}

}  // namespace

std::vector<Message> OneOfEach() {
  const MapVersion map(1, 4);
  Replicate probe = SomeReplicate();
  probe.gradients = {};
  probe.positions = {.first = 3, .count = 2, .list = {}};
  probe.ack_wanted = probe.probe = true;
  probe.relayed = false;
  return {
      Push{NodeId(3), SequenceNumber(7), TableId(2), map, SequenceNumber(5), Positions{10, 2, {}},
           std::vector<Key>{8, 9}, Ramp(6), 44, true},
      Push{NodeId(3), SequenceNumber(8), TableId(2), map, SequenceNumber(5), Positions{0, 0, {1, 5, 9}},
           std::vector<Key>{8, 9, ~Key{0}}, Ramp(3)},
      Push{NodeId(3), SequenceNumber(9), TableId(2), map, SequenceNumber(5), Positions{0, 3000, {}},
           std::vector<Key>(3000, 5), Ramp(12000)},
      PushAck{SequenceNumber(7), map, Positions{10, 2, {}}, NodeId(8)},
      PushAck{SequenceNumber(7), map, Positions{0, 0, {0, 7}}},
      PushRefused{SequenceNumber(7), map, Positions{0, 0, {0, 7}}, Error(StatusCode::kResourceExhausted, "full")},
      PushRefused{SequenceNumber(7), map, Positions{4, 2, {}}, Error(StatusCode::kInvalidArgument, "")},
      Pull{NodeId(3),
           RequestId(70),
           TableId(2),
           map,
           SequenceNumber(5),
           std::chrono::milliseconds(250),
           std::vector<Key>{1, 1, 2},
           {After{SequenceNumber(6), 4, 1}, After{SequenceNumber(7), 0, 2}},
           Positions{0, 3, {}},
           true},
      PullReply{RequestId(70), map, Ramp(5000)},
      PullReply{RequestId(71), map, Ramp(6), Positions{0, 0, {4, 9}}, std::vector<RowVersion>(2, RowVersion(5))},
      PullReply{RequestId(72), map, Ramp(35), Positions{2, 5, {}}, std::vector<RowVersion>(3, RowVersion(5))},
      PullRefused{RequestId(70), map, Error(StatusCode::kNotFound, "no such table; open it first")},
      Moved{MapVersion(1, 5), RequestId(9), SequenceNumber()},
      Moved{MapVersion(1, 5), RequestId(), SequenceNumber(9)},
      LinkAck{},
      CoordinatorAt{7, NodeId(4), 7400, "10.0.0.4:7000"},
      Localize{map, TableId(2), NodeId(4), std::vector<Key>{1, 2}},
      MoveOrder{map, TableId(2), NodeId(4), std::vector<Key>{1, 2}, std::vector<uint16_t>{7, 0}},
      Handover{map, 12, CutId(7), SomeRows(300, 9), SomeRecords()},
      Handover{map, 13, {}, SomeRows(2, 1), {}},
      HandoverAck{map, 12, MapVersion(1, 3)},
      SomeReplicate(),
      probe,
      ReplicateRefused{MapVersion(2, 2), SomeReplicate()},
      InstallWanted{map, TableId(2), std::vector<Key>{1, 2}, true},
      Install{map, 3, SomeRows(2, 4), SomeRecords()},
      InstallAck{map, 3},
      JoinMarker{map, MapVersion(1, 2)},
      HomeHandoff{map, SomeDirectory(), {ShardId(4), ShardId(9)}},
      HomeHandoff{map, {}, {ShardId(4)}},
      CollectOwners{map, MapVersion(1, 2)},
      OwnersReport{map, MapVersion(1, 2), SomeDirectory(), true},
      FetchRows{map, MapVersion(1, 2), TableId(2), std::vector<Key>{1, 2}, true, {ShardId(0), ShardId(4)}, true},
      FetchedRows{map, MapVersion(1, 2), SomeRows(2, 3), SomeRecords(), true},
      SnapshotRows{map, CutId(7), 4, SomeRows(3, 2), SomeRecords()},
      SnapshotRowsAck{map, CutId(7), 4},
      SomeFold(),
      SomeCopiedFold(),
      Round{map,
            3,
            true,
            false,
            50,
            27'000,
            TableId(2),
            std::vector<Key>{1, 2},
            std::vector<AnnouncedUse>{{.reads = 3, .writes = 2, .milliseconds = 40}, {}},
            {After{SequenceNumber(6), 4, 1}}},
      Round{map, 4, false, true, 0, 0, {}, {}, {}, {}},
      RoundReply{map,
                 3,
                 false,
                 TableId(2),
                 std::vector<Key>{1, 2},
                 std::vector<RowVersion>(2, RowVersion(5)),
                 Ramp(8),
                 {9, 10}},
      RoundReply{map, 4, true, {}, {}, {}, {}, {}},
  };
}

}  // namespace attune::ps

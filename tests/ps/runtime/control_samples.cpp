#include "tests/ps/runtime/control_samples.h"

namespace attune::ps {
namespace {

const RequestHeader kHeader{RequestId(7), RequestId(5), std::chrono::seconds(3)};

const SyncState kSync{9, 412, NodeId(5), SyncMode::Ssp(4), SyncMode::Async(), 400, 17, 415};

}  // namespace

ShardMap SomeMap() {
  ShardMap map;
  map.version = MapVersion(1, 2);
  map.recovered_at = MapVersion(1, 1);
  map.recoveries = 1;
  map.records_from = (uint64_t{1} << 32) + 3;
  map.marked = CutId((uint64_t{1} << 32) + 2);
  map.voters = {{MapVersion(1), {NodeId(1), NodeId(4)}}, {MapVersion(1, 1), {NodeId(1), NodeId(2)}, {2, 1}}};
  map.former_voters = {{.node = NodeId(4), .role = Role::kServer, .index = 1, .incarnation = 7}};
  map.shards = {{.home = NodeId(1), .backup = NodeId(2), .routing_since = MapVersion(1, 1)},
                {.home = NodeId(2), .next_backup = NodeId(1), .join_id = MapVersion(1, 2)},
                {.home = NodeId(1)}};
  map.members = {{NodeId(1), Role::kServer, 0, "127.0.0.1:1"},
                 {NodeId(2), Role::kServer, 1, "127.0.0.1:2", true},
                 {.node = NodeId(3), .role = Role::kWorker, .incarnation = ~uint64_t{0}}};
  return map;
}

TableSpec SomeSpec(Optimizer optimizer, Initializer initializer) {
  return {.name = "embedding",
          .options = {.dim = 64, .optimizer = optimizer, .initializer = initializer, .seed = 9, .rows_max = 1000}};
}

CoordinatorRecord SomeRecord() {
  CoordinatorRecord record{.number = (uint64_t{3} << 32) + 9,
                           .host = NodeId(1),
                           .goal = {.epochs = 2,
                                    .target_loss = 0.5,
                                    .max_duration = std::chrono::seconds(60),
                                    .target_metric = TargetMetric{"recall", 0.75, true},
                                    .early_stopping = EarlyStopping{"held_out_loss", 3, 0.25, true},
                                    .evaluate_every_epochs = 2,
                                    .evaluate_every_steps = 500,
                                    .best_checkpoint = BestCheckpointRule{"recall", true, "/c"}},
                           .items = 100,
                           .lease_items = 10,
                           .servers = 2,
                           .synchronization = "ssp:4",
                           .load = {"/c", 7, 412},
                           .resume = CutRecord{.synchronization = "bsp", .clock = 4, .steps = 8, .seconds = 1.5},
                           .servers_wanted = 3,
                           .backups = 1,
                           .next_node = NodeId(4100),
                           .nodes = {{NodeId(1), false}, {NodeId(3), true}},
                           .tables = {{SomeSpec(Sgd{}, ConstantInitializer{}), false, true}},
                           .newest = {"/c", 8, 500},
                           .newest_steps = 77,
                           .steps_of_gone = 5,
                           .trained_seconds = 12.5,
                           .smoothed_loss = 0.75,
                           .loss_windows = 6,
                           .goal_reached = "2 epochs done",
                           .closing_from = NodeId(4),
                           .metrics = {{.name = "recall",
                                        .maximize = true,
                                        .reports = 5,
                                        .left_out = 1,
                                        .value = 0.5,
                                        .best = 0.625,
                                        .at = {900, 4, 400},
                                        .best_at = {700, 3, 300},
                                        .reference = 0.625,
                                        .without_gain = 2},
                                       {.name = "silent", .left_out = 2, .at = {}, .best_at = {}}},
                           .evaluations = {.due = 4, .at_epochs = 8, .at_steps = 1700},
                           .best = BestCheckpoint{.metric = "recall",
                                                  .maximize = true,
                                                  .value = 0.625,
                                                  .at = {700, 3, 300},
                                                  .directory = "/c",
                                                  .checkpoint = 8},
                           .shard_weights = {64, 1, 4'000'000'000}};
  CutRecord::DataSet progress{.name = "train", .items = 100, .epochs = 2, .lease_items = 10, .finished_epochs = 1};
  progress.done = {{1, 0, 10}};
  progress.open = {{1, 20, 30, 24}};
  progress.reprocessed_items = 3;
  record.resume->data_sets = {progress};
  record.resume->metrics = record.metrics;
  record.resume->best = record.best;
  record.data_sets = {{progress, true, {{LeaseId(17), NodeId(3)}}, true, false, 60}};
  return record;
}

std::vector<Message> MessagesOfNodes() {
  return {
      Join{77, "uid", Role::kServer, 1, "127.0.0.1:7401"},
      Join{.incarnation = 78,
           .job_uid = "uid",
           .role = Role::kWorker,
           .index = 2,
           .address = "127.0.0.1:7402",
           .takes_rows = true},
      Join{
          .incarnation = 79, .job_uid = "uid", .role = Role::kServer, .address = "127.0.0.1:7403", .machine = "node-7"},
      Join{.incarnation = 77, .job_uid = "uid", .role = Role::kWorker, .index = 1, .node = NodeId(5), .term = 3},
      MirrorAck{(uint64_t{3} << 32) + 9},
      Promised{.map = SomeMap(), .standing = {.number = 4, .leases = {{LeaseId(4), UINT64_MAX}}}, .sync = kSync},
      Promised{.tables = {{TableId(2), SomeSpec(Sgd{}, ConstantInitializer{})}}, .mirror = SomeRecord()},
      MapRequest{MapVersion(1, 4)},
      Heartbeat{3,
                MapVersion(1, 4),
                9,
                10,
                11,
                12,
                2.5,
                20,
                30,
                SequenceNumber(8),
                {{LeaseId(4), 99}},
                5,
                {NodeId(2), NodeId(7)}},
      RowsReport{9, MapVersion(1, 4), 3, {MapVersion(1, 3)}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
      LoadReport{4, MapVersion(1, 4), std::chrono::milliseconds(1003), {{ShardId(0), 7}, {ShardId(1023), 1U << 20}}},
      LoadReport{},
      OpenTable{kHeader, SomeSpec(Sgd{0.5F}, ConstantInitializer{1.5F})},
      OpenTable{kHeader, SomeSpec(Adagrad{0.1F, 0.2F, 1e-6F}, UniformInitializer{-1, 1})},
      OpenTable{kHeader, SomeSpec(Adagrad{}, NormalInitializer{0.1F, 2})},
      OpenTable{kHeader, SomeSpec(Momentum{0.1F, 0.8F, true}, XavierInitializer{5, 6})},
      OpenTable{kHeader, SomeSpec(RmsProp{0.1F, 0.7F, 1e-5F}, ConstantInitializer{})},
      OpenTable{kHeader, SomeSpec(RowAdam{0.1F, 0.8F, 0.9F, 1e-5F}, ConstantInitializer{})},
      OpenTable{kHeader, SomeSpec(Ftrl{0.1F, 2, 3, 4}, ConstantInitializer{})},
      OpenTable{kHeader,
                {"narrow",
                 {.dim = 8,
                  .schedule = {LearningRateDecay::kCosine, 10, 1000, 0.25F},
                  .value_type = ValueType::kBfloat16,
                  .non_finite_gradients = NonFiniteGradients::kSkipRow}}},
      TableInstalled{TableId(2), Error(StatusCode::kResourceExhausted, "full")},
      TableInstalled{TableId(2), OkStatus()},
      OpenDataSet{kHeader, "train", {.items = 100, .epochs = 2, .lease_items = 10}},
      LeaseRequest{kHeader, DataSetId(1)},
      LeaseDone{kHeader, LeaseId(5)},
      LeaseReturn{kHeader, LeaseId(5), 17},
      ReportMetric{kHeader, "held_out_loss", 3.25},
      ReportMetric{kHeader, "held_out_loss", std::nullopt},
      SaveTables{kHeader, "/m"},
      MarkDone{CutId(5)},
      SnapshotDone{CutId(5), OkStatus(), {{TableId(1), "embedding.7", 7, 1, 2, 3, 4, 5}, {TableId(), "filter.7"}}},
      SnapshotDone{CutId(5), Error(StatusCode::kResourceExhausted, "disk full"), {}},
      Leave{kHeader, 12},
      Leave{kHeader, 12, true},
  };
}

std::vector<Message> MessagesOfCoordinators() {
  return {
      Welcome{NodeId(3), SomeMap(), 2, 2, kSync},
      Welcome{NodeId(3), ShardMap{}, 2, 1, {}},
      JoinRefused{Error(StatusCode::kFailedPrecondition, "wrong job")},
      MapUpdate{SomeMap()},
      HeartbeatAck{4, kSync, std::chrono::seconds(10)},
      MirrorUpdate{SomeRecord()},
      Promise{},
      Mark{CutId(5), 7, 6, "/checkpoints", 412},
      WriteSnapshot{CutId(5)},
      CutEnded{CutId(5)},
      SyncUpdate{kSync},
      TableOpened{RequestId(7), TableId(1)},
      InstallTable{TableId(1), SomeSpec(Sgd{}, ConstantInitializer{})},
      InstallTable{TableId(1), SomeSpec(Sgd{}, ConstantInitializer{}), {"/c", 7, 412}, MapVersion(2, 5)},
      NewestCheckpoint{{"/c", 7, 412}},
      StillWorking{RequestId(9)},
      DataSetOpened{RequestId(7), DataSetId(1), {.items = 100, .epochs = 2, .lease_items = 10}},
      LeaseGrant{RequestId(7), LeaseId(2), DataSetId(1), 1, 20, 30, 412},
      LeasesEnded{RequestId(7), LeasesEndReason::kGoalReached},
      LeasesEnded{RequestId(7), LeasesEndReason::kAllDone},
      Done{RequestId(7)},
      Refused{RequestId(7), Error(StatusCode::kNotFound, "no")},
      GoalReached{"2 epochs done"},
      Finished{},
      SessionLost{Error(StatusCode::kUnavailable, "server 1 died")},
  };
}

}  // namespace attune::ps

// What a coordinator knows that no other node does, as a value: kept by a second server, so that another coordinator
// can continue where this one stopped (docs/protocol.md#another-coordinator). A request that changes it is answered
// only when the copy is there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/row_management.h"
#include "base/time_source.h"
#include "proto/metric_name.h"
#include "ps/core/protocol/cut_record.h"
#include "ps/core/protocol/field_list.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/progress_state.h"
#include "ps/store/table_store.h"

namespace attune::ps {

// When training is over: whichever comes first. All empty: one epoch.
struct JobGoal {
  std::optional<uint64_t> epochs;
  std::optional<uint64_t> steps;         // of all workers together
  std::optional<double> target_loss;     // smoothed loss at or below
  std::optional<Duration> max_duration;  // since the first worker joined
  std::optional<TargetMetric> target_metric;
  std::optional<EarlyStopping> early_stopping;
  bool limits_training() const {
    return epochs || steps || target_loss || max_duration || target_metric || early_stopping;
  }
  // No goal by itself: how often an evaluation is due, by whichever comes first.
  std::optional<uint64_t> evaluate_every_epochs, evaluate_every_steps;
  std::optional<BestCheckpointRule> best_checkpoint{};  // no goal either
  bool operator==(const JobGoal&) const = default;
};
ATTUNE_FIELDS(JobGoal, FIELD(epochs, Is::kCount), FIELD(steps, Is::kCount), FIELD(target_loss, Is::kNotNaN),
              FIELD_AS("duration_nanoseconds", max_duration), FIELD(target_metric), FIELD(early_stopping),
              FIELD(evaluate_every_epochs, Is::kCount), FIELD(evaluate_every_steps, Is::kCount),
              FIELD(best_checkpoint));

template <>
struct EnumNumbers<RowManagement> {
  static constexpr uint32_t kFirst = 0;
  static constexpr RowManagement kLast = RowManagement::kAlways;
};

struct CoordinatorRecord {
  struct Table {
    TableSpec spec;
    bool failed = false;  // its id is used up
    bool opened = false;  // every server has it, and what a checkpoint has of it
    bool operator==(const Table&) const = default;
  };
  struct Node {
    NodeId node;
    bool uses_leases = false;
    bool operator==(const Node&) const = default;
  };
  struct Holder {
    LeaseId lease;
    NodeId worker;
    bool operator==(const Holder&) const = default;
  };
  struct DataSet {
    CutRecord::DataSet progress;
    bool follows_goal = true;
    std::vector<Holder> holders;   // of progress.open, in its order
    bool closing = false;          // work of after the goal
    bool when_due = false;         // evaluation on the way
    uint64_t items_in_newest = 0;  // done ones that the newest checkpoint contains
    bool lease_size_chosen = false;
    bool operator==(const DataSet&) const = default;
  };

  uint64_t number = 0;  // of this copy; term of the coordinator in the upper half
  NodeId host;          // the server it runs in

  // What the job was started with.
  JobGoal goal;
  uint64_t items = 0, lease_items = 0;
  uint32_t servers = 1;
  std::string synchronization;  // "ssp:4"
  RowManagement row_management = RowManagement::kAdaptive;
  RestorePoint load;  // and from where
  std::optional<CutRecord> resume;

  uint32_t servers_wanted = 0, backups = 0;
  NodeId next_node;                // not given to anybody yet, nor soon
  std::vector<Node> nodes;         // members
  std::vector<Table> tables;       // by TableId - 1
  std::vector<DataSet> data_sets;  // by DataSetId - 1
  RestorePoint newest;             // checkpoint
  uint64_t newest_steps = 0;       // of all workers that it contains
  uint64_t steps_of_gone = 0;
  std::optional<double> trained_seconds;  // since the first worker joined
  std::optional<double> smoothed_loss;
  bool model_lost = false;
  uint64_t loss_windows = 0;
  std::string goal_reached;
  NodeId closing_from;  // see JobEnding
  std::vector<MetricState> metrics;
  EvaluationState evaluations;
  std::optional<BestCheckpoint> best{};
  std::vector<uint32_t> shard_weights{};  // by ShardId, that shards are placed by; empty: equal ones
  bool operator==(const CoordinatorRecord&) const = default;
};
ATTUNE_FIELDS(CoordinatorRecord::Table, FIELD(spec), FIELD(failed), FIELD(opened));
ATTUNE_FIELDS(CoordinatorRecord::Node, FIELD(node, Is::kNode), FIELD(uses_leases));
ATTUNE_FIELDS(CoordinatorRecord::Holder, FIELD_AS("leases", lease), FIELD_AS("workers", worker, Is::kNode));
ATTUNE_FIELDS(CoordinatorRecord::DataSet, FIELD(progress), FIELD(follows_goal), Columns(&T::holders, kOpenLeasesMax),
              FIELD(closing), FIELD(when_due), FIELD(items_in_newest, Is::kCount), FIELD(lease_size_chosen));
ATTUNE_FIELDS(CoordinatorRecord, FIELD(number), FIELD(host, Is::kNodeOrNone), FIELD(goal), FIELD(items, Is::kCount),
              FIELD(lease_items, Is::kCount), FIELD(servers), FIELD(synchronization, AtMost(kNameBytesMax)),
              FIELD(row_management), FIELD(load), FIELD(resume), FIELD(servers_wanted), FIELD(backups),
              FIELD(next_node), FIELD(nodes, AtMost(kMembersMax)), FIELD(tables, AtMost(kTablesMax)),
              FIELD(data_sets, AtMost(kDataSetsMax)), FIELD(newest), FIELD(newest_steps, Is::kCount),
              FIELD(steps_of_gone, Is::kCount), FIELD(trained_seconds, Is::kSeconds), FIELD(smoothed_loss, Is::kFinite),
              FIELD(model_lost), FIELD(loss_windows, Is::kCount), FIELD(goal_reached, AtMost(kStatusBytesMax)),
              FIELD(closing_from), FIELD(metrics, AtMost(contract::kJobMetricsMax)), Inlined(&T::evaluations),
              FIELD(best), FIELD(shard_weights, AtMost(kShardsMax)));

}  // namespace attune::ps

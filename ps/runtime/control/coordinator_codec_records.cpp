// What a coordinator leaves to the next one, in control messages: its copy, and where a node stands.
#include <algorithm>

#include "proto/metric_name.h"
#include "ps/core/protocol/limits.h"
#include "ps/runtime/control/coordinator_codec_parts.h"

namespace attune::ps::codec {
namespace {

constexpr size_t kOpenLeasesMax = kMembersMax * kLeasesPerWorkerMax;  // the size of a message is bounded further

void Put(const CutRecord::DataSet& from, v1::DataProgress* to) {
  to->set_name(from.name);
  to->set_items(from.items);
  to->set_epochs(from.epochs);
  to->set_lease_items(from.lease_items);
  to->set_finished_epochs(from.finished_epochs);
  for (const CutRecord::DoneRange& range : from.done) {
    v1::DataProgress::Range* done = to->add_done();
    done->set_epoch(range.epoch);
    done->set_begin(range.begin);
    done->set_end(range.end);
  }
  for (const CutRecord::OpenLease& lease : from.open) {
    v1::DataProgress::Range* open = to->add_open();
    open->set_epoch(lease.epoch);
    open->set_begin(lease.begin);
    open->set_end(lease.end);
    open->set_position(lease.position);
  }
  to->set_reprocessed_items(from.reprocessed_items);
}

StatusOr<CutRecord::DataSet> Get(const v1::DataProgress& from) {
  RETURN_IF_ERROR(CheckText(from.name(), kNameBytesMax, "bytes of data-set name"));
  const auto open = static_cast<size_t>(from.open_size());
  if (open > kOpenLeasesMax) return TooMany("leases", open, kOpenLeasesMax);
  CutRecord::DataSet progress{.name = from.name(),
                              .items = from.items(),
                              .epochs = from.epochs(),
                              .lease_items = from.lease_items(),
                              .finished_epochs = from.finished_epochs(),
                              .done = {},
                              .open = {},
                              .reprocessed_items = from.reprocessed_items()};
  for (const v1::DataProgress::Range& range : from.done()) {
    progress.done.push_back({range.epoch(), range.begin(), range.end()});
  }
  for (const v1::DataProgress::Range& lease : from.open()) {
    progress.open.push_back({lease.epoch(), lease.begin(), lease.end(), lease.position()});
  }
  return progress;
}

void Put(const MetricPlace& from, v1::MetricState::Place* to) {
  to->set_step(from.step);
  to->set_epoch(from.epoch);
  to->set_items(from.items);
}

MetricPlace Get(const v1::MetricState::Place& from) { return {from.step(), from.epoch(), from.items()}; }

void Put(const MetricState& from, v1::MetricState* to) {
  to->set_name(from.name);
  to->set_maximize(from.maximize);
  to->set_reports(from.reports);
  to->set_left_out(from.left_out);
  if (from.value) to->set_value(*from.value);
  if (from.best) to->set_best(*from.best);
  Put(from.at, to->mutable_at());
  Put(from.best_at, to->mutable_best_at());
  if (from.reference) to->set_reference(*from.reference);
  to->set_without_gain(from.without_gain);
}

StatusOr<MetricState> Get(const v1::MetricState& from) {
  RETURN_IF_ERROR(CheckText(from.name(), contract::kMetricNameBytesMax, "bytes of a metric's name"));
  MetricState state{.name = from.name(),
                    .maximize = from.maximize(),
                    .reports = from.reports(),
                    .left_out = from.left_out(),
                    .value = {},
                    .best = {},
                    .at = Get(from.at()),
                    .best_at = Get(from.best_at()),
                    .reference = {},
                    .without_gain = from.without_gain()};
  if (from.has_value()) state.value = from.value();
  if (from.has_best()) state.best = from.best();
  if (from.has_reference()) state.reference = from.reference();
  return state;
}

// The metrics of a record, whichever.
template <typename Record>
Status GetMetrics(const Record& from, std::vector<MetricState>& to) {
  const auto metrics = static_cast<size_t>(from.metrics_size());
  if (metrics > contract::kJobMetricsMax) return TooMany("metrics", metrics, contract::kJobMetricsMax);
  for (const v1::MetricState& metric : from.metrics()) {
    ASSIGN_OR_RETURN(MetricState read, Get(metric));
    to.push_back(std::move(read));
  }
  return OkStatus();
}

void Put(const BestCheckpoint& from, v1::BestCheckpoint* to) {
  to->set_metric(from.metric);
  to->set_maximize(from.maximize);
  to->set_value(from.value);
  Put(from.at, to->mutable_at());
  to->set_directory(from.directory);
  to->set_checkpoint(from.checkpoint);
}

StatusOr<BestCheckpoint> Get(const v1::BestCheckpoint& from) {
  RETURN_IF_ERROR(CheckText(from.metric(), contract::kMetricNameBytesMax, "bytes of a metric's name"));
  RETURN_IF_ERROR(CheckText(from.directory(), kPathBytesMax, "bytes of path"));
  return BestCheckpoint{.metric = from.metric(),
                        .maximize = from.maximize(),
                        .value = from.value(),
                        .at = Get(from.at()),
                        .directory = from.directory(),
                        .checkpoint = from.checkpoint()};
}

void Put(const CutRecord& from, v1::CutRecord* to) {
  to->set_synchronization(from.synchronization);
  to->set_clock(from.clock);
  to->set_steps(from.steps);
  to->set_seconds(from.seconds);
  for (const CutRecord::DataSet& data_set : from.data_sets) Put(data_set, to->add_data_sets());
  for (const MetricState& metric : from.metrics) Put(metric, to->add_metrics());
  if (from.best) Put(*from.best, to->mutable_best());
}

StatusOr<CutRecord> Get(const v1::CutRecord& from) {
  RETURN_IF_ERROR(CheckText(from.synchronization(), kNameBytesMax, "bytes of synchronization"));
  const auto data_sets = static_cast<size_t>(from.data_sets_size());
  if (data_sets > kDataSetsMax) return TooMany("data sets", data_sets, kDataSetsMax);
  CutRecord record{.synchronization = from.synchronization(),
                   .clock = from.clock(),
                   .steps = from.steps(),
                   .seconds = from.seconds(),
                   .data_sets = {}};
  for (const v1::DataProgress& data_set : from.data_sets()) {
    ASSIGN_OR_RETURN(CutRecord::DataSet progress, Get(data_set));
    record.data_sets.push_back(std::move(progress));
  }
  RETURN_IF_ERROR(GetMetrics(from, record.metrics));
  if (from.has_best()) {
    ASSIGN_OR_RETURN(record.best, Get(from.best()));
  }
  return record;
}

void Put(const JobGoal& from, v1::JobGoal* to) {
  if (from.epochs) to->set_epochs(*from.epochs);
  if (from.steps) to->set_steps(*from.steps);
  if (from.target_loss) to->set_target_loss(*from.target_loss);
  if (from.max_duration) to->set_duration_nanoseconds(from.max_duration->count());
  if (from.target_metric) {
    to->mutable_target_metric()->set_name(from.target_metric->name);
    to->mutable_target_metric()->set_value(from.target_metric->value);
    to->mutable_target_metric()->set_maximize(from.target_metric->maximize);
  }
  if (from.early_stopping) {
    to->mutable_early_stopping()->set_metric(from.early_stopping->metric);
    to->mutable_early_stopping()->set_patience(from.early_stopping->patience);
    to->mutable_early_stopping()->set_min_delta(from.early_stopping->min_delta);
    to->mutable_early_stopping()->set_maximize(from.early_stopping->maximize);
  }
  if (from.evaluate_every_epochs) to->set_evaluate_every_epochs(*from.evaluate_every_epochs);
  if (from.best_checkpoint) {
    to->mutable_best_checkpoint()->set_metric(from.best_checkpoint->metric);
    to->mutable_best_checkpoint()->set_maximize(from.best_checkpoint->maximize);
    to->mutable_best_checkpoint()->set_directory(from.best_checkpoint->directory);
  }
  if (from.evaluate_every_steps) to->set_evaluate_every_steps(*from.evaluate_every_steps);
}

StatusOr<JobGoal> Get(const v1::JobGoal& from) {
  JobGoal goal;
  if (from.has_epochs()) goal.epochs = from.epochs();
  if (from.has_steps()) goal.steps = from.steps();
  if (from.has_target_loss()) goal.target_loss = from.target_loss();
  if (from.has_duration_nanoseconds()) goal.max_duration = Duration(std::max<int64_t>(from.duration_nanoseconds(), 0));
  if (from.has_target_metric()) {
    const v1::JobGoal::TargetMetric& target = from.target_metric();
    RETURN_IF_ERROR(CheckText(target.name(), contract::kMetricNameBytesMax, "bytes of a metric's name"));
    goal.target_metric = {.name = target.name(), .value = target.value(), .maximize = target.maximize()};
  }
  if (from.has_early_stopping()) {
    const v1::JobGoal::EarlyStopping& early = from.early_stopping();
    RETURN_IF_ERROR(CheckText(early.metric(), contract::kMetricNameBytesMax, "bytes of a metric's name"));
    goal.early_stopping = {.metric = early.metric(),
                           .patience = early.patience(),
                           .min_delta = early.min_delta(),
                           .maximize = early.maximize()};
  }
  if (from.has_best_checkpoint()) {
    const v1::JobGoal::BestCheckpointRule& best = from.best_checkpoint();
    RETURN_IF_ERROR(CheckText(best.metric(), contract::kMetricNameBytesMax, "bytes of a metric's name"));
    RETURN_IF_ERROR(CheckText(best.directory(), kPathBytesMax, "bytes of path"));
    goal.best_checkpoint = {.metric = best.metric(), .maximize = best.maximize(), .directory = best.directory()};
  }
  if (from.has_evaluate_every_epochs()) goal.evaluate_every_epochs = from.evaluate_every_epochs();
  if (from.has_evaluate_every_steps()) goal.evaluate_every_steps = from.evaluate_every_steps();
  return goal;
}

StatusOr<CoordinatorRecord::DataSet> Get(const v1::CoordinatorRecord::DataSet& from) {
  CoordinatorRecord::DataSet data_set{.progress = {},
                                      .follows_goal = from.follows_goal(),
                                      .holders = {},
                                      .closing = from.closing(),
                                      .when_due = from.when_due(),
                                      .items_in_newest = from.items_in_newest()};
  ASSIGN_OR_RETURN(data_set.progress, Get(from.progress()));
  if (from.workers_size() != from.leases_size()) {
    return Error(StatusCode::kInvalidArgument, "a copy of the coordinator's leases whose lists differ in length");
  }
  for (int i = 0; i < from.leases_size(); ++i) {
    data_set.holders.push_back({LeaseId(from.leases(i)), NodeId(from.workers(i))});
  }
  return data_set;
}

}  // namespace

void Put(const Heartbeat& from, v1::Heartbeat* to) {
  to->set_number(from.number);
  to->set_map_version(from.map_version.value());
  to->set_steps(from.steps);
  to->set_clock(from.clock);
  to->set_begun(from.begun);
  to->set_promised(from.promised);
  to->set_loss_sum(from.loss_sum);
  to->set_loss_samples(from.loss_samples);
  to->set_samples(from.samples);
  to->set_acked_below(from.acked_below.value());
  for (const LeasePosition& lease : from.leases) {
    v1::LeasePosition* position = to->add_leases();
    position->set_lease(lease.lease.value());
    position->set_position(lease.position);
  }
  to->set_supports(from.supports);
  for (const NodeId node : from.unreached) to->add_unreached(node.value());
}

StatusOr<Heartbeat> Get(const v1::Heartbeat& from) {
  const auto leases = static_cast<size_t>(from.leases_size());
  if (leases > kLeasesPerWorkerMax) return TooMany("leases", leases, kLeasesPerWorkerMax);
  const auto unreached = static_cast<size_t>(from.unreached_size());
  if (unreached > kUnreachedMax) return TooMany("members without a link", unreached, kUnreachedMax);
  Heartbeat heartbeat{.number = from.number(),
                      .map_version = MapVersion(from.map_version()),
                      .steps = from.steps(),
                      .clock = from.clock(),
                      .begun = from.begun(),
                      .promised = from.promised(),
                      .loss_sum = from.loss_sum(),
                      .loss_samples = from.loss_samples(),
                      .samples = from.samples(),
                      .acked_below = SequenceNumber(from.acked_below()),
                      .leases = {},
                      .supports = from.supports(),
                      .unreached = {}};
  for (const uint64_t node : from.unreached()) heartbeat.unreached.push_back(NodeId(node));
  for (const v1::LeasePosition& lease : from.leases()) {
    heartbeat.leases.push_back({LeaseId(lease.lease()), lease.position()});
  }
  return heartbeat;
}

void Put(const CoordinatorRecord& from, v1::CoordinatorRecord* to) {
  to->set_number(from.number);
  to->set_host(from.host.value());
  Put(from.goal, to->mutable_goal());
  to->set_items(from.items);
  to->set_lease_items(from.lease_items);
  to->set_servers(from.servers);
  to->set_synchronization(from.synchronization);
  if (from.resume) Put(*from.resume, to->mutable_resume());
  to->set_servers_wanted(from.servers_wanted);
  to->set_backups(from.backups);
  to->set_next_node(from.next_node.value());
  for (const CoordinatorRecord::Node& node : from.nodes) {
    v1::CoordinatorRecord::Node* out = to->add_nodes();
    out->set_node(node.node.value());
    out->set_uses_leases(node.uses_leases);
  }
  for (const CoordinatorRecord::Table& table : from.tables) {
    v1::CoordinatorRecord::Table* out = to->add_tables();
    Put(table.spec, out->mutable_spec());
    out->set_failed(table.failed);
    out->set_opened(table.opened);
  }
  for (const CoordinatorRecord::DataSet& data_set : from.data_sets) {
    v1::CoordinatorRecord::DataSet* out = to->add_data_sets();
    Put(data_set.progress, out->mutable_progress());
    out->set_follows_goal(data_set.follows_goal);
    out->set_closing(data_set.closing);
    out->set_when_due(data_set.when_due);
    out->set_items_in_newest(data_set.items_in_newest);
    for (const CoordinatorRecord::Holder& holder : data_set.holders) {
      out->add_leases(holder.lease.value());
      out->add_workers(holder.worker.value());
    }
  }
  to->set_steps_of_gone(from.steps_of_gone);
  if (from.trained_seconds) to->set_trained_seconds(*from.trained_seconds);
  if (from.smoothed_loss) to->set_smoothed_loss(*from.smoothed_loss);
  to->set_model_lost(from.model_lost);
  to->set_loss_windows(from.loss_windows);
  to->set_goal_reached(from.goal_reached);
  to->set_closing_from(from.closing_from.value());
  Put(from.load, to->mutable_load());
  Put(from.newest, to->mutable_newest());
  to->set_newest_steps(from.newest_steps);
  for (const MetricState& metric : from.metrics) Put(metric, to->add_metrics());
  to->set_evaluations_due(from.evaluations.due);
  to->set_evaluated_epochs(from.evaluations.at_epochs);
  to->set_evaluated_steps(from.evaluations.at_steps);
  if (from.best) Put(*from.best, to->mutable_best());
}

StatusOr<CoordinatorRecord> Get(const v1::CoordinatorRecord& from) {
  RETURN_IF_ERROR(CheckText(from.synchronization(), kNameBytesMax, "bytes of synchronization"));
  RETURN_IF_ERROR(CheckText(from.goal_reached(), kStatusBytesMax, "bytes of text"));
  const auto nodes = static_cast<size_t>(from.nodes_size()), tables = static_cast<size_t>(from.tables_size()),
             data_sets = static_cast<size_t>(from.data_sets_size());
  if (nodes > kMembersMax) return TooMany("members", nodes, kMembersMax);
  if (tables > kTablesMax) return TooMany("tables", tables, kTablesMax);
  if (data_sets > kDataSetsMax) return TooMany("data sets", data_sets, kDataSetsMax);
  CoordinatorRecord record{
      .number = from.number(),
      .host = NodeId(from.host()),
      .goal = {},
      .items = from.items(),
      .lease_items = from.lease_items(),
      .servers = from.servers(),
      .synchronization = from.synchronization(),
      .load = {},
      .resume = {},
      .servers_wanted = from.servers_wanted(),
      .backups = from.backups(),
      .next_node = NodeId(from.next_node()),
      .nodes = {},
      .tables = {},
      .data_sets = {},
      .newest = {},
      .newest_steps = 0,
      .steps_of_gone = from.steps_of_gone(),
      .trained_seconds = {},
      .smoothed_loss = {},
      .model_lost = from.model_lost(),
      .loss_windows = from.loss_windows(),
      .goal_reached = from.goal_reached(),
      .closing_from = NodeId(from.closing_from()),
      .metrics = {},
      .evaluations = {
          .due = from.evaluations_due(), .at_epochs = from.evaluated_epochs(), .at_steps = from.evaluated_steps()}};
  ASSIGN_OR_RETURN(record.goal, Get(from.goal()));
  RETURN_IF_ERROR(GetMetrics(from, record.metrics));
  if (from.has_best()) {
    ASSIGN_OR_RETURN(record.best, Get(from.best()));
  }
  ASSIGN_OR_RETURN(record.load, Get(from.load()));
  ASSIGN_OR_RETURN(record.newest, Get(from.newest()));
  record.newest_steps = from.newest_steps();
  if (from.has_resume()) {
    ASSIGN_OR_RETURN(record.resume, Get(from.resume()));
  }
  if (from.has_trained_seconds()) record.trained_seconds = from.trained_seconds();
  if (from.has_smoothed_loss()) record.smoothed_loss = from.smoothed_loss();
  for (const v1::CoordinatorRecord::Node& node : from.nodes()) {
    record.nodes.push_back({NodeId(node.node()), node.uses_leases()});
  }
  for (const v1::CoordinatorRecord::Table& table : from.tables()) {
    CoordinatorRecord::Table read{.spec = {}, .failed = table.failed(), .opened = table.opened()};
    if (!table.failed()) {
      ASSIGN_OR_RETURN(read.spec, Get(table.spec()));
    }
    record.tables.push_back(std::move(read));
  }
  for (const v1::CoordinatorRecord::DataSet& data_set : from.data_sets()) {
    ASSIGN_OR_RETURN(CoordinatorRecord::DataSet read, Get(data_set));
    record.data_sets.push_back(std::move(read));
  }
  return record;
}

}  // namespace attune::ps::codec

// Fields of control messages.
#include <cmath>
#include <set>
#include <string>

#include "proto/metric_name.h"
#include "ps/core/check/message_check.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

constexpr Duration kLivenessMax = std::chrono::hours(24);
constexpr double kSecondsMax = 1e9;  // thirty years, a tenth of what a Duration holds

// The first thing that is wrong; OK while nothing is.
class Verdict {
 public:
  void Require(bool holds, const char* what) {
    if (status_.ok() && !holds) status_ = Error(StatusCode::kInvalidArgument, what);
  }
  void Require(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

void CheckNode(NodeId node, Verdict& verdict) {
  verdict.Require(node != NodeId() && node.value() <= kNodeIdMax, "a node id that is none");
}
// 0: none.
void CheckNodeOrNone(NodeId node, Verdict& verdict) {
  verdict.Require(node.value() <= kNodeIdMax, "a node id that is none");
}

void CheckTable(TableId table, Verdict& verdict) {
  verdict.Require(table != TableId() && table.value() <= kTablesMax, "a table id that is none");
}

void CheckNumbers(std::initializer_list<uint64_t> numbers, Verdict& verdict) {
  for (const uint64_t number : numbers) {
    verdict.Require(number <= kNumberMax, "a number beyond any that can be reached");
  }
}

void CheckSeconds(double seconds, Verdict& verdict) {
  verdict.Require(std::isfinite(seconds) && seconds >= 0 && seconds <= kSecondsMax, "a time that is none");
}

// Of a checkpoint: a name from outside must stay in its directory.
void CheckFileName(const std::string& name, Verdict& verdict) {
  verdict.Require(!name.empty() && name.front() != '.' && name.find('/') == std::string::npos &&
                      name.find('\0') == std::string::npos,
                  "a file outside the checkpoint's directory");
}

void CheckMap(const ShardMap& map, Verdict& verdict) {
  for (const Member& member : map.members) CheckNode(member.node, verdict);
  for (const Member& member : map.former_voters) CheckNode(member.node, verdict);
  if (map.formed()) verdict.Require(Validate(map));
}

void CheckSync(const SyncState& sync, Verdict& verdict) {
  CheckNumbers({sync.floor, sync.mode_from, sync.hold_at}, verdict);
  CheckNodeOrNone(sync.slowest, verdict);
  verdict.Require(sync.mode.slack.value_or(0) <= kSlackMax && sync.mode_before.slack.value_or(0) <= kSlackMax,
                  "a slack that no mode has");
}

void CheckHeader(const RequestHeader& header, Verdict& verdict) {
  CheckNumbers({header.request.value(), header.answered_below.value()}, verdict);
}

void CheckDataSet(const DataSetOptions& options, Verdict& verdict) {
  CheckNumbers({options.items, options.epochs, options.lease_items}, verdict);
}

void CheckProgress(const CutRecord::DataSet& data_set, Verdict& verdict) {
  CheckNumbers(
      {data_set.items, data_set.epochs, data_set.lease_items, data_set.finished_epochs, data_set.reprocessed_items},
      verdict);
  verdict.Require(data_set.lease_items > 0, "a data set with leases of no items");
  verdict.Require(Validate(data_set));
}

void CheckMetricName(const std::string& name, Verdict& verdict) {
  verdict.Require(contract::IsMetricName(name), "a name that no metric has");
}

void CheckFinite(double value, Verdict& verdict) {
  verdict.Require(std::isfinite(value), "a metric that is no finite number");
}

void CheckPlace(const MetricPlace& place, Verdict& verdict) {
  CheckNumbers({place.step, place.epoch, place.items}, verdict);
}

void CheckBest(const std::optional<BestCheckpoint>& best, Verdict& verdict) {
  if (!best) return;
  CheckMetricName(best->metric, verdict);
  CheckFinite(best->value, verdict);
  CheckPlace(best->at, verdict);
  CheckNumbers({best->checkpoint}, verdict);
}

void CheckStates(const std::vector<MetricState>& states, Verdict& verdict) {
  verdict.Require(states.size() <= contract::kJobMetricsMax, "more metrics than a job has");
  for (const MetricState& metric : states) {
    CheckMetricName(metric.name, verdict);
    for (const std::optional<double> value : {metric.value, metric.best, metric.reference}) {
      CheckFinite(value.value_or(0), verdict);
    }
    CheckPlace(metric.at, verdict);
    CheckPlace(metric.best_at, verdict);
    CheckNumbers({metric.reports, metric.left_out, metric.without_gain}, verdict);
  }
}

void CheckRecord(const CutRecord& record, Verdict& verdict) {
  CheckNumbers({record.clock, record.steps}, verdict);
  CheckSeconds(record.seconds, verdict);
  for (const CutRecord::DataSet& data_set : record.data_sets) CheckProgress(data_set, verdict);
  CheckStates(record.metrics, verdict);
  CheckBest(record.best, verdict);
}

void CheckMetrics(const CoordinatorRecord& record, Verdict& verdict) {
  CheckStates(record.metrics, verdict);
  CheckBest(record.best, verdict);
  if (record.goal.best_checkpoint) CheckMetricName(record.goal.best_checkpoint->metric, verdict);
  CheckNumbers({record.evaluations.due, record.evaluations.at_epochs, record.evaluations.at_steps,
                record.goal.evaluate_every_epochs.value_or(0), record.goal.evaluate_every_steps.value_or(0)},
               verdict);
  if (record.goal.target_metric) {
    CheckMetricName(record.goal.target_metric->name, verdict);
    CheckFinite(record.goal.target_metric->value, verdict);
  }
  if (record.goal.early_stopping) {
    CheckMetricName(record.goal.early_stopping->metric, verdict);
    CheckFinite(record.goal.early_stopping->min_delta, verdict);
    CheckNumbers({record.goal.early_stopping->patience}, verdict);
  }
}

// Of one data set: as many as its leases, each once.
void CheckHolders(const CoordinatorRecord::DataSet& data_set, Verdict& verdict) {
  verdict.Require(data_set.holders.size() == data_set.progress.open.size(), "leases without holders");
  std::set<LeaseId> leases;
  for (const CoordinatorRecord::Holder& holder : data_set.holders) {
    CheckNode(holder.worker, verdict);
    verdict.Require(leases.insert(holder.lease).second, "a lease twice");
  }
}

void CheckRecord(const CoordinatorRecord& record, Verdict& verdict) {
  CheckNodeOrNone(record.host, verdict);
  verdict.Require(record.servers >= 1 && record.servers <= kServersMax, "a number of servers that no job has");
  verdict.Require(record.servers_wanted <= kServersMax, "a number of servers that no job has");
  verdict.Require(record.next_node.value() <= kNodeIdMax + 2 * kMembersMax, "a node id that is none");
  verdict.Require(record.closing_from <= record.next_node, "a node id that is none");
  CheckNumbers({record.items, record.lease_items, record.newest_steps, record.steps_of_gone, record.loss_windows,
                record.goal.epochs.value_or(0), record.goal.steps.value_or(0)},
               verdict);
  CheckSeconds(record.trained_seconds.value_or(0), verdict);
  verdict.Require(std::isfinite(record.smoothed_loss.value_or(0)), "a loss that is no number");
  verdict.Require(!std::isnan(record.goal.target_loss.value_or(0)), "a loss that is no number");
  for (const CoordinatorRecord::Node& node : record.nodes) CheckNode(node.node, verdict);
  for (const CoordinatorRecord::DataSet& data_set : record.data_sets) {
    CheckProgress(data_set.progress, verdict);
    CheckNumbers({data_set.items_in_newest}, verdict);
    CheckHolders(data_set, verdict);
  }
  CheckMetrics(record, verdict);
  if (record.resume) CheckRecord(*record.resume, verdict);
}

// --- one function per kind; kinds without any field that could be wrong fall into the template

template <typename Other>
void Check(const Other& message, Verdict& verdict) {
  if constexpr (requires { message.header; }) CheckHeader(message.header, verdict);
  if constexpr (requires { message.request; }) CheckNumbers({message.request.value()}, verdict);
}

void Check(const JoinRefused& refused, Verdict& verdict) {
  verdict.Require(!refused.status.ok(), "a refusal without reason");
}
void Check(const SessionLost& lost, Verdict& verdict) { verdict.Require(!lost.status.ok(), "an end without reason"); }
void Check(const Refused& refused, Verdict& verdict) {
  CheckNumbers({refused.request.value()}, verdict);
  verdict.Require(!refused.status.ok(), "a refusal without reason");
}

void Check(const Join& join, Verdict& verdict) { CheckNodeOrNone(join.node, verdict); }
void CheckSupport(const SupportQuestion& support, Verdict& verdict) {
  verdict.Require(support.lasts >= Duration::zero() && support.lasts <= kLivenessMax,
                  "a support beyond any that is asked for");
}

void Check(const Welcome& welcome, Verdict& verdict) {
  CheckSupport(welcome.support, verdict);
  CheckNode(welcome.node, verdict);
  CheckMap(welcome.map, verdict);
  CheckSync(welcome.sync, verdict);
}
void Check(const MapUpdate& update, Verdict& verdict) {
  verdict.Require(update.map.formed(), "a map without version");
  CheckMap(update.map, verdict);
}
void Check(const Heartbeat& heartbeat, Verdict& verdict) {
  CheckNumbers({heartbeat.number, heartbeat.steps, heartbeat.clock, heartbeat.begun, heartbeat.loss_samples,
                heartbeat.samples, heartbeat.acked_below.value()},
               verdict);
  verdict.Require(std::isfinite(heartbeat.loss_sum), "a loss that is no number");
  verdict.Require(heartbeat.unreached.size() <= kUnreachedMax, "more members without a link than may be named");
  for (const NodeId node : heartbeat.unreached) CheckNode(node, verdict);
}
void Check(const RowsReport& report, Verdict& verdict) {
  CheckNumbers({report.number, report.shards_not_ready, report.rows_held, report.rows_foreign, report.handovers_open,
                report.operations_waiting, report.rows_to_come, report.rows_received, report.rows_sent, report.copies,
                report.copies_to_send, report.shards_restored, report.rows_restored, report.rows_begun_anew},
               verdict);
}
void Check(const HeartbeatAck& ack, Verdict& verdict) {
  CheckSupport(ack.support, verdict);
  CheckSync(ack.sync, verdict);
  verdict.Require(ack.liveness >= Duration::zero() && ack.liveness <= kLivenessMax,
                  "a liveness lease beyond any that is given");
}
void Check(const SyncUpdate& update, Verdict& verdict) { CheckSync(update.sync, verdict); }

void Check(const TableOpened& opened, Verdict& verdict) { CheckTable(opened.table, verdict); }
void Check(const InstallTable& install, Verdict& verdict) { CheckTable(install.table, verdict); }
void Check(const TableInstalled& installed, Verdict& verdict) { CheckTable(installed.table, verdict); }
void Check(const OpenDataSet& open, Verdict& verdict) {
  CheckHeader(open.header, verdict);
  CheckDataSet(open.options, verdict);
}
void Check(const ReportMetric& report, Verdict& verdict) {
  CheckHeader(report.header, verdict);
  CheckMetricName(report.name, verdict);
  CheckFinite(report.value.value_or(0), verdict);
}
void Check(const DataSetOpened& opened, Verdict& verdict) { CheckDataSet(opened.options, verdict); }
void Check(const LeaseGrant& grant, Verdict& verdict) {
  CheckNumbers({grant.request.value(), grant.epoch, grant.end, grant.floor}, verdict);
  verdict.Require(grant.begin <= grant.end, "a lease that ends before it begins");
}
void Check(const Mark& mark, Verdict& verdict) { CheckNumbers({mark.clock}, verdict); }
void Check(const SnapshotDone& done, Verdict& verdict) {
  for (const CutFile& file : done.files) {
    verdict.Require(file.table.value() <= kTablesMax, "a file of a table that is none");
    CheckNumbers({file.rows, file.erased, file.bytes, file.table_rows}, verdict);
    CheckFileName(file.name, verdict);
  }
}
void Check(const Leave& leave, Verdict& verdict) {
  CheckHeader(leave.header, verdict);
  CheckNumbers({leave.steps}, verdict);
}
void Check(const MirrorUpdate& update, Verdict& verdict) { CheckRecord(update.record, verdict); }
void Check(const Promise& promise, Verdict& verdict) { CheckSupport(promise.support, verdict); }
void Check(const Promised& promised, Verdict& verdict) {
  verdict.Require(promised.support_left >= Duration::zero() && promised.support_left <= kLivenessMax,
                  "a support beyond any that is asked for");
  CheckMap(promised.map, verdict);
  Check(promised.standing, verdict);
  CheckSync(promised.sync, verdict);
  for (const InstallTable& table : promised.tables) CheckTable(table.table, verdict);
  if (promised.mirror) CheckRecord(*promised.mirror, verdict);
}

}  // namespace

Status CheckControlMessage(const Message& message) {
  Verdict verdict;
  std::visit([&](const auto& body) { Check(body, verdict); }, message);
  if (verdict.status().ok()) return OkStatus();
  return Error(StatusCode::kInvalidArgument,
               std::string("malformed ") + NameOf(message) + ": " + std::string(attune::Message(verdict.status())));
}

}  // namespace attune::ps

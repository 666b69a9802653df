#include "sidecar/metrics.h"

#include <algorithm>
#include <array>

#include "proto/metric_name.h"

namespace attune::sidecar {
namespace {

constexpr MetricKind kGauge = MetricKind::kGauge;
constexpr MetricKind kCounter = MetricKind::kCounter;

constexpr auto kTable = std::to_array<MetricInfo>({
    {"attune_worker_steps_total", kCounter, "Steps finished by the worker."},
    {"attune_worker_samples_total", kCounter, "Samples processed, in the program's unit."},
    {"attune_worker_samples_per_second", kGauge, "Rate over the last window."},
    {"attune_worker_step_seconds", kGauge,
     "Percentiles of the time of a step over the last window; 100 is the longest."},
    {"attune_worker_compute_seconds", kGauge, "Percentiles of a step's time without waiting for rows."},
    {"attune_worker_pull_seconds", kGauge,
     "Percentiles of the time from a pull that was not answered at once to its last row, over the last window."},
    {"attune_worker_push_seconds", kGauge,
     "Percentiles of the time from a push to other processes to its acknowledgment, over the last window."},
    {"attune_worker_pull_wait_seconds_total", kCounter, "Time spent waiting for pulled rows."},
    {"attune_worker_push_wait_seconds_total", kCounter, "Time spent waiting for room to push."},
    {"attune_worker_pace_wait_seconds_total", kCounter, "Time spent between steps, until the pace allowed the next."},
    {"attune_worker_pulled_keys_total", kCounter, "Keys pulled."},
    {"attune_worker_pushed_keys_total", kCounter, "Keys pushed."},
    {"attune_worker_row_accesses_total", kCounter,
     "Rows pulled, by where they were: owned by the worker, with a copy there (replicated), fetched ahead, waited for "
     "(fetched ahead, but late), remote."},
    {"attune_worker_late_intents_total", kCounter, "Rows announced for a step that had begun."},
    {"attune_worker_refused_intents_total", kCounter, "Rows announced for which there was no room."},
    {"attune_worker_row_copies", kGauge, "Copies of rows at the worker, at the end of the last window."},
    {"attune_worker_row_bytes_total", kCounter,
     "Values and state of rows that went to and fro for copies, by cause: changes sent home (flush), copies and "
     "changes of other workers that came (refresh)."},
    {"attune_worker_replica_age_seconds", kGauge, "The greatest age of a copy that was read over the last window."},
    {"attune_worker_pushes_in_flight", kGauge, "Pushes not acknowledged at the end of the last window."},
    {"attune_worker_staleness_versions", kGauge,
     "Mean of the versions that a row had got between the worker's pull and its push, over the last window."},
    {"attune_worker_staleness_max_versions", kGauge, "The most of them."},
    {"attune_worker_loss", kGauge, "Mean training loss over the last window, weighted by samples."},
    {"attune_worker_clock_steps", kGauge, "The worker's clock."},
    {"attune_worker_epoch", kGauge, "Epoch of the data lease in hand, from 0."},
    {"attune_server_rows", kGauge, "Rows held."},
    {"attune_server_row_bytes", kGauge, "Memory of rows: values, optimizer state and index."},
    {"attune_server_pulls_total", kCounter, "Pull requests answered."},
    {"attune_server_pushes_total", kCounter, "Push requests applied."},
    {"attune_server_pulled_keys_total", kCounter, "Keys read by pulls."},
    {"attune_server_pushed_keys_total", kCounter, "Keys changed by pushes."},
    {"attune_server_duplicate_pushes_total", kCounter,
     "Pushes that had been applied already and were only acknowledged."},
    {"attune_server_connections", kGauge, "Connections of workers."},
    {"attune_server_parked_pulls", kGauge, "Pulls that wait for a row or a push that is on its way to the server."},
    {"attune_server_waiting_bytes", kGauge, "Bytes for other processes that are not sent yet, or not confirmed."},
    {"attune_server_received_bytes_total", kCounter, "Bytes received from workers."},
    {"attune_server_sent_bytes_total", kCounter, "Bytes sent to workers."},
    {"attune_job_epoch", kGauge, "Current epoch of the job, from 0; reported by the coordinator's pod only."},
    {"attune_job_goal_epochs", kGauge, "Epochs to train; 0 when the goal is another one."},
    {"attune_job_items", kGauge, "Items done, over all epochs."},
    {"attune_job_goal_items", kGauge, "Items to do, over all epochs; 0 when not known."},
    {"attune_job_reprocessed_items_total", kCounter, "Items that had to be done again."},
    {"attune_job_servers", kGauge, "Servers that are members of the job."},
    {"attune_job_workers", kGauge, "Workers that are members of the job."},
    {"attune_job_floor_clock_steps", kGauge, "Clock of the slowest worker."},
    {"attune_job_metric", kGauge,
     "What the program reported last of the model; reported by the coordinator's pod only."},
    {"attune_job_metric_best", kGauge,
     "The best value so far: the lowest, unless the goal says that higher is better."},
    {"attune_job_metric_reports_total", kCounter, "Values reported so far."},
    {"attune_process_cpu_seconds_total", kCounter, "CPU time of the training process and its descendants."},
    {"attune_process_cpu_cores", kGauge, "Cores in use over the last window, the mean."},
    {"attune_process_cpu_limit_cores", kGauge, "CPU limit; absent when there is none."},
    {"attune_process_throttled_seconds_total", kCounter, "Time the processes were kept from running by the CPU limit."},
    {"attune_process_throttled_ratio", kGauge, "Part of the last window that the CPU limit held the processes up."},
    {"attune_process_memory_bytes", kGauge, "Resident memory of the training process and its descendants."},
    {"attune_process_memory_limit_bytes", kGauge, "Memory limit; absent when there is none."},
    {"attune_pod_received_bytes_total", kCounter,
     "Bytes that came by the pod's network, loopback left out; without a cluster, by the machine's."},
    {"attune_pod_sent_bytes_total", kCounter, "Bytes that left by it."},
    {"attune_sidecar_process_connected", kGauge, "1 while the training process is connected."},
    {"attune_sidecar_stream_connected", kGauge, "1 while the stream to the operator is open and accepted."},
    {"attune_sidecar_sent_reports_total", kCounter, "Reports sent to the operator."},
    {"attune_sidecar_dropped_reports_total", kCounter,
     "Reports that found the buffer full while the operator was away."},
    {"attune_sidecar_buffered_reports", kGauge, "Reports that wait for the operator."},
});

void AddQuantiles(std::vector<MetricValue>& values, std::string_view name, const v1::Quantiles& quantiles) {
  if (quantiles.count() == 0) return;
  values.push_back({name, quantiles.p50(), "percentile", "50"});
  values.push_back({name, quantiles.p90(), "percentile", "90"});
  values.push_back({name, quantiles.p99(), "percentile", "99"});
  values.push_back({name, quantiles.max(), "percentile", "100"});
}

template <class Integer>
double Number(Integer value) {
  return static_cast<double>(value);
}

void AddRows(std::vector<MetricValue>& values, const v1::WorkerWindow& worker, const v1::WorkerWindow& sums) {
  const v1::RowAccesses& rows = sums.rows();
  const auto add = [&](std::string_view place, uint64_t count) {
    values.push_back({"attune_worker_row_accesses_total", Number(count), "place", std::string(place)});
  };
  add("owned", rows.owned());
  add("replicated", rows.replicated());
  add("fetched", rows.fetched());
  add("waited", rows.waited());
  add("remote", rows.remote());
  values.push_back({"attune_worker_late_intents_total", Number(rows.late())});
  values.push_back({"attune_worker_refused_intents_total", Number(rows.refused())});
  values.push_back({"attune_worker_row_copies", Number(worker.copies().rows())});
  values.push_back({"attune_worker_row_bytes_total", Number(sums.copies().flushed_bytes()), "cause", "flush"});
  values.push_back({"attune_worker_row_bytes_total", Number(sums.copies().refreshed_bytes()), "cause", "refresh"});
  values.push_back({"attune_worker_replica_age_seconds", worker.copies().oldest_read_seconds()});
}

void AddWorker(std::vector<MetricValue>& values, const v1::WindowReport& last, const v1::WorkerWindow& sums) {
  const v1::WorkerWindow& worker = last.worker();
  values.push_back({"attune_worker_steps_total", Number(sums.steps())});
  values.push_back({"attune_worker_samples_total", Number(sums.samples())});
  if (last.duration_seconds() > 0) {
    values.push_back({"attune_worker_samples_per_second", Number(worker.samples()) / last.duration_seconds()});
  }
  AddQuantiles(values, "attune_worker_step_seconds", worker.step_seconds());
  AddQuantiles(values, "attune_worker_compute_seconds", worker.compute_seconds());
  AddQuantiles(values, "attune_worker_pull_seconds", worker.pull_seconds());
  AddQuantiles(values, "attune_worker_push_seconds", worker.push_seconds());
  values.push_back({"attune_worker_pull_wait_seconds_total", sums.pull_wait_seconds()});
  values.push_back({"attune_worker_push_wait_seconds_total", sums.push_wait_seconds()});
  values.push_back({"attune_worker_pace_wait_seconds_total", sums.pace_wait_seconds()});
  values.push_back({"attune_worker_pulled_keys_total", Number(sums.pulled_keys())});
  values.push_back({"attune_worker_pushed_keys_total", Number(sums.pushed_keys())});
  AddRows(values, worker, sums);
  values.push_back({"attune_worker_pushes_in_flight", Number(worker.pushes_in_flight())});
  if (worker.staleness_count() > 0) {
    values.push_back({"attune_worker_staleness_versions", worker.staleness_mean()});
    values.push_back({"attune_worker_staleness_max_versions", Number(worker.staleness_max())});
  }
  if (worker.loss_count() > 0) values.push_back({"attune_worker_loss", worker.loss_mean()});
  values.push_back({"attune_worker_clock_steps", Number(worker.clock())});
  values.push_back({"attune_worker_epoch", Number(worker.epoch())});
}

void AddServer(std::vector<MetricValue>& values, const v1::ServerWindow& server, const v1::ServerWindow& sums) {
  values.push_back({"attune_server_rows", Number(server.rows())});
  values.push_back({"attune_server_row_bytes", Number(server.row_bytes())});
  values.push_back({"attune_server_pulls_total", Number(sums.pulls())});
  values.push_back({"attune_server_pushes_total", Number(sums.pushes())});
  values.push_back({"attune_server_pulled_keys_total", Number(sums.pulled_keys())});
  values.push_back({"attune_server_pushed_keys_total", Number(sums.pushed_keys())});
  values.push_back({"attune_server_duplicate_pushes_total", Number(sums.duplicate_pushes())});
  values.push_back({"attune_server_connections", Number(server.connections())});
  values.push_back({"attune_server_parked_pulls", Number(server.parked_pulls())});
  values.push_back({"attune_server_waiting_bytes", Number(server.waiting_bytes())});
  values.push_back({"attune_server_received_bytes_total", Number(sums.bytes_received())});
  values.push_back({"attune_server_sent_bytes_total", Number(sums.bytes_sent())});
}

void AddJob(std::vector<MetricValue>& values, const v1::JobWindow& job) {
  values.push_back({"attune_job_epoch", Number(job.epoch())});
  values.push_back({"attune_job_goal_epochs", Number(job.epochs())});
  values.push_back({"attune_job_items", Number(job.items_done())});
  values.push_back({"attune_job_goal_items", Number(job.items_total())});
  values.push_back({"attune_job_reprocessed_items_total", Number(job.reprocessed_items())});
  values.push_back({"attune_job_servers", Number(job.servers())});
  values.push_back({"attune_job_workers", Number(job.workers())});
  values.push_back({"attune_job_floor_clock_steps", Number(job.floor_clock())});
  size_t metrics = 0;
  for (const v1::JobMetric& metric : job.metrics()) {
    if (!contract::IsMetricName(metric.name()) || ++metrics > contract::kJobMetricsMax) continue;
    const auto add = [&](std::string_view name, double value) {
      values.push_back({name, value, "metric", metric.name()});
    };
    if (metric.has_value()) add("attune_job_metric", metric.value());
    if (metric.has_best()) add("attune_job_metric_best", metric.best());
    add("attune_job_metric_reports_total", Number(metric.reports()));
  }
}

}  // namespace

std::span<const MetricInfo> MetricTable() { return kTable; }

void Metrics::Clear() { *this = Metrics(); }

void Metrics::Observe(const v1::WindowReport& window, const std::optional<v1::ProcessUsage>& usage) {
  // Parts may come in windows of their own; the newest of each stays.
  if (!last_) last_.emplace();
  last_->MergeFrom(window);
  if (window.has_worker()) {
    *last_->mutable_worker() = window.worker();
    ObserveWorker(window.worker());
  }
  if (window.has_server()) {
    *last_->mutable_server() = window.server();
    ObserveServer(window.server());
  }
  if (window.has_job()) *last_->mutable_job() = window.job();
  if (!usage) return;
  last_usage_ = usage;
  cpu_seconds_ += usage->cpu_seconds();
  throttled_seconds_ += usage->throttled_seconds();
  network_received_ += usage->network_received_bytes();
  network_sent_ += usage->network_sent_bytes();
}

void Metrics::ObserveWorker(const v1::WorkerWindow& window) {
  worker_sums_.set_steps(worker_sums_.steps() + window.steps());
  worker_sums_.set_samples(worker_sums_.samples() + window.samples());
  worker_sums_.set_pull_wait_seconds(worker_sums_.pull_wait_seconds() + window.pull_wait_seconds());
  worker_sums_.set_push_wait_seconds(worker_sums_.push_wait_seconds() + window.push_wait_seconds());
  worker_sums_.set_pace_wait_seconds(worker_sums_.pace_wait_seconds() + window.pace_wait_seconds());
  worker_sums_.set_pulled_keys(worker_sums_.pulled_keys() + window.pulled_keys());
  worker_sums_.set_pushed_keys(worker_sums_.pushed_keys() + window.pushed_keys());
  const v1::RowAccesses& rows = window.rows();
  v1::RowAccesses& sums = *worker_sums_.mutable_rows();
  sums.set_owned(sums.owned() + rows.owned());
  sums.set_replicated(sums.replicated() + rows.replicated());
  sums.set_fetched(sums.fetched() + rows.fetched());
  sums.set_waited(sums.waited() + rows.waited());
  sums.set_remote(sums.remote() + rows.remote());
  sums.set_late(sums.late() + rows.late());
  sums.set_refused(sums.refused() + rows.refused());
  v1::RowCopies& copies = *worker_sums_.mutable_copies();
  copies.set_flushed_bytes(copies.flushed_bytes() + window.copies().flushed_bytes());
  copies.set_refreshed_bytes(copies.refreshed_bytes() + window.copies().refreshed_bytes());
}

void Metrics::ObserveServer(const v1::ServerWindow& window) {
  server_sums_.set_pulls(server_sums_.pulls() + window.pulls());
  server_sums_.set_pushes(server_sums_.pushes() + window.pushes());
  server_sums_.set_pulled_keys(server_sums_.pulled_keys() + window.pulled_keys());
  server_sums_.set_pushed_keys(server_sums_.pushed_keys() + window.pushed_keys());
  server_sums_.set_duplicate_pushes(server_sums_.duplicate_pushes() + window.duplicate_pushes());
  server_sums_.set_bytes_received(server_sums_.bytes_received() + window.bytes_received());
  server_sums_.set_bytes_sent(server_sums_.bytes_sent() + window.bytes_sent());
}

std::vector<MetricValue> Metrics::Values(const RelayCounters& relay) const {
  std::vector<MetricValue> values;
  if (last_ && last_->has_worker()) AddWorker(values, *last_, worker_sums_);
  if (last_ && last_->has_server()) AddServer(values, last_->server(), server_sums_);
  if (last_ && last_->has_job()) AddJob(values, last_->job());
  if (last_usage_) {
    const double window = last_usage_->window_seconds();
    values.push_back({"attune_process_cpu_seconds_total", cpu_seconds_});
    if (window > 0) values.push_back({"attune_process_cpu_cores", last_usage_->cpu_seconds() / window});
    if (last_usage_->cpu_limit_cores() > 0) {
      values.push_back({"attune_process_cpu_limit_cores", last_usage_->cpu_limit_cores()});
    }
    values.push_back({"attune_process_throttled_seconds_total", throttled_seconds_});
    if (window > 0) {
      // A thread that waits beside another one is counted once more: the sum may pass the window.
      values.push_back({"attune_process_throttled_ratio", std::min(1.0, last_usage_->throttled_seconds() / window)});
    }
    values.push_back({"attune_process_memory_bytes", Number(last_usage_->memory_bytes())});
    if (last_usage_->memory_limit_bytes() > 0) {
      values.push_back({"attune_process_memory_limit_bytes", Number(last_usage_->memory_limit_bytes())});
    }
    values.push_back({"attune_pod_received_bytes_total", Number(network_received_)});
    values.push_back({"attune_pod_sent_bytes_total", Number(network_sent_)});
  }
  values.push_back({"attune_sidecar_process_connected", relay.process_connected ? 1.0 : 0.0});
  values.push_back({"attune_sidecar_stream_connected", relay.stream_connected ? 1.0 : 0.0});
  values.push_back({"attune_sidecar_sent_reports_total", Number(relay.sent_reports)});
  values.push_back({"attune_sidecar_dropped_reports_total", Number(relay.dropped_reports)});
  values.push_back({"attune_sidecar_buffered_reports", Number(relay.buffered_reports)});
  return values;
}

}  // namespace attune::sidecar

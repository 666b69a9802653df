#include "ps/runtime/process/reporter.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "attune/v1/telemetry.pb.h"
#include "base/log.h"
#include "base/os/file_descriptor.h"
#include "proto/contract.h"
#include "proto/sync_mode.h"
#include "ps/runtime/process/final_report.h"
#include "ps/runtime/process/unix_socket.h"

namespace attune::ps {
namespace {

constexpr Duration kReconnect = std::chrono::milliseconds(500);
constexpr Duration kAfterRefusal = std::chrono::seconds(30);  // its sidecar may be replaced by one that accepts

void Fill(const QuantileSummary& from, v1::Quantiles* to) {
  to->set_p50(from.p50);
  to->set_p90(from.p90);
  to->set_p99(from.p99);
  to->set_max(from.max);
  to->set_count(from.count);
  to->set_mean(from.mean);
}

void Fill(const WorkerTelemetry& from, v1::WorkerWindow* to) {
  const WorkerWindowSummary& window = from.window;
  to->set_clock(from.clock);
  to->set_steps(window.steps);
  to->set_samples(window.samples);
  Fill(window.step_seconds, to->mutable_step_seconds());
  Fill(window.compute_seconds, to->mutable_compute_seconds());
  to->set_pull_wait_seconds(window.pull_wait_seconds);
  to->set_push_wait_seconds(window.push_wait_seconds);
  to->set_pace_wait_seconds(window.pace_wait_seconds);
  to->set_pulled_keys(window.pulled_keys);
  to->set_pushed_keys(window.pushed_keys);
  to->set_loss_mean(window.loss_mean);
  to->set_loss_variance(window.loss_variance);
  to->set_loss_count(window.loss_count);
  to->set_pushes_in_flight(from.pushes_in_flight);
  if (const Staleness& staleness = from.staleness; staleness.pushes > 0) {
    to->set_staleness_mean(static_cast<double>(staleness.sum) / static_cast<double>(staleness.pushes));
    to->set_staleness_max(staleness.max);
    to->set_staleness_count(staleness.pushes);
  }
  to->set_epoch(from.epoch);
  to->set_sample_unit(from.sample_unit);
  to->set_threads(from.threads);
  to->set_threads_max(from.threads_max);
  to->set_coordinator_silent_seconds(std::max(0.0, Seconds(from.coordinator_silent)));
}

void Fill(const ServerTelemetry& from, v1::ServerWindow* to) {
  to->set_rows(from.rows);
  to->set_row_bytes(from.row_bytes);
  to->set_pulls(from.pulls);
  to->set_pushes(from.pushes);
  to->set_pulled_keys(from.pulled_keys);
  to->set_pushed_keys(from.pushed_keys);
  to->set_duplicate_pushes(from.duplicate_pushes);
  to->set_connections(from.connections);
  to->set_bytes_received(from.bytes_received);
  to->set_bytes_sent(from.bytes_sent);
  to->set_map_version(from.map_version);
  to->set_goal_reached(from.goal_reached);
  to->set_coordinator_silent_seconds(std::max(0.0, Seconds(from.coordinator_silent)));
}

void Fill(const LeaderTelemetry& from, v1::LeaderLease* to) {
  to->set_term(from.term);
  to->set_held(from.held);
  to->set_map_version(from.map_version);
  to->mutable_wanted_voters()->Assign(from.wanted.begin(), from.wanted.end());
}

v1::ServerState::State ToProto(JobTelemetry::Server::State state) {
  switch (state) {
    case JobTelemetry::Server::State::kServing:
      return v1::ServerState::SERVING;
    case JobTelemetry::Server::State::kJoining:
      return v1::ServerState::JOINING;
    case JobTelemetry::Server::State::kDraining:
      return v1::ServerState::DRAINING;
    case JobTelemetry::Server::State::kDrained:
      return v1::ServerState::DRAINED;
  }
  return v1::ServerState::SERVING;
}

void Fill(const MetricPlace& from, v1::JobMetric::Place* to) {
  to->set_step(from.step);
  to->set_epoch(from.epoch);
  to->set_items(from.items);
}

void Fill(const MetricState& from, v1::JobMetric* to) {
  to->set_name(from.name);
  to->set_reports(from.reports);
  if (from.value) to->set_value(*from.value);
  Fill(from.at, to->mutable_at());
  if (from.best) to->set_best(*from.best);
  Fill(from.best_at, to->mutable_best_at());
  to->set_maximize(from.maximize);
  to->set_left_out(from.left_out);
}

void Fill(const JobTelemetry& from, v1::JobWindow* to) {
  to->set_data_set(from.data_set);
  to->set_epoch(from.epoch);
  to->set_epochs(from.epochs);
  to->set_items(from.items);
  to->set_items_done(from.items_done);
  to->set_items_total(from.items_total);
  to->set_reprocessed_items(from.reprocessed_items);
  to->set_servers(from.servers);
  to->set_workers(from.workers);
  to->set_floor_clock(from.floor_clock);
  to->set_steps(from.steps);
  to->set_trained_seconds(from.trained_seconds);
  to->set_goal_reached(from.goal_reached);
  if (from.closing) {
    to->mutable_closing()->set_done(from.closing->done);
    to->mutable_closing()->set_declared(from.closing->declared);
    to->mutable_closing()->set_data_set(from.closing->data_set);
    to->mutable_closing()->set_items_left(from.closing->items_left);
  }
  to->set_goal_reason(from.goal_reason);
  for (const MetricState& metric : from.metrics) Fill(metric, to->add_metrics());
  if (from.best_checkpoint) {
    to->mutable_best_checkpoint()->set_directory(from.best_checkpoint->directory);
    to->mutable_best_checkpoint()->set_number(from.best_checkpoint->checkpoint);
    to->mutable_best_checkpoint()->set_metric(from.best_checkpoint->metric);
    to->mutable_best_checkpoint()->set_value(from.best_checkpoint->value);
    Fill(from.best_checkpoint->at, to->mutable_best_checkpoint()->mutable_at());
  }
  to->mutable_abilities()->set_elastic_servers(from.abilities.elastic_servers);
  to->mutable_abilities()->set_server_recovery(from.abilities.server_recovery);
  to->mutable_abilities()->set_coordinator_failover(from.abilities.coordinator_failover);
  to->mutable_abilities()->set_synchronization_modes(from.abilities.synchronization_modes);
  to->mutable_abilities()->set_checkpoints(from.abilities.checkpoints);
  if (from.synchronization) *to->mutable_synchronization() = ToProto(*from.synchronization);
  if (from.slowest_worker) to->set_slowest_worker(*from.slowest_worker);
  for (const JobTelemetry::Server& server : from.server_states) {
    v1::ServerState* state = to->add_server_states();
    state->set_index(server.index);
    state->set_state(ToProto(server.state));
  }
  to->mutable_lost_pods()->Add(from.lost_pods.begin(), from.lost_pods.end());
  if (from.relocation) {
    to->mutable_relocation()->set_bytes_left(from.relocation->bytes_left);
    to->mutable_relocation()->set_rows_per_second(from.relocation->rows_per_second);
  }
  if (from.checkpoint) {
    to->mutable_checkpoint()->set_directory(from.checkpoint->directory);
    to->mutable_checkpoint()->set_complete_unix_seconds(Seconds(from.checkpoint->complete_at.time_since_epoch()));
    to->mutable_checkpoint()->set_bytes(from.checkpoint->bytes);
    to->mutable_checkpoint()->set_rows(from.checkpoint->rows);
    to->mutable_checkpoint()->set_number(from.checkpoint->number);
    to->mutable_checkpoint()->set_step(from.checkpoint->step);
  }
  if (from.recovery) {
    to->mutable_recovery()->set_count(from.recovery->count);
    to->mutable_recovery()->set_restored_rows(from.recovery->restored_rows);
    to->mutable_recovery()->set_rows_begun_anew(from.recovery->rows_begun_anew);
    to->mutable_recovery()->set_restored_shards(from.recovery->restored_shards);
    to->mutable_recovery()->set_checkpoint(from.recovery->checkpoint);
    to->mutable_recovery()->set_step(from.recovery->step);
    to->mutable_recovery()->set_steps_lost(from.recovery->steps_lost);
    to->mutable_recovery()->set_model_lost(from.recovery->model_lost);
  }
  to->set_term(from.term);
}

class SocketReporter final : public Reporter {
 public:
  SocketReporter(const ReporterOptions& options, const TimeSource& time, Callbacks callbacks)
      : options_(options),
        time_(time),
        callbacks_(std::move(callbacks)),
        wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        answers_(std::make_shared<AnswerBox>([this] { Wake(); })) {
    thread_ = std::thread([this] { Run(); });
  }

  ~SocketReporter() override {
    answers_->Close();
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    Wake();
    thread_.join();
  }

  Status Finish(const FinalResult& result, Duration timeout) override {
    v1::ProcessMessage message;
    *message.mutable_final() = MakeFinalReport(result);
    if (const std::string& left_out = message.final().left_out(); !left_out.empty()) {
      log::Warn("parts of the result cannot be reported; the rest is", {{"left_out", left_out}});
    }
    std::unique_lock lock(mutex_);
    final_ = message.SerializeAsString();
    final_delivered_ = false;
    Wake();
    if (delivered_.wait_for(lock, timeout, [this] { return final_delivered_; })) return OkStatus();
    final_.clear();
    return Error(StatusCode::kUnavailable, "the job's result did not reach the sidecar at '" + options_.socket_path +
                                               "' in time; the operator will not show it");
  }

  void ReportSoon() override {
    if (!soon_.exchange(true)) Wake();
  }

 private:
  void Wake() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  }

  void Run() {
    MonotonicTime last_window = time_.Now(), next_window = last_window + options_.window;
    MonotonicTime next_connect{};
    for (;;) {
      const MonotonicTime now = time_.Now();
      if (!socket_.connected() && now >= next_connect) {
        const bool refused = std::exchange(refused_, false);
        next_connect = now + (refused ? kAfterRefusal : kReconnect);
        if (!refused) Greet();
      }
      if (soon_.exchange(false)) next_window = std::min(next_window, std::max(now, last_window + kSoon));
      const bool stopping = Stopping();
      const bool final_waits = FinalWaits();
      if (now >= next_window || stopping || final_waits) {
        SendWindow(now);
        last_window = now;
        next_window = now + options_.window;
      }
      SendAnswers();
      SendFinal();
      if (stopping) return;
      WaitForEvents(socket_.connected() ? next_window : std::min(next_window, next_connect));
    }
  }

  bool Stopping() {
    std::lock_guard lock(mutex_);
    return stopping_;
  }

  bool FinalWaits() {
    std::lock_guard lock(mutex_);
    return !final_.empty() && !final_queued_ && socket_.connected();
  }

  void Greet() {
    if (!socket_.Connect(options_.socket_path).ok()) return;
    v1::ProcessMessage message;
    v1::ProcessHello* hello = message.mutable_hello();
    hello->set_protocol_version(contract::kProtocolVersion);
    hello->set_job_uid(options_.job_uid);
    hello->set_role(options_.role);
    hello->set_index(options_.index);
    hello->set_process_id(::getpid());
    (void)socket_.Send(message.SerializeAsString());
  }

  void SendWindow(MonotonicTime now) {
    const TelemetryWindow window = callbacks_.take_window(now);
    v1::ProcessMessage message;
    v1::WindowReport* report = message.mutable_window();
    report->set_sequence(++sequence_);
    report->set_duration_seconds(Seconds(window.duration));
    report->set_end_unix_seconds(Seconds(time_.WallNow().time_since_epoch()));
    if (window.worker) Fill(*window.worker, report->mutable_worker());
    if (window.server) Fill(*window.server, report->mutable_server());
    if (window.job) Fill(*window.job, report->mutable_job());
    if (window.leader_lease) Fill(*window.leader_lease, report->mutable_leader_lease());
    if (socket_.connected()) (void)socket_.Send(message.SerializeAsString());
  }

  // The final report leaves `final_` only when the kernel holds all of it, so that a lost connection means another try.
  void SendFinal() {
    std::lock_guard lock(mutex_);
    if (final_.empty() || !socket_.connected()) return;
    if (!final_queued_) final_queued_ = socket_.Send(final_).ok();
    if (!socket_.connected()) {
      final_queued_ = false;
    } else if (final_queued_ && !socket_.has_unsent()) {
      final_.clear();
      final_queued_ = false;
      final_delivered_ = true;
      delivered_.notify_all();
    }
  }

  void WaitForEvents(MonotonicTime until) {
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(until - time_.Now());
    const auto events = static_cast<short>(POLLIN | (socket_.has_unsent() ? POLLOUT : 0));
    pollfd polled[2] = {{wake_.get(), POLLIN, 0}, {socket_.fd(), events, 0}};
    const int count = socket_.connected() ? 2 : 1;
    ::poll(polled, static_cast<nfds_t>(count), static_cast<int>(std::clamp<int64_t>(wait.count(), 0, 60'000)));
    if ((polled[0].revents & POLLIN) != 0) {
      uint64_t ignored;
      [[maybe_unused]] const ssize_t n = ::read(wake_.get(), &ignored, sizeof ignored);
    }
    if (count == 2 && (polled[1].revents & POLLOUT) != 0) (void)socket_.WriteSome();
    if (socket_.connected() && count == 2 && (polled[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      (void)socket_.ReadSome([this](std::string_view message) { OnDirective(message); });
    }
    if (!socket_.connected()) {
      std::lock_guard lock(mutex_);
      final_queued_ = false;
    }
  }

  void OnDirective(std::string_view bytes) {
    v1::ProcessDirective message;
    if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      log::Warn("sidecar sent a message that cannot be read; telemetry continues");
      return;
    }
    if (message.has_refused()) {
      refused_ = true;
      log::Warn("sidecar refused this process; training continues without telemetry, which is tried again in 30 s",
                {{"reason", message.refused().reason()}});
    } else if (message.has_directive()) {
      Carry(message.directive());
    }
  }

  void Carry(const v1::Directive& directive) {
    const uint64_t id = directive.id();
    if (directive.has_drain()) return answers_->Put(id, callbacks_.drain(directive.drain().reason()), "");
    if (directive.has_set_threads()) {
      const Status reported = callbacks_.threads
                                  ? callbacks_.threads(directive.set_threads().threads())
                                  : Error(StatusCode::kFailedPrecondition, "this process is not a worker");
      return answers_->Put(id, reported, "from the next step on");
    }
    StatusOr<Command> command = ToCommand(directive);
    if (command.ok() && !callbacks_.command) {
      command = Error(StatusCode::kFailedPrecondition, "this process does not run the job's coordinator");
    }
    if (!command.ok()) return answers_->Put(id, command.status(), "");
    // The coordinator may answer when this reporter is gone.
    callbacks_.command(*command, [answers = answers_, id](const Status& status, const std::string& text) {
      answers->Put(id, status, text);
    });
  }

  // An answer that does not fit the socket is lost; the operator asks again.
  void SendAnswers() {
    for (AnswerBox::Answer& answer : answers_->TakeAll()) {
      v1::ProcessMessage message;
      v1::DirectiveResult* result = message.mutable_directive_result();
      result->set_id(answer.directive);
      result->set_accepted(answer.accepted);
      result->set_message(std::move(answer.text));
      if (socket_.connected()) (void)socket_.Send(message.SerializeAsString());
    }
  }

  const ReporterOptions options_;
  const TimeSource& time_;
  const Callbacks callbacks_;
  const FileDescriptor wake_;
  const std::shared_ptr<AnswerBox> answers_;
  std::atomic<bool> soon_ = false;

  // Of the thread.
  UnixSocket socket_;
  uint64_t sequence_ = 0;
  bool refused_ = false;

  std::mutex mutex_;  // guards what follows
  std::condition_variable delivered_;
  bool stopping_ = false;
  std::string final_;  // serialized; empty: none waits
  bool final_queued_ = false;
  bool final_delivered_ = false;

  std::thread thread_;
};

}  // namespace

std::unique_ptr<Reporter> Reporter::Start(const ReporterOptions& options, const TimeSource& time, Callbacks callbacks) {
  if (options.socket_path.empty()) return nullptr;
  return std::make_unique<SocketReporter>(options, time, std::move(callbacks));
}

}  // namespace attune::ps

#include "attune/ps/session.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/fit_text.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/os/boot_time.h"
#include "base/os/signal_watcher.h"
#include "proto/contract.h"
#include "proto/metric_name.h"
#include "ps/runtime/process/environment.h"
#include "ps/runtime/process/leave_mark.h"
#include "ps/runtime/process/reporter.h"
#include "ps/runtime/worker/data_leases.h"
#include "ps/runtime/worker/table.h"
#include "ps/runtime/worker/worker_runtime.h"
#include "ps/runtime/worker/worker_window.h"
#include "ps/store/table_store.h"

namespace attune::ps {
namespace {

constexpr Duration kFinishTimeout = std::chrono::seconds(5);
constexpr Duration kSaveTimeout = std::chrono::minutes(10);  // large tables on slow disks

const TimeSource& SystemClock() {
  static const BootTime time;
  return time;
}

class WorkerSession final : public Session {
 public:
  WorkerSession(const SessionOptions& options, std::shared_ptr<WorkerRuntime> runtime)
      : options_(options), runtime_(std::move(runtime)) {}

  ~WorkerSession() override {
    if (joined_) {
      for (const auto& [name, due] : due_) {
        const MutexLock lock(due->mutex);
        ReturnAhead(*due, *runtime_);
      }
      const LeaveMark mark = LeaveMark::OfProcess();
      mark.Write();
      const auto left = runtime_->Submit(LeaveCall{.drained = runtime_->drain().requested()}, options_.call_timeout);
      left->Wait();
      if (!left->status.ok()) {
        // Lost to the coordinator, which waits for another. With any other answer it may have left.
        if (left->status.code() == StatusCode::kAborted) mark.Erase();
        log::Warn("did not leave the job cleanly", {{"reason", left->status}});
      }
    }
    termination_.reset();
    reporter_.reset();  // sends the last window
    runtime_->Stop();
  }

  Status Join() {
    const auto joined = runtime_->Submit(JoinCall{}, options_.connect_timeout);
    joined->Wait();
    if (!joined->status.ok()) {
      if (joined->status.code() == StatusCode::kOutOfRange) NoteCameTooLate();
      const Status why = runtime_->coordinator_error();
      std::string text = "job '" + options_.job + "': " + std::string(attune::Message(joined->status));
      if (!why.ok()) text += " (" + std::string(attune::Message(why)) + ")";
      return Error(joined->status.code(), text);
    }
    joined_ = true;
    StartReporter();
    if (options_.drain_on_sigterm) {
      termination_ =
          SignalWatcher::Install({SIGTERM}, [runtime = runtime_.get()](int) { runtime->RequestDrain("SIGTERM"); });
    }
    return OkStatus();
  }

  StatusOr<Table> OpenTable(std::string_view name, const TableOptions& options, const ReadOptions& reads) override {
    TableSpec spec{.name = std::string(name), .options = options};
    RETURN_IF_ERROR(Validate(spec));
    const auto opened = runtime_->Submit(OpenTableCall{.spec = std::move(spec)}, options_.call_timeout);
    opened->Wait();
    RETURN_IF_ERROR(opened->status);
    auto state = std::make_shared<Table::State>();
    state->runtime = runtime_;
    state->id = std::get<TableResult>(opened->result).table;
    state->name = name;
    state->dim = options.dim;
    state->call_timeout = options_.call_timeout;
    state->replica_age_max = reads.replica_age_max;
    state->pushes_in_flight_max = options_.pushes_in_flight_max;
    return Table(std::move(state));
  }

  DataLeaseRange DataLeases(std::string_view data_set, const DataSetOptions& options) override {
    std::shared_ptr<DueLeases> due;
    if (options.when_due) {
      const MutexLock lock(mutex_);
      std::shared_ptr<DueLeases>& kept = due_[std::string(data_set)];
      if (kept == nullptr) kept = std::make_shared<DueLeases>();
      due = kept;
    }
    return DataLeaseRange(std::make_shared<DataLeaseRange::State>(runtime_, std::string(data_set), options,
                                                                  options_.call_timeout, std::move(due)));
  }

  Status Step(const StepReport& report) override {
    runtime_->meter()->EndStep(report.samples, report.loss);
    const auto stepped =
        runtime_->Submit(StepCall{.loss = report.loss, .samples = report.samples}, options_.step_timeout);
    stepped->Wait();
    runtime_->meter()->BeginStep();
    RETURN_IF_ERROR(stepped->status);
    return runtime_->status();
  }

  uint64_t clock() const override { return runtime_->clock(); }
  uint64_t steps_ahead() const override { return runtime_->steps_ahead(); }
  void SetSampleUnit(std::string_view unit) override { runtime_->meter()->SetSampleUnit(unit); }

  void OfferThreads(const ThreadOffer& offer) override { runtime_->meter()->OfferThreads(offer.initial, offer.most); }
  uint32_t ThreadsForStep() override { return runtime_->meter()->TakeThreads(); }

  Status ReportMetric(std::string_view name, double value) override {
    RETURN_IF_ERROR(runtime_->status());
    const std::string text(name);
    if (!contract::IsMetricName(name)) {
      return Error(StatusCode::kInvalidArgument, "metric \"" + FitText(text, contract::kMetricNameBytesMax) +
                                                     "\": a name has " + contract::kMetricNameWords);
    }
    const bool finite = std::isfinite(value);
    {
      const MutexLock lock(mutex_);
      if (!metric_names_.contains(text) && metric_names_.size() >= contract::kJobMetricsMax) {
        return Error(StatusCode::kResourceExhausted, "metric \"" + text + "\": this program has reported " +
                                                         std::to_string(metric_names_.size()) +
                                                         " others, and a job keeps no more; report fewer names");
      }
      metric_names_.insert(text);
      if (!finite && said_not_finite_.insert(text).second) {
        log::Warn("a metric without a finite value is left out", {{"metric", text}, {"value", std::to_string(value)}});
      }
    }
    runtime_->Submit(ReportMetricCall{.name = text, .value = finite ? std::optional(value) : std::nullopt});
    return OkStatus();
  }

  Status Flush() override {
    const auto flushed = runtime_->Submit(FlushCall{}, options_.call_timeout);
    flushed->Wait();
    return flushed->status;
  }

  Status SaveTables() override {
    if (options_.model_directory.empty()) {
      return Error(StatusCode::kFailedPrecondition,
                   std::string("saving tables: no model directory is set; set ") + contract::kEnvModelDirectory);
    }
    RETURN_IF_ERROR(Flush());
    const std::string directory = (std::filesystem::path(options_.model_directory) / "tables").string();
    const auto saved =
        runtime_->Submit(SaveCall{.directory = directory}, std::max(kSaveTimeout, options_.call_timeout));
    saved->Wait();
    return saved->status;
  }

  Status Finish(const FinalResult& result) override {
    RETURN_IF_ERROR(Flush());
    log::Info("finished", {{"summary", result.summary}, {"model", result.model_path}});
    if (reporter_ == nullptr) return OkStatus();
    // A job's work is done whether or not anybody heard of it.
    const Status delivered = reporter_->Finish(result, std::min(kFinishTimeout, options_.call_timeout));
    if (!delivered.ok()) log::Warn("the result was not delivered", {{"reason", delivered}});
    return OkStatus();
  }

  const std::string& model_directory() const override { return options_.model_directory; }
  bool draining() const override { return runtime_->drain().Notice(); }
  Status status() const override { return runtime_->status(); }

 private:
  void StartReporter() {
    reporter_ = Reporter::Start(
        {.socket_path = options_.sidecar_socket,
         .job_uid = options_.job_uid,
         .role = contract::kRoleWorker,
         .index = options_.index},
        SystemClock(),
        {.take_window =
             [runtime = runtime_](MonotonicTime now) {
               v1::WindowReport report = runtime->meter()->Take(now);
               v1::WorkerWindow& worker = *report.mutable_worker();
               worker.set_clock(runtime->clock());
               worker.set_pushes_in_flight(static_cast<uint32_t>(runtime->open_pushes()));
               const RowCounts counts = runtime->TakeCounts();
               Fill(counts.staleness, &worker);
               Fill(counts.accesses, &worker);
               Fill(counts.copies, &worker);
               worker.set_coordinator_silent_seconds(std::max(0.0, Seconds(runtime->CoordinatorSilence(now))));
               return report;
             },
         .drain =
             [runtime = runtime_](const std::string& reason) {
               runtime->RequestDrain(reason);
               return OkStatus();
             },
         .threads = [runtime = runtime_](uint32_t threads) { return runtime->meter()->WantThreads(threads); },
         .command = {},
         .trace = {.begin = [runtime = runtime_](const std::string& table,
                                                 uint64_t key) { return runtime->BeginTrace(table, key); },
                   .end = [runtime = runtime_] { return runtime->EndTrace(); }}});
  }

  const SessionOptions options_;
  const std::shared_ptr<WorkerRuntime> runtime_;
  bool joined_ = false;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<DueLeases>> due_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> metric_names_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> said_not_finite_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Reporter> reporter_;
  std::unique_ptr<SignalWatcher> termination_;
};

Status CreateModelDirectory(const SessionOptions& options) {
  if (options.model_directory.empty()) return OkStatus();
  std::error_code error;
  std::filesystem::create_directories(options.model_directory, error);
  if (!error) return OkStatus();
  return Error(StatusCode::kFailedPrecondition, "cannot create the model directory '" + options.model_directory +
                                                    "': " + error.message() + "; check the volume mounted there");
}

}  // namespace

StatusOr<SessionOptions> SessionOptions::FromEnvironment() {
  Environment environment = Environment::OfProcess();
  SessionOptions options;
  options.job = environment.Required(contract::kEnvJob);
  options.job_uid = environment.Required(contract::kEnvJobUid);
  options.index = environment.RequiredNumber(contract::kEnvIndex);
  options.coordinator = environment.Required(contract::kEnvCoordinator);
  options.pod_uid = environment.Optional(contract::kEnvPodUid);
  options.bind_address = environment.Optional(contract::kEnvPodIp, options.bind_address);
  options.sidecar_socket = environment.Optional(contract::kEnvSidecarSocket);
  options.model_directory = environment.Optional(contract::kEnvModelDirectory);
  options.token = environment.JobToken();
  options.tls_directory = environment.Optional(contract::kEnvTlsDirectory);
  options.encrypted =
      environment.OneOf(contract::kEnvTransport, {contract::kTransportAuthenticated, contract::kTransportEncrypted}) ==
      contract::kTransportEncrypted;
  options.shared_memory = environment.Optional(contract::kEnvSharedMemory) != "off";
  RETURN_IF_ERROR(environment.Problems("this worker"));
  return options;
}

StatusOr<std::unique_ptr<Session>> Session::Connect(const SessionOptions& options) {
  RETURN_IF_ERROR(CreateModelDirectory(options));
  ASSIGN_OR_RETURN(std::shared_ptr<WorkerRuntime> runtime, WorkerRuntime::Start(options, SystemClock()));
  auto session = std::make_unique<WorkerSession>(options, std::move(runtime));
  RETURN_IF_ERROR(session->Join());
  return session;
}

}  // namespace attune::ps

// TrainingJob (attune.dev/v1alpha1) as C++ values. crds/ holds the same as a schema; tests keep both equal.
// Parsing, defaults and validation: manifest.h (YAML with places) and training_job.cpp (JSON from the API).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/row_management.h"
#include "base/status.h"
#include "base/sync_mode.h"
#include "base/time_source.h"
#include "operator/api/placement.h"
#include "operator/api/role_resources.h"
#include "operator/api/run_policy.h"
#include "operator/api/status/data_plane_status.h"
#include "operator/api/status/machine_loss.h"
#include "operator/api/status/move_status.h"
#include "operator/api/status/row_status.h"
#include "operator/api/status/row_trace_status.h"
#include "operator/api/status/suspension_status.h"
#include "operator/api/status/tuning_status.h"
#include "operator/api/tuning_policy.h"
#include "operator/kube/object.h"

namespace attune::api {

using kube::Json;

// Which values of a metric are better.
enum class Direction { kMinimize, kMaximize };

// A metric that the worker program reports (Session::ReportMetric) and the value that it is to reach.
struct TargetMetric {
  std::string name;  // "": none
  std::optional<double> value;
  Direction direction = Direction::kMinimize;
};

// Training is over when a metric has not improved for so many reports.
struct EarlyStopping {
  std::string metric;  // "": none
  std::optional<int64_t> patience;
  double min_delta = 0;  // a gain of less is none
  Direction direction = Direction::kMinimize;
};

// How often an evaluation is due, by whichever comes first; both absent: never.
struct EvaluateEvery {
  std::optional<uint64_t> epochs;
  std::optional<uint64_t> steps;  // of all workers together
};

// When training is over: whichever comes first. At least one is set; the default is one epoch.
struct Goal {
  std::optional<uint64_t> epochs;
  std::optional<uint64_t> steps;      // of all workers together
  std::optional<double> target_loss;  // smoothed training loss at or below
  std::optional<int64_t> max_duration_seconds;
  TargetMetric target_metric;
  EarlyStopping early_stopping;
  EvaluateEvery evaluate_every;  // no goal by itself
};

struct Data {
  uint64_t items = 0;        // per epoch; 0: the worker program says
  uint64_t lease_items = 0;  // handed out at a time; 0: chosen
};

// How workers keep pace with each other, as a manifest writes it. May change while the job runs; it does so at a common
// step.
struct Synchronization {
  enum class Mode { kAsync, kBsp, kSsp };
  Mode mode = Mode::kAsync;
  std::optional<int64_t> staleness;  // with SSP, and only then: steps a worker may be ahead of the slowest

  friend bool operator==(const Synchronization&, const Synchronization&) = default;
};
// Everywhere else it is a SyncMode (base/sync_mode.h).
SyncMode FromManifest(const Synchronization& synchronization);
Synchronization ToManifest(SyncMode mode);
// {"mode": "SSP", "staleness": 4}; staleness null otherwise, so that a merge patch removes it.
Json SynchronizationFields(SyncMode mode);

// What all pods of one kind have in common.
struct Role {
  int32_t replicas = 1;
  int32_t min = 1;  // bounds of replicas, for scaling and tuning
  int32_t max = 64;
  Json pod_template;  // metadata.labels/annotations and spec of the pods; container named as the role. Null: built in
                      // (servers only)
  RoleResources resources = {};
};

struct Model {
  std::string claim;  // PersistentVolumeClaim shared by all pods for the model; "": the platform's default
};

// Which one of the checkpoints in a directory a job begins with.
enum class ResumeAt { kNewest, kBest };

// One more reason for a checkpoint, which is kept: the metric is better than ever before.
struct BestCheckpointRule {
  std::string metric;  // "": none
  Direction direction = Direction::kMinimize;
};

// What a job can continue from after a loss, or be resumed from later.
struct Checkpoint {
  std::string directory;  // absolute, as the servers see it; "": "checkpoints" beside the model
  // 0: only when asked for; absent: as the operator chooses (operator/controller/plan/requests/checkpoint_interval.h).
  std::optional<int64_t> interval_seconds;
  int32_t keep = 3;         // newest ones kept, all older ones are removed
  std::string resume_from;  // directory of a checkpoint to begin with; "": from nothing
  ResumeAt resume_at = ResumeAt::kNewest;
  BestCheckpointRule best;
};

// How rows travel. Control messages are encrypted in either case.
enum class Transport {
  kAuthenticated,  // in the clear, between processes that have proved the job's token
  kEncrypted,      // in TLS, by certificates that every process derives from the token
};
const char* ToString(Transport transport);

// How the processes of a job trust each other. Secrets of the job's namespace, read by the pods alone.
struct Security {
  std::string tls_secret;    // with tls.crt, tls.key and ca.crt, which encrypt rows in place of those of the token
  std::string token_secret;  // with the key "token"; "": the operator makes one (status.secret)
  Transport transport = Transport::kAuthenticated;
};

struct TrainingJobSpec {
  Goal goal;
  Data data;
  Synchronization synchronization;
  RowManagement row_management = RowManagement::kAdaptive;
  Role servers;
  int32_t backups = 0;  // of each row, on other servers than its own: 0 or 1
  Role workers;
  Placement placement;
  Model model;
  Checkpoint checkpoint;
  RunPolicy run_policy;
  StartPolicy start_policy;
  Security security;
  Tuning tuning;
  std::optional<int32_t> worker_threads;  // that each worker computes with; absent: as its program begins
  std::string managed_by;                 // another controller's name: this operator leaves the job alone
  bool suspend = false;                   // gives its machines back, and continues from a checkpoint when it is unset
};

// metav1.Condition.
struct Condition {
  std::string type;
  std::string status;  // "True" | "False" | "Unknown"
  std::string reason;  // PascalCase
  std::string message;
  std::string last_transition_time;  // RFC 3339
  int64_t observed_generation = 0;
};

struct RoleStatus {
  int32_t replicas = 0;  // pods that exist and are not on their way out
  int32_t ready = 0;
  int32_t failed = 0;  // failures so far
  std::optional<RoleUsage> usage = {};
};

// Slow-changing summary of telemetry.
struct Progress {
  double fraction = 0;  // of the goal, 0..1
  uint64_t epoch = 0, epochs = 0;
  uint64_t items_done = 0, items_total = 0, reprocessed_items = 0;
  std::optional<double> loss;
  std::optional<double> rate;  // samples per second, all workers
  std::string sample_unit;
  std::optional<double> remaining_seconds;
  std::string slowest_worker;                    // "worker-2", which the others wait for; "" with Async
  std::optional<uint64_t> moving_bytes_left;     // rows on their way to other servers; absent: none move
  std::optional<double> moving_rows_per_second;  // of late
};

// What the servers of this job can do beside serving, as their coordinator said; false until it has.
struct Abilities {
  bool elastic_servers = false;        // servers may join and leave
  bool server_recovery = false;        // a lost server's rows come back from backups or a checkpoint
  bool coordinator_failover = false;   // another server can take over as coordinator
  bool synchronization_modes = false;  // the mode can be switched
  bool row_management = false;         // likewise spec.rowManagement
  bool checkpoints = false;
};

struct CheckpointStatus {
  std::string directory;  // that holds it and others; "": none yet
  uint64_t number = 0;    // of the newest complete one, in this directory
  uint64_t step = 0;      // it holds all pushes of the steps before
  std::string time;       // RFC 3339, when it was complete
  uint64_t bytes = 0, rows = 0;
  std::optional<double> seconds;            // that it took, from the order to the answer; absent: not known
  std::optional<int64_t> interval_seconds;  // of a job that states none and gets some; absent: it states one, or none
  std::string request;          // the last request (annotation attune.dev/checkpoint-request) that was answered
  std::string message;          // why that one failed; "" when it did not
  std::string regular_message;  // why the last one by spec.checkpoint.intervalSeconds failed; "" when it did not
};

// The checkpoint of the best value of the metric that spec.checkpoint.best names.
struct BestCheckpointStatus {
  std::string directory;
  uint64_t number = 0;  // in this directory
  std::string metric;
  double value = 0;
  uint64_t step = 0, epoch = 0;  // where the job was when the value was reported
};
// "checkpoint 7 in /models/checkpoints, held_out_loss 3.187 at epoch 41".
std::string ToString(const BestCheckpointStatus& best);

// "checkpoint 7 in /models/checkpoints".
std::string CheckpointName(const CheckpointStatus& checkpoint);

// Restarts of what a job that stands still has waited for. Absent once steps have ended again for as long as
// spec.runPolicy.progressDeadlineSeconds.
struct StandstillStatus {
  int32_t restarts = 0;        // one after the other; what is restarted at the same time counts once
  std::string restarted_at;    // RFC 3339, the last
  std::vector<uint32_t> pods;  // that were restarted then (proto/pod_number.h)
};

// Servers that decide about the coordinator's lease from a map on, by node (docs/decisions/0029).
struct CoordinatorVoters {
  uint64_t map_version = 0;
  std::vector<uint32_t> nodes;  // ascending
  bool operator==(const CoordinatorVoters&) const = default;
};

// Where the job was when a metric was reported.
struct MetricPlace {
  uint64_t step = 0;   // of all workers so far
  uint64_t epoch = 0;  // that were finished
  uint64_t items = 0;  // of the training data, over all epochs
};

// One figure of the model as programs reported it (Session::ReportMetric).
struct MetricStatus {
  std::string name;
  uint64_t reports = 0;
  std::optional<double> value;  // the last one
  MetricPlace at;
  std::optional<double> best;
  MetricPlace best_at;
  Direction direction = Direction::kMinimize;
  uint64_t left_out = 0;  // values that were not finite
};
// "at epoch 41", or "at step 5200" of a job that has finished none.
std::string ToString(const MetricPlace& place);

struct JobResult {
  std::map<std::string, double> metrics;
  std::string summary;
  std::string model_path;
  std::string left_out;  // what could not be kept, by name, with the reason; "": nothing
};

// One field of the spec that has been chosen to have another value than the spec says (status/chosen_settings.h).
// Values are text: a string as it is, everything else as JSON.
struct ChosenSetting {
  std::string field;    // "spec.workers.replicas"
  std::string value;    // "4"
  std::string instead;  // what the spec said then; "": nothing
  friend bool operator==(const ChosenSetting&, const ChosenSetting&) = default;
};

struct TrainingJobStatus {
  int64_t observed_generation = 0;
  std::vector<Condition> conditions;
  std::string phase;  // for display, derived from conditions: Pending, Starting, Running, Suspended, Succeeded, Failed
  std::string start_time, completion_time;
  RoleStatus servers, workers;
  std::string worker_selector;  // for /scale
  std::optional<Progress> progress;
  std::optional<JobResult> result;
  std::vector<MetricStatus> metrics;                    // by name
  std::string coordinator;                              // pod that runs the coordinator
  std::string secret;                                   // with the job's token, of the operator's making; "": none
  int64_t coordinator_term = 0;                         // rises with each appointment of another server; 0: the first
  std::optional<CoordinatorVoters> coordinator_voters;  // confirmed last; every successor is appointed with them
  bool begun = false;                                   // all servers have joined: rows may have been trained since
  std::optional<Synchronization> synchronization;       // in force
  std::optional<RowManagement> row_management;          // likewise
  std::optional<Abilities> abilities;
  std::optional<CheckpointStatus> checkpoint;
  std::optional<BestCheckpointStatus> best_checkpoint;
  std::optional<RecoveryStatus> recovery;
  std::optional<RowPlaces> rows;  // absent: no program of the job announces rows, or owns any
  std::optional<ReliefStatus> relief;
  std::optional<StandstillStatus> standstill;
  std::optional<MoveStatus> move;
  std::optional<RowTraceStatus> row_trace;
  std::vector<MachineLoss> machine_losses;  // of the last hour, oldest first
  std::optional<SuspensionStatus> suspension;
  std::optional<TuningStatus> tuning;
  std::optional<PolicyInForce> policy;  // absent: none selects the job
  std::vector<ChosenSetting> settings;  // read only: they are written by themselves, for themselves
};

struct TrainingJob {
  std::string name, name_space, uid, resource_version, creation_time;
  int64_t generation = 0;
  std::string checkpoint_request;  // of the annotation attune.dev/checkpoint-request
  std::string move_request;        // of the annotation attune.dev/move; "": none, or withdrawn
  std::string restart_request;     // of the annotation attune.dev/restart
  std::string row_trace_request;   // of the annotation attune.dev/row-trace
  // Who has stated the replicas of servers or workers last, where it is neither a person at a command line nor this
  // system: a controller that writes them again whenever they differ (metadata.managedFields). "": there is none.
  std::string replicas_manager;
  bool being_deleted = false;
  TrainingJobSpec spec;
  std::vector<ChosenSetting> chosen;  // those of status.settings that `spec` has; set by ParseInForce only
  TrainingJobStatus status;
};

// One fault of a manifest. `path` as in Kubernetes messages: spec.workers.replicas.
struct FieldProblem {
  std::string path;
  std::string found;    // what was there
  std::string allowed;  // what may be there; nearest known name for an unknown field
  int line = 0;         // 1-based; 0 when not from a file
  int column = 0;
  bool about_key = false;  // the name is wrong, not the value
};
// "job.yaml:12:5: spec.workers.replicas: found 0; allowed: a whole number from 1 to 1024".
std::string ToString(const FieldProblem& problem, const std::string& file = "");

// JSON (API server or converted YAML) -> values with defaults. All problems at once; empty means valid. A status is
// read leniently: what does not fit is left at its default, since only this system writes it.
struct ParsedJob {
  TrainingJob job;
  std::vector<FieldProblem> problems;
};
ParsedJob ParseTrainingJob(const Json& object);

// `object` with the defaults of absent fields written in, as an API server stores it. Valid objects only.
Json WithDefaults(Json object);
Json ToJson(const TrainingJobSpec& spec);
// Adds `display`, the strings of the table columns (Display below).
Json ToJson(const TrainingJobStatus& status);

// Ready-made strings for people, derived from the rest of a status: "2/2", "42%", "3.117", "181k words/s", "1m20s".
// Empty where nothing is known.
struct Display {
  std::string servers, workers;  // ready / existing
  std::string progress, loss, rate, remaining;
};
Display MakeDisplay(const TrainingJobStatus& status);

const Condition* FindCondition(const TrainingJobStatus& status, std::string_view type);
bool IsTrue(const TrainingJobStatus& status, std::string_view type);

// Annotation of a job: each new value asks for one checkpoint; status.checkpoint.request is the last one answered.
inline constexpr char kAnnotationCheckpointRequest[] = "attune.dev/checkpoint-request";

// spec.managedBy of jobs that are this operator's, as those without one are.
inline constexpr char kManagedByOperator[] = "attune.dev/operator";
inline bool IsManagedHere(const TrainingJob& job) {
  return job.spec.managed_by.empty() || job.spec.managed_by == kManagedByOperator;
}

// Condition types.
inline constexpr char kReady[] = "Ready";  // servers and workers all ready
inline constexpr char kSucceeded[] = "Succeeded";
inline constexpr char kFailed[] = "Failed";
inline constexpr char kServersReady[] = "ServersReady";
inline constexpr char kWorkersReady[] = "WorkersReady";
inline constexpr char kMetricsAvailable[] = "MetricsAvailable";
inline constexpr char kReconfiguring[] = "Reconfiguring";
inline constexpr char kProgressing[] = "Progressing";        // steps end; false: whom the job waits for, and since when
inline constexpr char kBlocked[] = "Blocked";                // something the operator must do is refused to it
inline constexpr char kPolicyConflict[] = "PolicyConflict";  // policies leave nothing somewhere
inline constexpr char kTuning[] = "Tuning";                  // the tuner looks for a better setting
inline constexpr char kSuspended[] = "Suspended";            // the job has no pods; spec.suspend, or a restart

}  // namespace attune::api

// What one reconcile sees: values only, no live connection to anything. Plan() is a function of this.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time_source.h"
#include "operator/api/training_job.h"
#include "operator/controller/observe/act_failures.h"
#include "operator/controller/observe/names.h"
#include "operator/controller/observe/pod_resize.h"
#include "operator/controller/observe/queue_place.h"
#include "operator/controller/observe/tuning_values.h"
#include "operator/kube/object.h"
#include "operator/scheduler/fit.h"
#include "operator/telemetry/job_store.h"

namespace attune::controller {

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed, kUnknown };

// The container that does the role's work; sidecars and helpers do not decide anything.
struct RoleContainer {
  enum class State { kWaiting, kRunning, kTerminated };
  State state = State::kWaiting;
  int32_t exit_code = 0;                            // when terminated
  std::string reason, message;                      // of the state: "ImagePullBackOff", "OOMKilled", ...
  bool job_finished = false;                        // its coordinator had finished the job before it ended
  bool closing_done = false;                        // with a data set for the closing work
  bool model_lost_rows = false;                     // its coordinator says, which had finished the job
  bool left_in_order = false;                       // its session had left the job before it ended, by its own word
  bool came_too_late = false;                       // the job was finished when it was to join, by its own word
  std::optional<WallTime> started_at, finished_at;  // the node's clock
};

// The fields of a pod that decisions are made from (and all that the watch cache keeps of it).
struct ObservedPod {
  std::string name, uid;
  std::string resource_version;  // of the object that the rest was read from
  std::string job_uid;           // of the job it was created for; "" where it is of another attempt at it (attempts.h)
  RoleName role = RoleName::kWorker;
  int32_t index = -1;
  PodPhase phase = PodPhase::kPending;
  bool ready = false;
  bool scheduled = false;
  std::string node;
  std::string reason, message;        // of the pod: "Evicted", "NodeLost"
  bool disruption_target = false;     // ended by the platform, says the pod's condition of that name
  std::string unschedulable_message;  // the scheduler's words
  std::string other_wait;  // an init container or sidecar that cannot start: "attune-sidecar: ErrImagePull: ..."
  RoleContainer container;

  std::optional<WallTime> deletion_time;  // being deleted; the end of its grace period
  bool held = false;                      // carries our finalizer
  std::vector<std::string> other_finalizers;

  std::optional<WallTime> drain_deadline;         // of workers
  std::optional<WallTime> draining_since;         // of servers
  std::string stands_in_for;                      // the uid of the one that moves meanwhile; "": none
  std::map<std::string, std::string> conditions;  // of the pod: their status, by type
  std::optional<int32_t> failure_number;          // 0: its end is on record, and counted as none
  int32_t failures_in_a_row = 0;  // of its index, without progress between them; its own end included once it is marked
  int64_t attempt = 0;            // of the job, that it was created for
  std::optional<int32_t> servers;  // the job's number of servers when this pod was created
  scheduler::Resources requests;   // of all its containers
  PodResize resize;                // of the role's container
};

// Keeps only what ObservePod reads: a few hundred bytes instead of many KB.
kube::Json ProjectPod(const kube::Json& pod);
// Objects come from outside: whatever is missing or malformed reads as its default. `index` -1: not one of our pods.
ObservedPod ObservePod(const kube::Json& pod);

// Where a pod is in its life, by its role's container and its own end. kFailed: the container ended with another code
// than 0, though it had not come too late; or the pod was failed as a whole (evicted, node gone), whatever its
// container returned then.
enum class PodLife { kWaiting, kRunning, kSucceeded, kFailed };
PodLife LifeOf(const ObservedPod& pod);

inline bool HasSucceeded(const ObservedPod& pod) { return LifeOf(pod) == PodLife::kSucceeded; }
inline bool HasFailed(const ObservedPod& pod) { return LifeOf(pod) == PodLife::kFailed; }
inline bool HasEnded(const ObservedPod& pod) { return LifeOf(pod) >= PodLife::kSucceeded; }
bool HasStarted(const ObservedPod& pod);  // the role's container runs or has run
bool IsBeingDeleted(const ObservedPod& pod);
// Its process runs and is to continue.
inline bool IsAlive(const ObservedPod& pod) { return LifeOf(pod) == PodLife::kRunning && !IsBeingDeleted(pod); }

// What is read of a node.
struct ObservedNode {
  bool ready = true;
  bool cordoned = false;  // takes no new pods: it is to be drained, or taken away soon
};

struct Observed {
  api::TrainingJob job;
  std::vector<api::FieldProblem> problems;  // of the job's manifest; not empty: nothing is started
  std::vector<ObservedPod> pods;            // labelled with the job's name
  std::set<std::string> earlier_pods;       // uids of those that belong to an earlier attempt (attempts.h)
  bool service_exists = false;
  bool budget_exists = false;
  // Unforeseeable, drawn again for each look: the name of the job's Secret, should it need one and have none.
  std::string fresh_secret;
  bool secret_exists = false;                   // as this process knows; it may not read Secrets
  std::optional<MonotonicTime> policy_seen_at;  // likewise when the job's NetworkPolicy was there for certain
  telemetry::JobSample sample;
  std::map<std::string, std::string> log_tails;  // by pod uid, of pods named by PodsWhoseLogIsNeeded
  std::set<std::string> drain_sent;              // uids of pods whose sidecar has been sent one in this process' life
  std::map<std::string, MonotonicTime> sent;     // directives by key, in this process' life
  std::optional<int32_t> budget_min_available;   // of the disruption budget
  // What machines have left beside this operator's pods, as far as it may read them.
  std::optional<std::vector<scheduler::Machine>> machines;
  // Nodes that pods of this job run on; a name that is missing has no node any more. Unset: they may not be read.
  std::optional<std::map<std::string, ObservedNode>> nodes;
  // Since when this process has listened to sidecars without a pause of its own.
  std::optional<MonotonicTime> listening_since;
  std::optional<MonotonicTime> checkpoint_since;  // requests.h
  // By pod name: failures of that index in a row, as marked on the last pod of that name that failed.
  std::map<std::string, int32_t> failures_in_a_row;
  // Memory that a role needs since a pod of it ran out of it, until the spec has as much (pod_resources.h); outlives
  // the dead pod in this process' life.
  std::map<RoleName, int64_t> memory_needs;
  std::optional<policy::Effective> policy;         // of policies that select the job; spec.tuning is held to it already
  std::optional<QueuePlace> queue;                 // of jobs that name one, or have
  NamespaceRoom room;                              // that policies and the queue leave
  std::optional<TuningOutput> tuning;              // of jobs that are tuned: what the tuner says now
  bool opens_tuning_record = false;                // it waits for what an operator before this one has kept
  std::optional<std::string> tuning_state;         // what is kept of it, as this process knows; unset: not known
  std::optional<std::string> finished_tuning;      // what similar jobs may start from, until it is kept
  std::vector<BlockedAct> blocked;                 // what is refused to this operator and people must know of
  std::optional<MonotonicTime> status_written_at;  // in this process' life
};

// A pod of this job, not of an earlier one of its name, nor one that another user has labeled.
bool IsServerOf(const Observed& observed, const ObservedPod& pod);
bool IsWorkerOf(const Observed& observed, const ObservedPod& pod);
bool IsOfJob(const Observed& observed, const ObservedPod& pod);  // of either role
bool HasPods(const Observed& observed);                          // any of this job

struct Now {
  MonotonicTime monotonic;
  WallTime wall;
};

}  // namespace attune::controller

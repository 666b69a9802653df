// What the tuner's loop is shown and what it answers: plain values, so that plans need to know no more of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/sync_mode.h"
#include "operator/api/training_job.h"
#include "operator/controller/observe/names.h"
#include "operator/policy/resolve.h"

namespace attune::controller {

// A setting of the knobs that are the tuner's to choose in this job.
struct JobSetting {
  int32_t servers = 0, workers = 0;
  std::optional<int32_t> threads = {};  // of each worker; absent: its program offers none
  std::optional<int32_t> slack = {};    // see tuner/knob.h; absent: the manifest does not allow it
  // Limits of CPU of one pod; absent: spec.*.resources.cpu gives the tuner no range.
  std::optional<int32_t> worker_millicores = {}, server_millicores = {};
  friend bool operator==(const JobSetting&, const JobSetting&) = default;
};
std::string ToString(const JobSetting& setting);  // "2 servers, 4 workers, 3 threads each, BSP, 1250m cpu per worker"
// What a merge patch of a job's spec changes to get there.
kube::Json SpecPatch(const JobSetting& setting);

// One server or worker in its last window. Shares are of its own limit, 0..1 (a little more is possible).
struct NodeFigures {
  int32_t index = 0;  // of the pod: not 0..N-1 once one has moved
  double cpu = 0, memory = 0;
  double requests = 0;      // per second, of servers
  double step_seconds = 0;  // mean, of workers, without waiting for the pace
  double wait_share = 0;    // of its time, of workers: waiting for rows
  double throttled = 0;     // share of its time that its quota of CPU held it up
  // Share of its time in which a worker computes, or a server serves, by the CPU time of what is one thread for the
  // most part; absent: not reported.
  std::optional<double> at_work;
};

// Memory of the role's container of one pod, in its last report.
struct PodMemory {
  std::string pod, uid;
  RoleName role = RoleName::kWorker;
  int32_t index = 0;
  int64_t used = 0, limit = 0;        // bytes: resident; of its control group
  std::optional<int64_t> max;         // that spec.*.resources.memory allows; absent: the limit is not raised
  std::optional<int64_t> min = {};    // likewise; absent: the limit is not lowered
  std::optional<int64_t> asked = {};  // the target of the spec
};

// What spec.*.resources.memory.target of a role is to be.
struct MemoryTarget {
  RoleName role = RoleName::kWorker;
  int64_t bytes = 0;
};

// A pod whose memory reaches kMemoryShare of its limit soon (memory_forecast.h).
struct MemoryAlarm {
  PodMemory memory;
  double bytes_per_second = 0;
  double seconds = 0;  // until then; 0: it has
  bool by_jumps = false;
};

// A pod that is to be moved to another machine.
struct PodMove {
  RoleName role = RoleName::kWorker;
  int32_t index = 0;
  std::string to = {};  // a machine; "": any other
  std::string reason;
};

// A server on a machine without workers, and one with workers that has room for it.
struct DistantServer {
  int32_t index = 0;
  std::string from, to;
};

// The platform has said that a pod never gets this limit of CPU where it is.
struct InfeasibleCpu {
  RoleName role = RoleName::kWorker;
  int32_t millicores = 0;
  std::string text;  // which pod, on which machine, in the kubelet's words
};

// What one pod takes of its machine, its helpers included.
struct PodSize {
  double cores = 0, gib = 0;
};

// What one pod requests of its namespace, all its containers together.
struct PodClaim {
  int64_t millicores = 0, bytes = 0;
  std::optional<int64_t> limit = {};  // of CPU, as it is now, where that is requested as well, beside `millicores`
  friend bool operator==(const PodClaim&, const PodClaim&) = default;
};

// Of a job.
struct PodClaims {
  PodClaim server, worker;
  friend bool operator==(const PodClaims&, const PodClaims&) = default;
};

// What policies, and the queue that admitted it, leave to a job (namespace_room.h).
struct NamespaceRoom {
  std::optional<int64_t> millicores, bytes;  // that its pods may request together; absent: no policy bounds it
  PodClaims pods;
  int32_t others_changing = 0;  // jobs of the namespace, without this one, of which something is being changed
  friend bool operator==(const NamespaceRoom&, const NamespaceRoom&) = default;
};

// What one look at the job shows. Counters may begin again when the operator does.
struct TuningInput {
  double time = 0;  // seconds by a monotonic clock, from any origin
  double age = 0;   // seconds since the job began, by wall clocks; read at the first look only
  int64_t generation = 0;
  api::Tuning policy;
  policy::Effective rules;  // of policies that select the job; without any nothing is bounded
  NamespaceRoom room;       // that they leave
  api::Goal goal;
  SyncMode mode;
  JobSetting wanted;        // by the spec; threads as workers say when it does not
  JobSetting low, high;     // of the roles
  int32_t threads_max = 0;  // that the workers' program offers; 0: none, or not known yet
  bool switches_modes = false;
  int32_t backups = 0;
  bool elastic_servers = false;
  bool training = false;  // the coordinator speaks, and the goal is not reached
  bool settled = false;   // as many pods take part as are wanted, and all of them report
  bool rows_moving = false;
  uint64_t steps = 0;  // of all workers, so far
  double loss_sum = 0, loss_weight = 0;
  uint64_t items_done = 0, items_total = 0;  // of the whole goal
  // As the coordinator counts them for the goal: these continue when the operator begins again.
  uint64_t job_steps = 0;
  double trained_seconds = 0;
  std::optional<double> metric;  // that goal.targetMetric names, as it was reported last
  uint64_t metric_reports = 0;   // of it, so far
  PodSize server_pod, worker_pod;
  std::optional<double> staleness;
  std::optional<double> server_memory, worker_memory;       // fullest, share of its limit
  std::vector<NodeFigures> server_figures, worker_figures;  // of those that report, by index
  std::vector<PodMemory> pod_memory;                        // of those that report and have a limit
  std::optional<InfeasibleCpu> infeasible;                  // of the limits in `wanted`
  bool can_move_pods = false;                               // there is another machine for TuningOutput::moves
  std::optional<DistantServer> distant_server;              // that may be moved; absent: none, or it may not
  int32_t failures = 0;                                     // of servers and workers so far
  std::string signature;                                    // jobs with equal ones are similar
  uint64_t seed = 1;
};

struct TuningOutput {
  api::TuningStatus status;          // without `since` and times of decisions
  std::string state;                 // what another operator continues from; kept before `change` is made
  std::optional<JobSetting> change;  // to be written into the spec
  struct Event {
    bool warning = false;
    std::string reason, note;
  };
  std::vector<Event> events;                 // for Events
  std::vector<MemoryAlarm> raise_memory;     // limits that are to be raised (plan/resizes.h)
  std::vector<MemoryTarget> memory_targets;  // that are to be lowered, or restored (tuning/memory_reclaim.h)
  std::vector<PodMove> moves;                // passed on by plan/finding_acts.h
  bool changing = false;                     // what was decided, or a user chose, has not come about
  double look_again = 1;                     // seconds
};

}  // namespace attune::controller

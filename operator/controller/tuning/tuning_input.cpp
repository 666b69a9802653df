#include "operator/controller/tuning/tuning_input.h"

#include <algorithm>
#include <limits>
#include <set>

#include "operator/controller/members/placement_moves.h"
#include "operator/controller/objects/pod_resources.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/controller/plan/directives.h"
#include "operator/controller/plan/evidence.h"
#include "operator/controller/plan/requests/requests.h"
#include "operator/controller/plan/resizes.h"
#include "operator/controller/plan/suspension/suspension.h"
#include "operator/controller/status/status.h"
#include "operator/tuner/space/knob.h"
#include "proto/sync_mode.h"

namespace attune::controller {
namespace {

bool IsFresh(const telemetry::PodSample& pod, Now now) {
  return pod.connected && pod.window.sequence() > 0 && now.monotonic - pod.reported_at <= kReportAgeMax;
}

NodeFigures FiguresOf(const telemetry::PodSample& pod) {
  const v1::WindowReport& window = pod.window;
  const v1::ProcessUsage& usage = pod.usage;
  const double seconds = window.duration_seconds();
  NodeFigures figures;
  figures.index = static_cast<int32_t>(pod.index);
  if (usage.cpu_limit_cores() > 0 && usage.window_seconds() > 0)
    figures.cpu = usage.cpu_seconds() / (usage.window_seconds() * usage.cpu_limit_cores());
  if (usage.window_seconds() > 0) figures.throttled = std::min(1.0, usage.throttled_seconds() / usage.window_seconds());
  if (window.has_server() && usage.window_seconds() > 0) {
    const double cores = usage.cpu_limit_cores() > 0 ? std::min(1.0, usage.cpu_limit_cores()) : 1;
    // What a server does beside serving, the coordinator's work for instance, does not grow with requests.
    const v1::ServerWindow& server = window.server();
    const double busy = server.has_serving_cpu_seconds() && seconds > 0 ? server.serving_cpu_seconds() / seconds
                                                                        : usage.cpu_seconds() / usage.window_seconds();
    figures.at_work = std::min(1.0, busy / cores);
  }
  if (usage.memory_limit_bytes() > 0)
    figures.memory = static_cast<double>(usage.memory_bytes()) / static_cast<double>(usage.memory_limit_bytes());
  if (seconds > 0 && window.has_server())
    figures.requests = static_cast<double>(window.server().pulls() + window.server().pushes()) / seconds;
  if (window.has_worker()) {
    // Where a process is held to a share of a core most steps run in the free part of a period: the median is blind.
    const v1::WorkerWindow& worker = window.worker();
    figures.step_seconds = worker.step_seconds().mean();
    if (seconds > 0) {
      const double waited = worker.pull_wait_seconds() + worker.push_wait_seconds();
      figures.wait_share = std::min(1.0, waited / seconds);
      if (worker.steps() > 0)
        figures.at_work = std::clamp(1 - (waited + worker.pace_wait_seconds()) / seconds, 0.0, 1.0);
    }
  }
  return figures;
}

void AddPods(const Observed& observed, Now now, TuningInput& input) {
  double stale_sum = 0, stale_steps = 0;
  for (const telemetry::PodSample& pod : observed.sample.pods) {
    if (!IsFresh(pod, now)) continue;
    std::optional<double>& fullest = pod.window.has_worker() ? input.worker_memory : input.server_memory;
    if (pod.usage.memory_limit_bytes() > 0) {
      const double share =
          static_cast<double>(pod.usage.memory_bytes()) / static_cast<double>(pod.usage.memory_limit_bytes());
      fullest = std::max(fullest.value_or(0), share);
    }
    (pod.window.has_worker() ? input.worker_figures : input.server_figures).push_back(FiguresOf(pod));
    if (pod.window.has_worker() && pod.window.worker().steps() > 0) {
      const v1::WorkerWindow& worker = pod.window.worker();
      // By steps, not by rows measured: a worker that touches more rows is not staler for it.
      if (worker.staleness_count() > 0) {
        stale_sum += worker.staleness_mean() * static_cast<double>(worker.steps());
        stale_steps += static_cast<double>(worker.steps());
      }
    }
  }
  if (stale_steps > 0) input.staleness = stale_sum / stale_steps;
}

// Of the limit that the process has now, as its sidecar reads it: a resize that has not come about changes nothing.
void AddMemory(const Observed& observed, Now now, TuningInput& input) {
  for (const telemetry::PodSample& sample : observed.sample.pods) {
    if (!IsFresh(sample, now) || sample.usage.memory_limit_bytes() == 0) continue;
    const auto pod = std::ranges::find_if(observed.pods, [&](const ObservedPod& seen) {
      const bool ours = IsServerOf(observed, seen) || IsWorkerOf(observed, seen);
      return ours && seen.name == sample.pod && (sample.pod_uid.empty() || sample.pod_uid == seen.uid);
    });
    // A pod without a limit shows its machine's, which cannot be raised.
    if (pod == observed.pods.end() || !IsAlive(*pod) || !pod->resize.asked.memory.limit) continue;
    input.pod_memory.push_back({.pod = pod->name,
                                .uid = pod->uid,
                                .role = pod->role,
                                .index = pod->index,
                                .used = static_cast<int64_t>(sample.usage.memory_bytes()),
                                .limit = static_cast<int64_t>(sample.usage.memory_limit_bytes()),
                                .max = RoleOf(observed.job, pod->role).resources.memory.max,
                                .min = RoleOf(observed.job, pod->role).resources.memory.min,
                                .asked = RoleOf(observed.job, pod->role).resources.memory.target});
  }
}

int32_t ToInt(int64_t millicores) {
  return static_cast<int32_t>(std::clamp<int64_t>(millicores, 0, std::numeric_limits<int32_t>::max()));
}

// As many workers as are wanted report steps.
bool AllWorkersTrain(const Observed& observed, const WorkersView& workers, Now now) {
  return std::ranges::all_of(workers.by_index, [&](const ObservedPod* pod) {
    if (pod == nullptr || !IsAlive(*pod)) return false;
    return std::ranges::any_of(observed.sample.pods, [&](const telemetry::PodSample& sample) {
      return sample.pod == pod->name && IsFresh(sample, now) && sample.window.worker().steps() > 0;
    });
  });
}

// The least that a worker reports, of those that compute with as many threads as they are given: how many, and the
// most.
struct Threads {
  int32_t used = 0, most = 0;
};
Threads ThreadsOf(const Observed& observed, Now now) {
  Threads threads;
  for (const telemetry::PodSample& pod : observed.sample.pods) {
    if (!IsFresh(pod, now) || pod.window.worker().threads_max() == 0) continue;
    const auto used = static_cast<int32_t>(pod.window.worker().threads());
    const auto most = static_cast<int32_t>(pod.window.worker().threads_max());
    threads.used = threads.used == 0 ? used : std::min(threads.used, used);
    threads.most = threads.most == 0 ? most : std::min(threads.most, most);
  }
  return threads;
}

// No worker is still on the way to the spec's number of threads or pace.
bool InForce(const Observed& observed, const v1::JobWindow& window, Now now) {
  const api::TrainingJobSpec& spec = observed.job.spec;
  const SyncMode in_force = ReportedMode(window.synchronization());
  if (window.abilities().synchronization_modes() && in_force != api::FromManifest(spec.synchronization)) return false;
  if (window.announcements().on_trial()) return false;  // its rate is of two kinds in turns
  return !spec.worker_threads || std::ranges::all_of(observed.sample.pods, [&](const telemetry::PodSample& pod) {
    const v1::WorkerWindow& worker = pod.window.worker();
    const bool obeys = IsFresh(pod, now) && static_cast<int32_t>(worker.threads_max()) >= *spec.worker_threads;
    return !obeys || static_cast<int32_t>(worker.threads()) == *spec.worker_threads;
  });
}

const api::AmountPolicy& CpuPolicyOf(const api::TrainingJob& job, RoleName role) {
  return role == RoleName::kWorker ? job.spec.tuning.worker_cpu : job.spec.tuning.server_cpu;
}

// The mean of those that exist.
PodSize SizeOf(const std::vector<const ObservedPod*>& pods) {
  constexpr double kGibibyte = 1LL << 30;
  PodSize size;
  int count = 0;
  for (const ObservedPod* pod : pods) {
    if (pod == nullptr) continue;
    ++count;
    size.cores += pod->requests.cpu_cores;
    size.gib += pod->requests.memory_bytes / kGibibyte;
  }
  return count > 0 ? PodSize{size.cores / count, size.gib / count} : size;
}

void AddMetric(const v1::JobWindow& window, TuningInput& input) {
  for (const v1::JobMetric& metric : window.metrics()) {
    if (metric.name() != input.goal.target_metric.name || !metric.has_value()) continue;
    input.metric = metric.value();
    input.metric_reports = metric.reports();
  }
}

// The limit of CPU that the spec asks for; nothing where it gives the tuner no range, or pods none.
std::optional<int32_t> CpuOf(const api::TrainingJob& job, RoleName role) {
  const api::AmountPolicy& policy = CpuPolicyOf(job, role);
  if (!RoleOf(job, role).resources.cpu.max && !policy.max && !policy.pinned) return std::nullopt;
  const ResourceFigures stated = StatedFigures(job, role).cpu;
  if (stated.any() && !stated.limit) return std::nullopt;
  const std::optional<int64_t> target = TargetsOf(job, role).cpu;
  const std::optional<int64_t> limit = target ? target : stated.limit;
  return limit ? std::optional<int32_t>(ToInt(*limit)) : std::nullopt;
}

void AddCpuKnobs(const api::TrainingJob& job, TuningInput& input) {
  const auto add = [&](RoleName role, std::optional<int32_t> JobSetting::*cpu) {
    input.wanted.*cpu = CpuOf(job, role);
    if (!(input.wanted.*cpu)) return;
    const api::ResourceTarget& limits = RoleOf(job, role).resources.cpu;
    if (limits.min) input.low.*cpu = ToInt(*limits.min);
    if (limits.max) input.high.*cpu = ToInt(*limits.max);
  };
  add(RoleName::kWorker, &JobSetting::worker_millicores);
  add(RoleName::kServer, &JobSetting::server_millicores);
}

// A resize adds no limit to a pod that was made without one.
bool AreLimited(const std::vector<const ObservedPod*>& pods) {
  return std::ranges::all_of(
      pods, [](const ObservedPod* pod) { return pod == nullptr || pod->resize.asked.cpu.limit.has_value(); });
}

// What cannot be resized in this job is no knob of it.
void DropCpuKnobs(const Observed& observed, const ServersView& servers, const WorkersView& workers,
                  TuningInput& input) {
  const bool blocked = BlockedForAllPods(observed) != nullptr;
  const auto drop = [&](std::optional<int32_t> JobSetting::*cpu) {
    (input.wanted.*cpu).reset();
    (input.low.*cpu).reset();
    (input.high.*cpu).reset();
  };
  if (blocked || !AreLimited(workers.by_index)) drop(&JobSetting::worker_millicores);
  if (blocked || !AreLimited(servers.by_index)) drop(&JobSetting::server_millicores);
}

// No pod is still on the way to the limit that it is to have. A cluster that reports no figures in force has resized no
// pod: each has what it asks for.
bool HaveTheirCpu(const std::vector<const ObservedPod*>& pods, const std::optional<int32_t>& millicores) {
  return !millicores || std::ranges::all_of(pods, [&](const ObservedPod* pod) {
    if (pod == nullptr || pod->resize.asked.cpu.limit != *millicores) return false;
    return pod->resize.actual ? IsSettled(pod->resize) : pod->resize.state == ResizeState::kNone;
  });
}

// Only of the size that is wanted now: one before it may still be waited for.
std::optional<InfeasibleCpu> InfeasibleOf(RoleName role, const std::vector<const ObservedPod*>& pods,
                                          const std::optional<int32_t>& millicores) {
  if (!millicores) return std::nullopt;
  for (const ObservedPod* pod : pods) {
    if (pod == nullptr || pod->resize.state != ResizeState::kInfeasible) continue;
    if (pod->resize.asked.cpu.limit != *millicores) continue;
    return InfeasibleCpu{role, *millicores, pod->name + " on " + pod->node + ": " + pod->resize.message};
  }
  return std::nullopt;
}

// Equal for jobs that run the same program on the same data.
std::string SignatureOf(const api::TrainingJob& job) {
  std::string signature;
  const kube::Json& containers = kube::At(job.spec.workers.pod_template, {"spec", "containers"});
  for (const kube::Json& container : containers.is_array() ? containers : kube::Json::array()) {
    for (const char* field : {"image", "command", "args"}) {
      const auto at = container.find(field);
      if (at != container.end()) signature += at->dump() + " ";
    }
  }
  constexpr size_t kSignatureBytesMax = 512;
  return signature.substr(0, kSignatureBytesMax);
}

// Only where the spec leaves it open where servers are.
std::optional<DistantServer> DistantServerOf(const Observed& observed, const ServersView& servers) {
  if (observed.job.spec.placement.servers != api::ServerPlacement::kAny) return std::nullopt;
  const auto move = NextPlacementMove(observed, {.servers = api::ServerPlacement::kWithWorkers},
                                      {.elastic = servers.elastic, .servers = servers.wanted, .serving = {}});
  if (!move) return std::nullopt;
  return DistantServer{.index = move->pod->index, .from = move->pod->node, .to = move->to};
}

// On another machine than this one there is a pod of the job already. Others are not looked for: to know what they have
// left, all pods of the cluster are read.
bool HasPodsOnTwoMachines(const Observed& observed) {
  std::set<std::string> machines;
  for (const ObservedPod& pod : observed.pods) {
    if (IsAlive(pod) && !pod.node.empty()) machines.insert(pod.node);
  }
  return machines.size() > 1;
}

}  // namespace

bool IsTuned(const Observed& observed) {
  const api::TrainingJob& job = observed.job;
  return job.spec.tuning.mode != api::TuningMode::kOff && observed.problems.empty() && !job.being_deleted &&
         api::IsManagedHere(job) && !HasEnded(job.status);
}

TuningInput InputOfSpec(const api::TrainingJob& job) {
  TuningInput input;
  input.generation = job.generation;
  input.policy = job.spec.tuning;
  input.goal = job.spec.goal;
  input.mode = api::FromManifest(job.spec.synchronization);
  input.wanted = {.servers = job.spec.servers.replicas,
                  .workers = job.spec.workers.replicas,
                  .threads = job.spec.worker_threads,
                  .slack = tuner::SlackOf(input.mode)};
  input.low = {.servers = job.spec.servers.min, .workers = job.spec.workers.min};
  input.high = {.servers = job.spec.servers.max, .workers = job.spec.workers.max};
  input.backups = job.spec.backups;
  AddCpuKnobs(job, input);
  input.signature = SignatureOf(job);
  return input;
}

TuningInput MakeTuningInput(const Observed& observed, const ServersView& servers, const WorkersView& workers, Now now) {
  const api::TrainingJob& job = observed.job;
  TuningInput input = InputOfSpec(job);
  DropCpuKnobs(observed, servers, workers, input);
  input.time = Seconds(now.monotonic.time_since_epoch());
  if (const auto started = ParseRfc3339(job.status.start_time)) input.age = Seconds(now.wall - *started);
  if (observed.policy) input.rules = *observed.policy;
  input.room = observed.room;
  const Threads threads = ThreadsOf(observed, now);
  input.threads_max = threads.most;
  if (!input.wanted.threads && threads.used > 0) input.wanted.threads = threads.used;
  input.switches_modes = job.status.abilities && job.status.abilities->synchronization_modes;
  input.elastic_servers = servers.elastic;
  input.server_pod = SizeOf(servers.by_index);
  input.worker_pod = SizeOf(workers.by_index);
  // Where the spec says how workers are to be placed, a move away from that would be taken back.
  input.can_move_pods = job.spec.placement.workers == api::WorkerPlacement::kAny && HasPodsOnTwoMachines(observed);
  input.distant_server = DistantServerOf(observed, servers);
  const v1::JobWindow* window = CurrentWindow(observed);
  input.training = servers.formed && window != nullptr && servers.finished == 0 && workers.succeeded == 0 &&
                   !IsSuspending(job.status);
  if (window != nullptr) {
    input.rows_moving = window->has_relocation() && window->relocation().bytes_left() > 0;
    input.items_done = window->items_done();
    input.items_total = window->items_total();
    input.job_steps = window->steps();
    input.trained_seconds = window->trained_seconds();
    AddMetric(*window, input);
    input.settled =
        servers.ready == input.wanted.servers && servers.leaving.empty() && workers.leaving.empty() &&
        !(job.status.move && job.status.move->state == api::kMoving) && workers.ready == input.wanted.workers &&
        static_cast<int32_t>(MemberCount(*window)) == input.wanted.servers && AllWorkersTrain(observed, workers, now) &&
        InForce(observed, *window, now) && HaveTheirCpu(servers.by_index, input.wanted.server_millicores) &&
        HaveTheirCpu(workers.by_index, input.wanted.worker_millicores);
  }
  input.steps = observed.sample.steps;
  input.loss_sum = observed.sample.loss_sum;
  input.loss_weight = observed.sample.loss_weight;
  input.failures = servers.failures + workers.failures;
  input.seed = std::hash<std::string>{}(job.uid) % 1'000'000 + 1;
  AddPods(observed, now, input);
  AddMemory(observed, now, input);
  input.infeasible = InfeasibleOf(RoleName::kWorker, workers.by_index, input.wanted.worker_millicores);
  if (!input.infeasible) {
    input.infeasible = InfeasibleOf(RoleName::kServer, servers.by_index, input.wanted.server_millicores);
  }
  return input;
}

}  // namespace attune::controller

#include "operator/local/pods/pod_plan.h"

#include <algorithm>

namespace attune::local {
namespace {

using kube::Json;
using State = ContainerRecord::State;

constexpr std::chrono::minutes kBackoffResetAfter{10};
constexpr char kStartError[] = "StartError";
constexpr int kExitStartError = 128;  // what containerd reports for a program that is not there

RestartPolicy ParsePolicy(std::string_view text) {
  return text == "Never"       ? RestartPolicy::kNever
         : text == "OnFailure" ? RestartPolicy::kOnFailure
                               : RestartPolicy::kAlways;
}

int PortOf(const Json& container, const Json& port) {
  if (port.is_number_integer()) return port.get<int>();
  if (!port.is_string()) return 0;
  for (const Json& named : kube::At(container, {"ports"})) {
    if (kube::StringAt(named, {"name"}) == port.get_ref<const std::string&>())
      return static_cast<int>(kube::IntegerAt(named, {"containerPort"}));
  }
  return 0;
}

std::optional<Probe> ParseProbe(const Json& container) {
  const Json& json = kube::At(container, {"readinessProbe"});
  if (!json.is_object()) return std::nullopt;
  Probe probe;
  if (json.contains("tcpSocket")) {
    probe.port = PortOf(container, kube::At(json, {"tcpSocket", "port"}));
  } else if (json.contains("httpGet")) {
    probe.kind = Probe::Kind::kHttpGet;
    probe.port = PortOf(container, kube::At(json, {"httpGet", "port"}));
    probe.path = kube::StringAt(json, {"httpGet", "path"});
  } else if (json.contains("exec")) {
    probe.kind = Probe::Kind::kExec;
    for (const Json& word : kube::At(json, {"exec", "command"})) {
      if (word.is_string()) probe.command.push_back(word.get<std::string>());
    }
  } else {
    return std::nullopt;
  }
  const auto number = [&](const char* field, int otherwise) {
    return static_cast<int>(std::clamp<int64_t>(kube::IntegerAt(json, {field}, otherwise), 0, 3600));
  };
  probe.initial_delay_seconds = number("initialDelaySeconds", 0);
  probe.period_seconds = std::max(1, number("periodSeconds", 10));
  probe.timeout_seconds = std::max(1, number("timeoutSeconds", 1));
  probe.success_threshold = std::max(1, number("successThreshold", 1));
  probe.failure_threshold = std::max(1, number("failureThreshold", 3));
  return probe;
}

ContainerSpec ParseContainer(const Json& json, bool init, RestartPolicy pod_policy) {
  ContainerSpec spec;
  spec.name = kube::StringAt(json, {"name"});
  spec.sidecar = init && kube::StringAt(json, {"restartPolicy"}) == "Always";
  spec.init = init && !spec.sidecar;
  spec.restart = spec.sidecar ? RestartPolicy::kAlways : pod_policy;
  // An init container that succeeded is never run again.
  if (spec.init && spec.restart == RestartPolicy::kAlways) spec.restart = RestartPolicy::kOnFailure;
  spec.readiness = ParseProbe(json);
  return spec;
}

bool IsMain(const ContainerSpec& spec) { return !spec.init && !spec.sidecar; }

bool WantsRestart(const ContainerSpec& spec, int exit_code) {
  return spec.restart == RestartPolicy::kAlways || (spec.restart == RestartPolicy::kOnFailure && exit_code != 0);
}

Duration Backoff(int restarts) {
  return std::min<Duration>(kBackoffMax, std::chrono::seconds(1) * (int64_t{1} << std::clamp(restarts - 1, 0, 6)));
}

bool IsFinal(StatusCode code, int failed_starts) {
  if (code == StatusCode::kNotFound || code == StatusCode::kInvalidArgument || code == StatusCode::kPermissionDenied)
    return true;
  return code != StatusCode::kFailedPrecondition && failed_starts > kStartsMax;
}

bool EndedForGood(const ContainerRecord& record) { return record.state == State::kTerminated; }

bool StartFailed(const ContainerRecord& record) { return EndedForGood(record) && record.last->reason == kStartError; }

// An init container failed for good, or a sidecar cannot be started at all, so the others never start.
bool InitFailed(const PodRecord& pod) {
  for (size_t i = 0; i < pod.specs.size(); ++i) {
    const ContainerRecord& record = pod.containers[i];
    if (pod.specs[i].init && EndedForGood(record) && record.last->exit_code != 0) return true;
    if (pod.specs[i].sidecar && StartFailed(record) && record.restarts == 0) return true;
  }
  return false;
}

bool MainsEnded(const PodRecord& pod) {
  for (size_t i = 0; i < pod.specs.size(); ++i) {
    if (IsMain(pod.specs[i]) && !EndedForGood(pod.containers[i])) return false;
  }
  return true;
}

bool AnyRunning(const PodRecord& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(),
                     [](const ContainerRecord& c) { return c.state == State::kRunning; });
}

void Look(PodPlan& plan, MonotonicTime at) { plan.next_look = std::min(plan.next_look, at); }

// TERM, and KILL from `kill_at` on.
void Stop(const PodRecord& pod, size_t i, MonotonicTime now, MonotonicTime kill_at, PodPlan& plan) {
  const ContainerRecord& record = pod.containers[i];
  if (!record.term_sent) plan.actions.push_back({ContainerAction::Kind::kTerminate, i});
  if (record.kill_sent) return;
  if (now >= kill_at) {
    plan.actions.push_back({ContainerAction::Kind::kKill, i});
  } else {
    Look(plan, kill_at);
  }
}

// Sidecars end one after the other, the last started first.
void StopSidecars(const PodRecord& pod, MonotonicTime now, PodPlan& plan) {
  for (size_t i = pod.specs.size(); i-- > 0;) {
    const ContainerRecord& record = pod.containers[i];
    if (!pod.specs[i].sidecar || record.state != State::kRunning) continue;
    const MonotonicTime asked = record.term_sent ? record.term_sent_at : now;
    Stop(pod, i, now, std::min(asked + kSidecarGrace, std::max(pod.delete_deadline, asked + std::chrono::seconds(1))),
         plan);
    return;
  }
}

void PlanEnd(const PodRecord& pod, MonotonicTime now, PodPlan& plan) {
  const bool force = pod.force || now >= pod.end_by;
  if (!force) Look(plan, pod.end_by);
  bool others_run = false;
  for (size_t i = 0; i < pod.specs.size(); ++i) {
    if (pod.containers[i].state != State::kRunning) continue;
    if (force) {
      if (!pod.containers[i].kill_sent) plan.actions.push_back({ContainerAction::Kind::kKill, i});
      continue;
    }
    if (pod.specs[i].sidecar) continue;
    others_run = true;
    Stop(pod, i, now, pod.delete_deadline, plan);
  }
  if (!others_run && !force) StopSidecars(pod, now, plan);
  plan.finished = !AnyRunning(pod);
}

bool Due(const ContainerRecord& record, MonotonicTime now, PodPlan& plan) {
  if (record.retry_at <= now) return true;
  Look(plan, record.retry_at);
  return false;
}

}  // namespace

std::vector<ContainerSpec> ContainersOf(const Json& pod) {
  const RestartPolicy policy = ParsePolicy(kube::StringAt(pod, {"spec", "restartPolicy"}));
  std::vector<ContainerSpec> specs;
  for (const Json& container : kube::At(pod, {"spec", "initContainers"}))
    specs.push_back(ParseContainer(container, true, policy));
  for (const Json& container : kube::At(pod, {"spec", "containers"}))
    specs.push_back(ParseContainer(container, false, policy));
  return specs;
}

PodPlan PlanPod(const PodRecord& pod, MonotonicTime now) {
  PodPlan plan;
  if (pod.deleting || pod.force || MainsEnded(pod) || InitFailed(pod)) {
    PlanEnd(pod, now, plan);
    return plan;
  }
  for (size_t i = 0; i < pod.specs.size(); ++i) {
    const ContainerSpec& spec = pod.specs[i];
    const ContainerRecord& record = pod.containers[i];
    if (record.state == State::kWaiting && Due(record, now, plan))
      plan.actions.push_back({ContainerAction::Kind::kStart, i});
    if (IsMain(spec)) continue;
    // The next one waits for an init container's success, and for a sidecar to have been started once.
    const bool passed = spec.sidecar ? record.state == State::kRunning || record.restarts > 0
                                     : EndedForGood(record) && record.last->exit_code == 0;
    // Sidecars further on wait too, but those before keep being restarted: they were looked at already.
    if (!passed) break;
  }
  return plan;
}

void OnStarted(PodRecord& pod, size_t container, MonotonicTime now, WallTime wall) {
  ContainerRecord& record = pod.containers[container];
  record.state = State::kRunning;
  record.started_at = now;
  record.started_wall = wall;
  record.failed_starts = 0;
  record.term_sent = record.kill_sent = false;
  record.probe_ok = false;
  record.probe_successes = record.probe_failures = 0;
}

void OnExit(PodRecord& pod, size_t container, int exit_code, MonotonicTime now, WallTime wall) {
  const ContainerSpec& spec = pod.specs[container];
  ContainerRecord& record = pod.containers[container];
  record.last = Termination{exit_code, exit_code == 0 ? "Completed" : "Error", "", record.started_wall, wall};
  record.probe_ok = false;
  const bool ending = pod.deleting || pod.force || (spec.sidecar && (MainsEnded(pod) || InitFailed(pod)));
  if (ending || !WantsRestart(spec, exit_code)) {
    record.state = State::kTerminated;
    return;
  }
  const int recent = now - record.started_at >= kBackoffResetAfter ? 1 : record.restarts + 1;
  ++record.restarts;
  record.state = State::kWaiting;
  record.retry_at = now + Backoff(recent);
  record.waiting_reason = "CrashLoopBackOff";
  record.waiting_message = "restarting " + spec.name + " after exit code " + std::to_string(exit_code);
}

namespace {

// The containers after one that never starts end with it and carry its reason: who looks at a pod's own container alone
// learns why it never began.
void EndUnstarted(PodRecord& pod, size_t container, const std::string& message, WallTime wall) {
  for (size_t i = container; i < pod.specs.size(); ++i) {
    ContainerRecord& record = pod.containers[i];
    const bool waits_for_it = !IsMain(pod.specs[container]) && IsMain(pod.specs[i]) && record.state == State::kWaiting;
    if (i != container && !waits_for_it) continue;
    record.state = State::kTerminated;
    record.last =
        Termination{kExitStartError, kStartError,
                    i == container ? message : "container " + pod.specs[container].name + ": " + message, wall, wall};
  }
}

}  // namespace

void OnStartFailed(PodRecord& pod, size_t container, const Status& status, MonotonicTime now, WallTime wall) {
  ContainerRecord& record = pod.containers[container];
  const std::string message(Message(status));
  ++record.failed_starts;
  // A sidecar that ran before is brought back as long as it takes: training continues without it.
  const bool ran_before = pod.specs[container].sidecar && record.restarts > 0;
  if (!ran_before && IsFinal(status.code(), record.failed_starts)) {
    EndUnstarted(pod, container, message, wall);
    return;
  }
  record.state = State::kWaiting;
  record.waiting_reason = "CreateContainerError";
  record.waiting_message = message;
  record.retry_at = now + Backoff(record.failed_starts);
}

void OnProbe(PodRecord& pod, size_t container, bool success) {
  ContainerRecord& record = pod.containers[container];
  const std::optional<Probe>& probe = pod.specs[container].readiness;
  if (record.state != State::kRunning || !probe.has_value()) return;
  record.probe_successes = success ? record.probe_successes + 1 : 0;
  record.probe_failures = success ? 0 : record.probe_failures + 1;
  if (record.probe_successes >= probe->success_threshold) record.probe_ok = true;
  if (record.probe_failures >= probe->failure_threshold) record.probe_ok = false;
}

std::string PhaseOf(const PodRecord& pod) {
  if (InitFailed(pod)) return AnyRunning(pod) ? "Pending" : "Failed";
  bool started = false;
  bool failed = false;
  for (size_t i = 0; i < pod.specs.size(); ++i) {
    if (!IsMain(pod.specs[i])) continue;
    const ContainerRecord& record = pod.containers[i];
    started = started || record.state != State::kWaiting || record.last.has_value();
    failed = failed || (EndedForGood(record) && record.last->exit_code != 0);
  }
  if (MainsEnded(pod) && !AnyRunning(pod)) return failed ? "Failed" : "Succeeded";
  if (pod.deleting && !AnyRunning(pod)) return "Failed";  // stopped before it could end
  return started ? "Running" : "Pending";
}

}  // namespace attune::local

#include "operator/controller/observe/observed.h"

#include <algorithm>
#include <charconv>

#include "operator/controller/observe/machines.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

using kube::At;
using kube::IntegerAt;
using kube::Json;
using kube::StringAt;

std::optional<int32_t> ParseNumber(std::string_view text) {
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

PodPhase ParsePhase(std::string_view phase) {
  if (phase == "Running") return PodPhase::kRunning;
  if (phase == "Succeeded") return PodPhase::kSucceeded;
  if (phase == "Failed") return PodPhase::kFailed;
  if (phase == "Unknown") return PodPhase::kUnknown;
  return PodPhase::kPending;
}

// A line that a process of ours leaves in its termination message, beside what its program may have written there.
bool TakeLine(std::string& message, std::string_view mark) {
  const size_t at = message.find(mark);
  if (at == std::string::npos || (at > 0 && message[at - 1] != '\n')) return false;
  const size_t after = at + mark.size();
  message.erase(at, mark.size() + (after < message.size() && message[after] == '\n' ? 1 : 0));
  while (!message.empty() && message.back() == '\n') message.pop_back();
  return true;
}

RoleContainer ParseContainer(const Json& status) {
  RoleContainer container;
  if (const Json& ended = At(status, {"state", "terminated"}); ended.is_object()) {
    container.state = RoleContainer::State::kTerminated;
    container.exit_code = static_cast<int32_t>(IntegerAt(ended, {"exitCode"}));
    container.reason = StringAt(ended, {"reason"});
    container.message = StringAt(ended, {"message"});
    container.job_finished = TakeLine(container.message, contract::kJobFinished);
    container.closing_done = TakeLine(container.message, contract::kClosingWorkDone);
    container.model_lost_rows = TakeLine(container.message, contract::kModelLostRows);
    container.left_in_order = TakeLine(container.message, contract::kLeftInOrder);
    container.came_too_late = TakeLine(container.message, contract::kCameTooLate);
    container.started_at = ParseRfc3339(StringAt(ended, {"startedAt"}));
    container.finished_at = ParseRfc3339(StringAt(ended, {"finishedAt"}));
  } else if (At(status, {"state", "running"}).is_object()) {
    container.state = RoleContainer::State::kRunning;
    container.started_at = ParseRfc3339(StringAt(status, {"state", "running", "startedAt"}));
  } else {
    container.reason = StringAt(status, {"state", "waiting", "reason"});
    container.message = StringAt(status, {"state", "waiting", "message"});
  }
  return container;
}

// Reasons that are the normal way to a running container.
bool IsOrdinaryWait(std::string_view reason) {
  return reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing";
}

// What the container statuses say: the role's container, and whatever else cannot start.
void ReadContainers(const Json& pod, ObservedPod& seen) {
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    const Json& statuses = At(pod, {"status", list});
    if (!statuses.is_array()) continue;
    for (const Json& status : statuses) {
      const std::string name(StringAt(status, {"name"}));
      if (name == ToString(seen.role)) {
        seen.container = ParseContainer(status);
      } else if (const RoleContainer other = ParseContainer(status);
                 other.state == RoleContainer::State::kWaiting && !IsOrdinaryWait(other.reason)) {
        seen.other_wait = name + ": " + other.reason + (other.message.empty() ? "" : ": " + other.message);
      }
    }
  }
}

void ReadConditions(const Json& pod, ObservedPod& seen) {
  const Json& conditions = At(pod, {"status", "conditions"});
  if (!conditions.is_array()) return;
  for (const Json& condition : conditions) {
    const std::string_view type = StringAt(condition, {"type"});
    const std::string_view status = StringAt(condition, {"status"});
    const bool is_true = status == "True";
    if (!type.empty()) seen.conditions.emplace(type, status);
    if (type == "Ready") seen.ready = is_true;
    if (type == "DisruptionTarget") seen.disruption_target = is_true;
    if (type == "PodScheduled") {
      seen.scheduled = is_true;
      if (!is_true) seen.unschedulable_message = StringAt(condition, {"message"});
    }
  }
}

// A condition or container status with the fields that are read, messages cut.
Json Keep(const Json& from, std::initializer_list<const char*> fields) {
  constexpr size_t kMessageBytesMax = 1024;
  Json kept = Json::object();
  if (!from.is_object()) return kept;
  for (const char* field : fields) {
    auto found = from.find(field);
    if (found == from.end()) continue;
    kept[field] = *found;
    if (found->is_string() && found->get_ref<const std::string&>().size() > kMessageBytesMax) {
      kept[field] = FitText(found->get_ref<const std::string&>(), kMessageBytesMax);
    }
  }
  return kept;
}

Json KeepEach(const Json& list, std::initializer_list<const char*> fields) {
  Json kept = Json::array();
  if (!list.is_array()) return kept;
  for (const Json& item : list) kept.push_back(Keep(item, fields));
  return kept;
}

// The pod was ended as a whole (evicted, machine shut down): whatever its container returned then is no result.
bool WasEndedFromOutside(const ObservedPod& pod) { return pod.phase == PodPhase::kFailed && !pod.reason.empty(); }

}  // namespace

Json ProjectPod(const Json& pod) {
  Json kept = Keep(pod, {"apiVersion", "kind"});
  kept["metadata"] = Keep(At(pod, {"metadata"}), {"name", "namespace", "uid", "resourceVersion", "labels",
                                                  "annotations", "deletionTimestamp", "finalizers"});
  kept["spec"] = Keep(At(pod, {"spec"}), {"nodeName"});
  for (const char* list : {"containers", "initContainers"}) {
    kept["spec"][list] = KeepEach(At(pod, {"spec", list}), {"name", "resources", "restartPolicy"});
  }
  const Json& status = At(pod, {"status"});
  kept["status"] = Keep(status, {"phase", "reason", "message", "podIP"});
  kept["status"]["conditions"] =
      KeepEach(At(status, {"conditions"}), {"type", "status", "reason", "message", "lastTransitionTime"});
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    kept["status"][list] = KeepEach(At(status, {list}), {"name", "state", "resources"});
  }
  return kept;
}

ObservedPod ObservePod(const Json& pod) {
  ObservedPod seen;
  seen.name = kube::Name(pod);
  seen.uid = kube::Uid(pod);
  seen.resource_version = kube::ResourceVersion(pod);
  seen.job_uid = kube::Label(pod, contract::kLabelJobUid);
  const std::string_view role = kube::Label(pod, contract::kLabelRole);
  seen.role = role == contract::kRoleServer ? RoleName::kServer : RoleName::kWorker;
  if (role == contract::kRoleServer || role == contract::kRoleWorker) {
    seen.index = ParseNumber(kube::Label(pod, contract::kLabelIndex)).value_or(-1);
  }
  seen.phase = ParsePhase(StringAt(pod, {"status", "phase"}));
  seen.node = StringAt(pod, {"spec", "nodeName"});
  seen.reason = StringAt(pod, {"status", "reason"});
  seen.message = StringAt(pod, {"status", "message"});
  ReadConditions(pod, seen);
  seen.scheduled = seen.scheduled || !seen.node.empty();
  ReadContainers(pod, seen);
  seen.requests = RequestsOf(pod);
  seen.resize = ReadResize(pod, ToString(seen.role));

  if (kube::IsBeingDeleted(pod)) {
    seen.deletion_time = ParseRfc3339(StringAt(pod, {"metadata", "deletionTimestamp"})).value_or(WallTime{});
  }
  if (const Json& finalizers = At(pod, {"metadata", "finalizers"}); finalizers.is_array()) {
    for (const Json& finalizer : finalizers) {
      if (!finalizer.is_string()) continue;
      if (finalizer == contract::kPodFinalizer) {
        seen.held = true;
      } else {
        seen.other_finalizers.push_back(finalizer.get<std::string>());
      }
    }
  }
  seen.drain_deadline = ParseRfc3339(kube::Annotation(pod, contract::kAnnotationDrainDeadline));
  seen.draining_since = ParseRfc3339(kube::Annotation(pod, kAnnotationDraining));
  seen.stands_in_for = kube::Annotation(pod, kAnnotationStandsInFor);
  seen.failure_number = ParseNumber(kube::Annotation(pod, kAnnotationFailureNumber));
  seen.failures_in_a_row = ParseNumber(kube::Annotation(pod, kAnnotationFailuresInARow)).value_or(0);
  seen.attempt = ParseNumber(kube::Annotation(pod, kAnnotationAttempt)).value_or(0);
  seen.servers = ParseNumber(kube::Annotation(pod, kAnnotationServers));
  return seen;
}

bool IsBeingDeleted(const ObservedPod& pod) { return pod.deletion_time.has_value(); }

PodLife LifeOf(const ObservedPod& pod) {
  if (WasEndedFromOutside(pod)) return PodLife::kFailed;
  if (pod.container.state == RoleContainer::State::kTerminated) {
    const bool well = pod.container.exit_code == 0 || pod.container.came_too_late;
    return well ? PodLife::kSucceeded : PodLife::kFailed;
  }
  if (pod.phase == PodPhase::kSucceeded) return PodLife::kSucceeded;
  if (pod.phase == PodPhase::kFailed) return PodLife::kFailed;
  return HasStarted(pod) ? PodLife::kRunning : PodLife::kWaiting;
}

bool HasStarted(const ObservedPod& pod) { return pod.container.state != RoleContainer::State::kWaiting; }

bool IsServerOf(const Observed& observed, const ObservedPod& pod) {
  return pod.role == RoleName::kServer && pod.index >= 0 && pod.job_uid == observed.job.uid;
}

bool IsWorkerOf(const Observed& observed, const ObservedPod& pod) {
  return pod.role == RoleName::kWorker && pod.index >= 0 && pod.job_uid == observed.job.uid;
}

bool IsOfJob(const Observed& observed, const ObservedPod& pod) {
  return pod.index >= 0 && pod.job_uid == observed.job.uid;
}

bool HasPods(const Observed& observed) {
  return std::ranges::any_of(observed.pods, [&](const ObservedPod& pod) { return IsOfJob(observed, pod); });
}

}  // namespace attune::controller

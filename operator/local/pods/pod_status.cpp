#include "operator/local/pods/pod_status.h"

#include "operator/local/api/rules/identity.h"

namespace attune::local {

using kube::Json;
using State = ContainerRecord::State;

namespace {

bool IsReady(const ContainerSpec& spec, const ContainerRecord& record) {
  if (spec.init) return record.state == State::kTerminated && record.last->exit_code == 0;
  return record.state == State::kRunning && (!spec.readiness.has_value() || record.probe_ok);
}

Json TerminatedJson(const Termination& end) {
  Json json{{"exitCode", end.exit_code},
            {"reason", end.reason},
            {"startedAt", Rfc3339(end.started)},
            {"finishedAt", Rfc3339(end.finished)}};
  if (!end.message.empty()) json["message"] = end.message;
  return json;
}

Json ContainerStatus(const ContainerSpec& spec, const ContainerRecord& record, const Json& container) {
  Json status{{"name", spec.name},
              {"image", container.value("image", Json(""))},
              {"imageID", ""},
              {"ready", IsReady(spec, record)},
              {"started", record.state == State::kRunning},
              {"restartCount", record.restarts},
              {"lastState", Json::object()}};
  switch (record.state) {
    case State::kWaiting:
      status["state"]["waiting"] = {{"reason", record.waiting_reason}};
      if (!record.waiting_message.empty()) status["state"]["waiting"]["message"] = record.waiting_message;
      break;
    case State::kRunning:
      status["state"]["running"] = {{"startedAt", Rfc3339(record.started_wall)}};
      break;
    case State::kTerminated:
      status["state"]["terminated"] = TerminatedJson(*record.last);
      break;
  }
  if (record.state != State::kTerminated && record.last.has_value())
    status["lastState"]["terminated"] = TerminatedJson(*record.last);
  return status;
}

Json Condition(const Json& object, const char* type, bool value, const char* reason, WallTime now) {
  Json condition{{"type", type}, {"status", value ? "True" : "False"}, {"lastTransitionTime", Rfc3339(now)}};
  if (!value) condition["reason"] = reason;
  for (const Json& before : kube::At(object, {"status", "conditions"})) {
    if (kube::StringAt(before, {"type"}) == type &&
        kube::StringAt(before, {"status"}) == kube::StringAt(condition, {"status"})) {
      condition["lastTransitionTime"] = before.value("lastTransitionTime", condition["lastTransitionTime"]);
    }
  }
  return condition;
}

// What is in force, and what the scheduler of a cluster counts with.
void AddResources(const PodResources& resources, size_t index, Json& status) {
  status["resources"] = resources.in_force[index];
  const Json& requests = kube::At(resources.accepted[index], {"requests"});
  if (!requests.empty()) status["allocatedResources"] = requests;
}

void AddResizeCondition(const char* type, const std::optional<ResizeCondition>& condition, Json& conditions) {
  if (!condition) return;
  Json json{{"type", type},
            {"status", "True"},
            {"lastTransitionTime", Rfc3339(condition->since)},
            {"observedGeneration", condition->generation}};
  if (!condition->reason.empty()) json["reason"] = condition->reason;
  if (!condition->message.empty()) json["message"] = condition->message;
  conditions.push_back(std::move(json));
}

}  // namespace

Json StatusOf(const PodRecord& pod, const Json& object, WallTime now) {
  Json status{{"phase", PhaseOf(pod)}, {"qosClass", object.value("/status/qosClass"_json_pointer, Json("BestEffort"))}};
  if (!pod.ip.empty()) {
    status["podIP"] = pod.ip;
    status["podIPs"] = Json::array({{{"ip", pod.ip}}});
    status["hostIP"] = "127.0.0.1";
  }
  status["startTime"] = Rfc3339(pod.start_time);
  bool initialized = true;
  bool ready = true;
  for (size_t i = 0; i < pod.specs.size(); ++i) {
    const ContainerSpec& spec = pod.specs[i];
    const bool main = !spec.init && !spec.sidecar;
    Json& statuses = status[main ? "containerStatuses" : "initContainerStatuses"];
    statuses.push_back(ContainerStatus(spec, pod.containers[i], ContainerAt(object, i)));
    AddResources(pod.resources, i, statuses.back());
    if (spec.init || (spec.sidecar && pod.containers[i].restarts == 0 && pod.containers[i].state == State::kWaiting)) {
      initialized = initialized && spec.init && IsReady(spec, pod.containers[i]);
    }
    if (!spec.init) ready = ready && IsReady(spec, pod.containers[i]);
  }
  ready = ready && initialized;
  const bool ended = status["phase"] == "Succeeded" || status["phase"] == "Failed";
  const char* why = ended ? "PodCompleted" : "ContainersNotReady";
  status["conditions"] =
      Json::array({Condition(object, "PodScheduled", true, "", now),
                   Condition(object, "Initialized", initialized, "ContainersNotInitialized", now),
                   Condition(object, "ContainersReady", ready, why, now), Condition(object, "Ready", ready, why, now)});
  if (ended) return status;
  AddResizeCondition("PodResizePending", pod.resources.pending, status["conditions"]);
  AddResizeCondition("PodResizeInProgress", pod.resources.in_progress, status["conditions"]);
  return status;
}

}  // namespace attune::local

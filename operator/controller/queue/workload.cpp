#include "operator/controller/queue/workload.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"
#include "proto/pod_number.h"

namespace attune::controller {
namespace {

using kube::Json;

constexpr char kPodsReady[] = "PodsReady", kWaitForStart[] = "WaitForStart", kWaitForRecovery[] = "WaitForRecovery";
constexpr size_t kWorkloadMessageBytesMax = 1024;  // of a condition, in Kueue's schema 32 KiB

// What Kueue and its admission checks decide from; no variable, no volume, no command.
Json TemplateOf(const Json& pod) {
  Json spec = {{"restartPolicy", "Never"}};
  for (const char* field :
       {"nodeSelector", "tolerations", "affinity", "priorityClassName", "runtimeClassName", "schedulerName"}) {
    if (const Json& value = kube::At(pod, {"spec", field}); !value.is_null()) spec[field] = value;
  }
  for (const char* list : {"containers", "initContainers"}) {
    const Json& containers = kube::At(pod, {"spec", list});
    if (!containers.is_array()) continue;
    for (const Json& container : containers) {
      Json kept = Json::object();
      for (const char* field : {"name", "image", "resources", "restartPolicy"}) {
        if (container.contains(field)) kept[field] = container[field];
      }
      spec[list].push_back(std::move(kept));
    }
  }
  return {{"spec", std::move(spec)}};
}

// What is not reserved cannot be used while it trains.
int64_t PodsOf(const api::Role& role, const api::KnobPolicy& tuned, api::TuningMode mode) {
  const int64_t wanted = role.replicas;
  if (mode != api::TuningMode::kAuto || !tuned.max) return wanted;
  return std::max(wanted, std::min(static_cast<int64_t>(*tuned.max), int64_t{role.max}));
}

Json PodSets(const api::TrainingJob& job, const PlanOptions& options) {
  Json sets = Json::array();
  const api::Tuning& tuning = job.spec.tuning;
  for (const auto& [role, count] :
       {std::pair(RoleName::kServer, PodsOf(job.spec.servers, tuning.servers, tuning.mode)),
        std::pair(RoleName::kWorker, PodsOf(job.spec.workers, tuning.workers, tuning.mode))}) {
    const Json pod = BuildPod(job, role, 0, job.spec.servers.replicas, options);
    sets.push_back({{"name", ToString(role)}, {"count", count}, {"template", TemplateOf(pod)}});
  }
  return sets;
}

// The time of a condition is that of the change of its status.
void Set(Json& conditions, const ObservedWorkload& workload, const char* type, bool value, const std::string& reason,
         const std::string& message, WallTime now) {
  Json next = {{"type", type},
               {"status", value ? "True" : "False"},
               {"reason", reason},
               {"message", FitText(message, kWorkloadMessageBytesMax)},
               {"observedGeneration", workload.generation},
               {"lastTransitionTime", ToRfc3339(now)}};
  for (Json& present : conditions) {
    if (kube::StringAt(present, {"type"}) != type) continue;
    if (present.contains("lastTransitionTime") && kube::StringAt(present, {"status"}) == next["status"])
      next["lastTransitionTime"] = present["lastTransitionTime"];
    present = std::move(next);
    return;
  }
  conditions.push_back(std::move(next));
}

std::string ReasonOf(const Json& conditions, const char* type) {
  for (const Json& each : conditions) {
    if (kube::StringAt(each, {"type"}) == type) return std::string(kube::StringAt(each, {"reason"}));
  }
  return "";
}

Json StatusPatch(const ObservedWorkload& workload, Json status) {
  return {{"metadata", {{"uid", workload.uid}, {"resourceVersion", workload.resource_version}}},
          {"status", std::move(status)}};
}

}  // namespace

std::string WorkloadName(const api::TrainingJob& job) {
  return absl::StrFormat("trainingjob-%s-%08x", job.name, contract::PodNumber(job.uid));
}

Json BuildWorkload(const api::TrainingJob& job, const std::string& queue, const PlanOptions& options) {
  Json sets = PodSets(job, options);
  Json metadata = OwnedMetadata(job, WorkloadName(job));
  metadata["labels"]["kueue.x-k8s.io/job-uid"] = job.uid;
  metadata["annotations"][kAnnotationShape] = ShapeOf(job, options);
  return {{"apiVersion", kWorkloads.api_version()},
          {"kind", kWorkloads.kind},
          {"metadata", std::move(metadata)},
          {"spec", {{"queueName", queue}, {"podSets", std::move(sets)}}}};
}

std::string ShapeOf(const api::TrainingJob& job, const PlanOptions& options) {
  return absl::StrFormat("%08x", contract::PodNumber(PodSets(job, options).dump()));
}

Json FinishedPatch(const ObservedWorkload& workload, bool succeeded, const std::string& message, WallTime now) {
  Json conditions = workload.conditions;
  Set(conditions, workload, "Finished", true, succeeded ? "Succeeded" : "Failed", message, now);
  return StatusPatch(workload, {{"conditions", std::move(conditions)}});
}

Json PodsReadyPatch(const ObservedWorkload& workload, bool ready, WallTime now) {
  Json conditions = workload.conditions;
  // The reasons by which Kueue knows a first start from a recovery, and which of its timeouts counts.
  const bool recovers = ReasonOf(conditions, kPodsReady) == kWaitForRecovery;
  const char* reason = ready ? (recovers ? "Recovered" : "Started")
                             : (workload.pods_ready.value_or(false) || recovers ? kWaitForRecovery : kWaitForStart);
  Set(conditions, workload, kPodsReady, ready, reason,
      ready ? "All servers and workers take part" : "Not all servers and workers take part", now);
  return StatusPatch(workload, {{"conditions", std::move(conditions)}});
}

Json ReleasePatch(const ObservedWorkload& workload, WallTime now) {
  Json conditions = workload.conditions;
  // What Kueue has preempted waits for the next place at once; in other cases Kueue says when.
  const bool requeues = workload.evicted_reason == "Preempted" || workload.evicted_reason == "NodeFailures";
  Set(conditions, workload, "Requeued", requeues, workload.evicted_reason, workload.why_evicted, now);
  Set(conditions, workload, "QuotaReserved", false, "Pending", workload.why_evicted, now);
  if (workload.admitted)
    Set(conditions, workload, "Admitted", false, "NoReservation", "The workload has no reservation", now);
  if (workload.pods_ready) Set(conditions, workload, kPodsReady, false, kWaitForStart, "The job has no pods", now);
  return StatusPatch(workload, {{"admission", nullptr}, {"conditions", std::move(conditions)}});
}

}  // namespace attune::controller

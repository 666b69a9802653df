#include "operator/controller/execute/carrier.h"

#include <algorithm>

#include "base/log.h"
#include "operator/api/status/chosen_settings.h"
#include "operator/controller/execute/history_store.h"
#include "operator/controller/objects/job_policy.h"
#include "operator/controller/objects/job_secret.h"
#include "operator/controller/objects/pods.h"
#include "operator/controller/observe/act_failures.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

using kube::Json;

constexpr size_t kDirectivesRemembered = 256;
constexpr char kSettingsManager[] = "attune-operator-settings";  // of status.settings, and of nothing else
constexpr kube::CallOptions kCall{.timeout = Carrier::kCallTimeout};

}  // namespace

void Carrier::TakeJob(Json written) {
  done_.expectations.ExpectWritten(kube::kTrainingJobs, written, time_.Now());
  job_version_ = kube::ResourceVersion(written);
  written_job_ = std::move(written);
}

Status Carrier::Create(const kube::ResourceType& type, const Json& object) {
  if (done_.expectations.IsAwaited(type, kube::KeyOf(object))) return OkStatus();  // it is there; the cache lags
  StatusOr<Json> created = api_.Create(type, object, kCall);
  if (created.ok()) {
    done_.expectations.ExpectWritten(type, *created, time_.Now());
    return OkStatus();
  }
  const kube::ObjectKey key = kube::KeyOf(object);
  if (created.status().code() != StatusCode::kAlreadyExists) {
    return Annotate(created.status(), "creating " + type.kind + " " + key.ToString());
  }
  return OnNameInUse(type, key);
}

// The cache may lag behind our own creation, an earlier job's object may still be going, or the name is another
// else's.
Status Carrier::OnNameInUse(const kube::ResourceType& type, const kube::ObjectKey& key) {
  ASSIGN_OR_RETURN(const Json present, api_.Get(type, key, kCall));
  const std::string name = type.kind + " " + key.ToString();
  if (kube::IsBeingDeleted(present)) {
    return Error(StatusCode::kAborted, "creating " + name + ": an earlier one of this name is still being deleted");
  }
  if (IsOwnedBy(present, job_)) {
    done_.expectations.ExpectWritten(type, present, time_.Now());
    return OkStatus();
  }
  const std::string text = name + " exists and does not belong to this job";
  if (kube::Label(present, contract::kLabelJob).empty()) return NameTaken(text);
  return Error(StatusCode::kAborted, text + " but to an earlier one, whose objects are going");
}

// Asked of the API server itself: the cache that the plan was made from may be old.
Status Carrier::CheckJobIsAsPlanned() {
  ASSIGN_OR_RETURN(const Json present, api_.Get(kube::kTrainingJobs, key_, kCall));
  if (kube::Uid(present) == job_.uid && kube::ResourceVersion(present) == job_version_) return OkStatus();
  return Error(StatusCode::kAborted, "job " + key_.ToString() + " has changed since it was looked at");
}

Status Carrier::CarryOut(const CreatePod& action) {
  if (action.if_job_unchanged) RETURN_IF_ERROR(CheckJobIsAsPlanned());
  return Create(kube::kPods, action.pod);
}
Status Carrier::CarryOut(const CreateService& action) { return Create(kube::kServices, action.service); }
Status Carrier::CarryOut(const CreatePodDisruptionBudget& action) {
  return Create(kPodDisruptionBudgets, action.budget);
}

// Without the right to read Secrets: what is there already is not looked at.
Status Carrier::CarryOut(const CreateSecret& action) {
  const Status created = api_.Create(kSecrets, BuildSecret(job_, action.name, DrawToken()), kCall).status();
  if (!created.ok() && created.code() != StatusCode::kAlreadyExists) {
    return Annotate(created, "creating Secret " + kube::ObjectKey{key_.name_space, action.name}.ToString());
  }
  done_.secret_exists = true;
  return OkStatus();
}

// Likewise without the right to read them.
Status Carrier::CarryOut(const CreateNetworkPolicy& action) {
  const Status created = api_.Create(kNetworkPolicies, action.policy, kCall).status();
  if (!created.ok() && created.code() != StatusCode::kAlreadyExists) {
    return Annotate(created, "creating NetworkPolicy " + kube::KeyOf(action.policy).ToString());
  }
  done_.policy_seen_at = time_.Now();
  return OkStatus();
}

Status Carrier::CarryOut(const CreateWorkload& action) {
  Status created = api_.Create(kWorkloads, action.workload, kCall).status();
  if (created.code() != StatusCode::kAlreadyExists) return created;
  const kube::ObjectKey key = kube::KeyOf(action.workload);
  ASSIGN_OR_RETURN(const Json present, api_.Get(kWorkloads, key, kCall));
  if (IsOwnedBy(present, job_)) return OkStatus();
  return NameTaken("Workload " + key.ToString() + " exists and does not belong to this job");
}

Status Carrier::CarryOut(const PatchWorkload& action) {
  const kube::ObjectKey key{key_.name_space, action.name};
  const Status patched = api_.Patch(kWorkloads, key, kube::PatchType::kMerge, action.patch, "status", kCall).status();
  return IsGone(patched) ? OkStatus() : patched;
}

Status Carrier::CarryOut(const DeleteWorkload& action) {
  const kube::ObjectKey key{key_.name_space, action.name};
  const Status deleted = api_.Delete(kWorkloads, key, {.uid = action.uid}, kCall);
  return IsGone(deleted) || IsReplaced(deleted) ? OkStatus() : deleted;
}

Status Carrier::CarryOut(const PatchPod& action) {
  const kube::ObjectKey key{key_.name_space, action.name};
  StatusOr<Json> patched = api_.Patch(kube::kPods, key, kube::PatchType::kMerge, action.patch, "", kCall);
  if (patched.ok()) {
    done_.expectations.ExpectWritten(kube::kPods, *patched, time_.Now());
    pod_versions_[action.uid] = kube::ResourceVersion(*patched);
    return OkStatus();
  }
  if (IsGone(patched.status())) return OkStatus();
  return Annotate(patched.status(), "patching pod " + key.ToString());
}

Status Carrier::CarryOut(const ResizePod& action) {
  const kube::ObjectKey key{key_.name_space, action.name};
  StatusOr<Json> resized =
      api_.Patch(kube::kPods, key, kube::PatchType::kStrategicMerge, action.patch, "resize", kCall);
  if (resized.ok()) {
    done_.expectations.ExpectWritten(kube::kPods, *resized, time_.Now());
    pod_versions_[action.uid] = kube::ResourceVersion(*resized);
    return OkStatus();
  }
  if (!IsGone(resized.status())) return Annotate(resized.status(), "resizing pod " + key.ToString());
  // Of the pod, or of what is asked of it?
  const Status present = api_.Get(kube::kPods, key, kCall).status();
  if (IsGone(present)) return OkStatus();
  RETURN_IF_ERROR(present);
  return Error(
      StatusCode::kUnimplemented,
      "resizing pod " + key.ToString() + ": the cluster has no subresource pods/resize (Kubernetes 1.33 and later do)");
}

Status Carrier::CarryOut(const PatchJob& action) {
  Json patch = action.patch;
  if (action.if_job_unchanged) patch["metadata"]["resourceVersion"] = job_version_;
  StatusOr<Json> patched = api_.Patch(kube::kTrainingJobs, key_, kube::PatchType::kMerge, patch, "", kCall);
  if (patched.ok()) {
    TakeJob(*std::move(patched));
    return OkStatus();
  }
  const bool is_done = IsGone(patched.status()) || (IsReplaced(patched.status()) && !action.if_job_unchanged);
  if (is_done) return OkStatus();
  return Annotate(patched.status(), "changing the setting of job " + key_.ToString());
}

Status Carrier::CarryOut(const ChooseSettings& action) {
  const Json& job = written_job_ ? *written_job_ : job_object_;
  const Json settings = api::ToJson(api::ChosenAfter(job, action.spec));
  return ApplyStatus({{"settings", settings}}, kSettingsManager, job_version_);
}

Status Carrier::CarryOut(const OpenTuningRecord& action) {
  RETURN_IF_ERROR(TuningStore(api_, kCall, job_, process_, done_.tuning).Open(action.moved));
  if (!action.with_history) return OkStatus();
  // A tuner that knows of no other job begins as the first one did.
  StatusOr<tuner::JobHistory> history = HistoryStore(api_, kCall, key_.name_space).Read();
  if (history.ok()) {
    done_.history = *std::move(history);
  } else {
    log::Warn("the tuner begins without what it learned of earlier jobs", {{"reason", history.status()}});
  }
  return OkStatus();
}

Status Carrier::CarryOut(const KeepTuningHistory& action) {
  ASSIGN_OR_RETURN(const tuner::JobHistory history, tuner::JobHistory::Load(action.history));
  for (const tuner::HistoryEntry& entry : history.entries())
    RETURN_IF_ERROR(HistoryStore(api_, kCall, key_.name_space).Add(entry));
  done_.finished_tuning.reset();
  return OkStatus();
}

Status Carrier::CarryOut(const WriteTuningRecord& action) {
  return TuningStore(api_, kCall, job_, process_, done_.tuning).Write(action.state);
}

Status Carrier::CarryOut(const DeletePod& action) {
  const kube::ObjectKey key{key_.name_space, action.name};
  kube::DeleteOptions options{.uid = action.uid, .grace_period_seconds = action.grace_period_seconds};
  const bool as_seen = !action.resource_version.empty();
  if (as_seen) {
    const auto patched = pod_versions_.find(action.uid);
    options.resource_version = patched == pod_versions_.end() ? action.resource_version : patched->second;
  }
  const Status status = api_.Delete(kube::kPods, key, options, kCall);
  // Of one that was to be as it was seen, another version is as likely as another pod: the next look shows it.
  const bool done = status.ok() || IsGone(status) || (IsReplaced(status) && !as_seen);
  if (!done) return Annotate(status, "deleting pod " + key.ToString());
  done_.expectations.ExpectDeleted(kube::kPods, key, action.uid, time_.Now());
  return OkStatus();
}

Status Carrier::CarryOut(const SendDrain& action) {
  v1::Directive directive;
  directive.mutable_drain()->set_reason(action.reason);
  if (service_.Send(action.uid, directive)) done_.drain_sent.insert(action.uid);
  return OkStatus();  // a sidecar that is away is asked when it is back, or by SIGTERM
}

Status Carrier::CarryOut(const SendDirective& action) {
  const MonotonicTime now = time_.Now();                                            // before the answer can come
  if (!service_.Send(action.uid, action.directive, action.key)) return OkStatus();  // asked again later
  if (done_.sent.size() >= kDirectivesRemembered) {
    done_.sent.erase(std::min_element(done_.sent.begin(), done_.sent.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; }));
  }
  done_.sent[action.key] = now;
  return OkStatus();
}

Status Carrier::CarryOut(const PatchPodDisruptionBudget& action) {
  const kube::ObjectKey key{key_.name_space, action.name};
  StatusOr<Json> patched = api_.Patch(kPodDisruptionBudgets, key, kube::PatchType::kMerge,
                                      {{"spec", {{"minAvailable", action.min_available}}}}, "", kCall);
  if (!patched.ok()) {
    return IsGone(patched.status()) ? OkStatus() : Annotate(patched.status(), "patching budget " + key.ToString());
  }
  done_.expectations.ExpectWritten(kPodDisruptionBudgets, *patched, time_.Now());
  return OkStatus();
}

// A plan from an outdated job must not undo what is newer: `version` is of the job that it was made from.
Status Carrier::ApplyStatus(Json status, const char* manager, const std::string& version) {
  const Json body = {
      {"apiVersion", kube::kTrainingJobs.api_version()},
      {"kind", kube::kTrainingJobs.kind},
      {"metadata",
       {{"name", key_.name}, {"namespace", key_.name_space}, {"uid", job_.uid}, {"resourceVersion", version}}},
      {"status", std::move(status)}};
  kube::ApplyOptions options;
  options.field_manager = manager;
  options.subresource = "status";
  StatusOr<Json> written = api_.Apply(kube::kTrainingJobs, body, options, kCall);
  if (!written.ok()) return Annotate(written.status(), "writing the status of job " + key_.ToString());
  TakeJob(*std::move(written));
  return OkStatus();
}

Status Carrier::CarryOut(const WriteStatus& action) {
  RETURN_IF_ERROR(ApplyStatus(api::ToJson(action.status), contract::kFieldManager, job_.resource_version));
  done_.status_written_at = time_.Now();
  return OkStatus();
}

Status Carrier::CarryOut(const EmitEvent& action) {
  events_.Record(job_object_, {.type = action.warning ? kube::EventType::kWarning : kube::EventType::kNormal,
                               .reason = action.event_reason,
                               .action = action.action,
                               .note = action.note});
  return OkStatus();
}

Status Carrier::CarryOut(const DeleteJob&) {
  const Status status = api_.Delete(kube::kTrainingJobs, key_, {.uid = job_.uid}, kCall);
  return IsGone(status) || IsReplaced(status) ? OkStatus() : status;
}

}  // namespace attune::controller

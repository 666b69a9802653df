// What a plan may ask for. A plan is a list of steps, the most urgent first (draft.h). A step names the earlier steps
// it needs; everything else is independent of it, so an action that fails stops only what needs it. Each action has a
// reason, for logs, tests and `describe`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attune/v1/telemetry.pb.h"
#include "base/time_source.h"
#include "operator/api/training_job.h"
#include "operator/controller/observe/names.h"
#include "operator/kube/object.h"

namespace attune::controller {

// Created, not applied: an object of that name that belongs to another owner is never taken over, and a pod's fields
// cannot change afterwards anyway. The name being taken is an error that the status shows.
struct CreatePod {
  kube::Json pod;
  std::string reason;
  // Created only when the job is still what the plan was made from, says the API server: caches may be old, and a job
  // that has served must not begin again.
  bool if_job_unchanged = false;
};
struct CreateService {
  kube::Json service;
  std::string reason;
};
struct CreatePodDisruptionBudget {
  kube::Json budget;
  std::string reason;
};
// The job's token, drawn when this is carried out: it is in no plan and no log. The name is on record in the status and
// cannot be foreseen, so a Secret of that name that is there already is the one that was meant.
struct CreateSecret {
  std::string name;
  std::string reason;
};
// Its name carries the job's uid, so one of that name that is there already is the one that was meant.
struct CreateNetworkPolicy {
  kube::Json policy;
  std::string reason;
};
// Merge patch; carries the uid, so that a successor of the same name is left alone.
struct PatchPod {
  std::string name, uid;
  kube::Json patch;
  std::string reason;
};
// Other figures for a pod that runs, through the subresource "resize". Strategic merge patch; carries the uid.
struct ResizePod {
  std::string name, uid;
  kube::Json patch;
  std::string reason;
};
struct DeletePod {
  std::string name, uid;
  std::optional<int64_t> grace_period_seconds;
  std::string reason;
  std::string resource_version = {};  // deleted only as it was seen; "": whatever has become of it
};
struct SendDrain {
  std::string name, uid;
  std::string reason;
};
// To a process, through its sidecar; directives.h.
struct SendDirective {
  std::string name, uid, key;
  v1::Directive directive;
  std::string reason;
};
// So many servers at least stay when pods are evicted.
struct PatchPodDisruptionBudget {
  std::string name;
  int32_t min_available = 0;
  std::string reason;
};
// The tuner's setting, into the spec: everything that runs the job follows it. Or a request, an annotation.
struct PatchJob {
  kube::Json patch;  // merge patch; carries the uid
  std::string reason;
  // Changed only when the job is still what the plan was made from: a user may have chosen another setting since.
  bool if_job_unchanged = false;
};
// The same of a job whose spec is its owner's (api/status/chosen_settings.h), always of one that is unchanged. An empty
// patch removes choices that do not count any more.
struct ChooseSettings {
  kube::Json spec;  // merge patch of the spec
  std::string reason;
};
// What the tuner must not forget (objects/tuning_record.h) is read, or begun where nothing is kept yet: it has to be in
// hand before the tuner does anything. `moved`: what an operator of an earlier version left in the status.
struct OpenTuningRecord {
  std::string name;
  std::string moved;
  std::string reason;
  bool with_history = false;  // and what finished jobs of the namespace have left
};
// The same is written as it is now, over what this operator has read or written last and over nothing else.
struct WriteTuningRecord {
  std::string name;
  std::string state;
  std::string reason;
};
// What the tuner has learned of a job that it works on no longer, for similar ones of the namespace: a
// tuner::JobHistory of one entry.
struct KeepTuningHistory {
  std::string history;
  std::string reason;
};
// A place in a queue of Kueue is asked for, changed (a merge patch of the status of the Workload as it was seen) or
// given up. Its name carries a part of the job's uid; one of that name that is another's is never taken for it.
struct CreateWorkload {
  kube::Json workload;
  std::string reason;
};
struct PatchWorkload {
  std::string name;
  kube::Json patch;
  std::string reason;
};
struct DeleteWorkload {
  std::string name, uid;
  std::string reason;
};
struct WriteStatus {
  api::TrainingJobStatus status;
  std::string reason;
};
struct EmitEvent {
  bool warning = false;
  std::string event_reason;  // PascalCase, names.h
  std::string action;        // what the controller did or tried
  std::string note;          // at most 1 KB
};
struct DeleteJob {
  std::string reason;
};
struct RequeueAfter {
  Duration delay;
  std::string reason;
};

using Action = std::variant<PatchPod, PatchJob, ChooseSettings, OpenTuningRecord, WriteTuningRecord, WriteStatus,
                            EmitEvent, CreateService, CreatePodDisruptionBudget, PatchPodDisruptionBudget, CreateSecret,
                            CreateNetworkPolicy, KeepTuningHistory, CreateWorkload, PatchWorkload, DeleteWorkload,
                            CreatePod, ResizePod, SendDrain, SendDirective, DeletePod, DeleteJob, RequeueAfter>;

// One action of a plan. It is carried out when all of `needs`, positions of earlier steps, have succeeded. An Event is
// a report about what it needs: it is sent when at least one has succeeded, and says how many have.
struct Step {
  Action action;
  std::vector<size_t> needs;
};

// One line for logs and tests: "CreatePod a-server-0 (the job has 2 servers)".
std::string Describe(const Action& action);
// Which action on which object, the same in every plan: "CreatePod a-server-0". What failed is remembered under it.
std::string Identity(const Action& action);
// "CreatePod"
std::string KindOf(const Action& action);

}  // namespace attune::controller

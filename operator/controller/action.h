// What a plan may ask for. Actions are carried out in order and the first error ends the round: the status is written
// before anything that would make the facts in it unobservable. Each has a reason, for logs, tests and `describe`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attune/v1/telemetry.pb.h"
#include "base/time_source.h"
#include "operator/api/training_job.h"
#include "operator/controller/names.h"
#include "operator/kube/object.h"

namespace attune::controller {

// Created, not applied: an object of that name that belongs to somebody else is never taken over, and a pod's fields
// cannot change afterwards anyway. The name being taken is an error the status tells.
struct CreatePod {
  kube::Json pod;
  std::string reason;
};
struct CreateService {
  kube::Json service;
  std::string reason;
};
struct CreatePodDisruptionBudget {
  kube::Json budget;
  std::string reason;
};
// Merge patch; carries the uid, so that a successor of the same name is left alone.
struct PatchPod {
  std::string name, uid;
  kube::Json patch;
  std::string reason;
};
struct DeletePod {
  std::string name, uid;
  std::optional<int64_t> grace_period_seconds;
  std::string reason;
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
// So many servers at least stay when nodes are drained.
struct PatchPodDisruptionBudget {
  std::string name;
  int32_t min_available = 0;
  std::string reason;
};
// The tuner's setting, into the spec: everything that runs the job follows it.
struct PatchJob {
  kube::Json patch;  // merge patch; carries the uid
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

using Action =
    std::variant<PatchPod, PatchJob, WriteStatus, EmitEvent, CreateService, CreatePodDisruptionBudget,
                 PatchPodDisruptionBudget, CreatePod, SendDrain, SendDirective, DeletePod, DeleteJob, RequeueAfter>;

// One line for logs and tests: "CreatePod a-server-0 (the job has 2 servers)".
std::string Describe(const Action& action);

}  // namespace attune::controller

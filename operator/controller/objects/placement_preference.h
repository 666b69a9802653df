// On which machine a pod is made rather than on others: near or away from other pods of its job as spec.placement says,
// and on a certain machine when it moves. Preferences only: kube-scheduler weighs them, and never leaves a pod pending
// for one.
#pragma once

#include <string>
#include <vector>

#include "operator/api/training_job.h"
#include "operator/controller/observe/names.h"
#include "operator/kube/object.h"

namespace attune::controller {

struct PlacementPreference {
  std::string to;         // the machine, by name; "": none above the others
  std::string away_from;  // one that is the last choice; "": none
};

// Beside what the template states.
void AddPreference(kube::Json& pod, const PlacementPreference& preference);

// Beside both: machines that have cost the job pods. Whatever else speaks for them, but being asked for by name.
void AddAvoidance(kube::Json& pod, const std::vector<std::string>& machines);

// What spec.placement asks of a pod of this role, beside what the template states. `spec` is that of the pod.
void AddPlacement(kube::Json& spec, const api::TrainingJob& job, RoleName role);

}  // namespace attune::controller

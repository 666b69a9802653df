// The objects of one job, as pure functions of its spec: pods of both roles, the headless Service that gives servers
// their names, and the disruption budget of servers. A user's pod template is completed, never overruled: only what
// this system relies on (restart policy, names, labels, our volumes and variables) is set regardless.
#pragma once

#include <string>

#include "operator/api/training_job.h"
#include "operator/controller/observe/names.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"
#include "operator/kube/object.h"

namespace attune::controller {

inline const kube::ResourceType kPodDisruptionBudgets{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"};

inline constexpr char kModelVolume[] = "attune-model";  // of pods; mounted at contract::kModelDirectoryPath

// `servers`: the number this job has when the pod is made. Workers never learn a number: members come and go.
kube::Json BuildPod(const api::TrainingJob& job, RoleName role, int32_t index, int32_t servers,
                    const PlanOptions& options);
// The same as successor of the pods of that name that failed before.
kube::Json BuildPod(const Observed& observed, RoleName role, int32_t index, int32_t servers,
                    const PlanOptions& options);
kube::Json BuildService(const api::TrainingJob& job);
// Labels and owner of what belongs to the job and goes with it.
kube::Json OwnedMetadata(const api::TrainingJob& job, const std::string& name);
kube::Json BuildPodDisruptionBudget(const api::TrainingJob& job, int32_t servers);

// host:port of the coordinator, which runs in server 0 until status.coordinator says otherwise.
std::string CoordinatorAddress(const api::TrainingJob& job);
// "attune.dev/job=word2vec,attune.dev/role=worker"
std::string RoleSelector(const api::TrainingJob& job, RoleName role);
// True when `object`'s controlling owner is this job (not an earlier one of the same name).
bool IsOwnedBy(const kube::Json& object, const api::TrainingJob& job);

}  // namespace attune::controller

// Figures of the role's container: what the template states, and the target of the spec (spec.workers.resources,
// spec.servers.resources), as pure functions. The limit is the target; the request follows as the template relates the
// two, so that requests and limits that were equal stay equal and the pod's class of service stays what it is.
#pragma once

#include <optional>
#include <string>

#include "operator/api/training_job.h"
#include "operator/controller/observe/names.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/pod_resize.h"
#include "operator/kube/object.h"

namespace attune::controller {

const api::Role& RoleOf(const api::TrainingJob& job, RoleName role);
// As the template states them, without what this system fills in.
ContainerFigures StatedFigures(const api::TrainingJob& job, RoleName role);

// What new pods are given: the target of the spec. Where neither it nor the template says anything, but there is a
// range, one core or 1 GiB within it: a pod without figures could not be resized later. Absent: as the template says.
Amounts TargetsOf(const api::TrainingJob& job, RoleName role);

// Of a pod that is created. What is only requested is not limited; what is not stated at all is given the target.
ResourceFigures FiguresOfNewPod(const ResourceFigures& stated, std::optional<int64_t> target);
// Of a pod that has `live` now. No request or limit is added to it or removed: a resource without figures stays without
// them. Without a target: what the template states, if the pod was `given` figures of the spec before.
ResourceFigures FiguresOfLivePod(const ResourceFigures& stated, std::optional<int64_t> target,
                                 const ResourceFigures& live, bool given);

// Memory of the container, which ended a process that needed more.
std::optional<int64_t> MemoryLimitOf(const ObservedPod& pod);
// The target for the role of a pod that ran out of memory: half as much again, within spec.*.resources.memory. Absent
// where that is not allowed, or is what pods are given already. A function of the limit that the dead pod had, so that
// neither a second look nor another operator raises it twice for one kill.
std::optional<int64_t> RaisedMemory(const api::TrainingJob& job, const ObservedPod& pod);

// What the spec says of the role's pods, with the memory that one of them has turned out to need where the spec does
// not have it yet (Observed::memory_needs): the API server may refuse it for long, and a pod that is made meanwhile
// must not have the size at which another one was killed.
api::RoleResources ResourcesOf(const Observed& observed, RoleName role);

// "512Mi"
std::string MemoryText(int64_t bytes);
// Of what is measured: whole mebibytes, and kibibytes below.
std::string UseText(double bytes);
// "cpu 1 -> 2, memory 512Mi -> 1Gi": what differs; all of `to` when nothing does.
std::string DescribeChange(const Amounts& from, const Amounts& to);

// {"requests": ..., "limits": ...} of what differs from `live`; empty when nothing does. For the subresource resize.
kube::Json ResourcesPatch(const ContainerFigures& wanted, const ContainerFigures& live);

// Of the role's container of a new pod: the figures, and that no resize restarts it.
void SetResources(kube::Json& container, const api::TrainingJob& job, RoleName role);
// For the annotation attune.dev/resize of a new pod; "" when the spec gives it no figures.
std::string RecordOfNewPod(const api::TrainingJob& job, RoleName role);

}  // namespace attune::controller

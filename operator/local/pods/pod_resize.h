// What a node makes of the resources that a pod's spec asks for while the pod runs: pure functions of the spec, of what
// the node accepted, of what is in force, of memory in use and of the room on the node. They decide as a kubelet of
// Kubernetes 1.34 does. The node agent writes control groups and status from what they return.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time_source.h"
#include "operator/kube/object.h"

namespace attune::local {

struct ContainerSpec;

// A condition of the pod; absent when there is nothing to say.
struct ResizeCondition {
  std::string reason;  // pending: "Deferred" or "Infeasible"; in progress: "" or "Error"
  std::string message;
  int64_t generation = 0;  // of the spec that it speaks of
  WallTime since{};        // of this reason
  std::string cause =
      {};  // of an error: while it stays the same the message does too, so that the status comes to rest
};

// Figures of one pod, by container in the order of ContainersOf.
struct PodResources {
  std::vector<kube::Json> accepted;  // what a container starts with and is resized to
  std::vector<kube::Json> in_force;  // while it runs, else as accepted
  std::optional<ResizeCondition> pending, in_progress;
};

// Sums of requests, in cores and bytes.
struct NodeRoom {
  double cores = 0, memory = 0;                      // that pods may ask for
  double cores_of_others = 0, memory_of_others = 0;  // what other pods were accepted with
};

struct ResizeInput {
  const kube::Json& pod;
  const std::vector<ContainerSpec>& specs;
  std::vector<bool> running;                         // by container
  std::vector<std::optional<uint64_t>> memory_used;  // by container; nothing where it is not known
  NodeRoom room;
};

// Limits of a running container that are to be changed. Memory comes first.
struct ResizeStep {
  size_t container = 0;
  bool memory = false, cpu = false;
};

// Container number `index` in the order of ContainersOf.
const kube::Json& ContainerAt(const kube::Json& pod, size_t index);
// Of a pod that this node takes on: what its spec asks for.
PodResources ResourcesOf(const kube::Json& pod, size_t containers);
// Requests of a pod for "cpu" or "memory": its containers and sidecars together, or an init container that asks for
// more.
double PodRequest(const std::vector<ContainerSpec>& specs, const std::vector<kube::Json>& resources, const char* name);

// Whether anything is left to do or to say: cheap, asked at every look.
bool ResizeWanted(const ResizeInput& input, const PodResources& resources);
// Accepts what the spec asks for, defers it or calls it infeasible, and returns what to change in the control groups.
// No step where memory in use forbids one of them: the figures before then stay in force, and it is tried again.
std::vector<ResizeStep> PlanResize(const ResizeInput& input, PodResources& resources, WallTime now);
// After a step, or its first part, was done; and after one could not be done.
void OnResized(PodResources& resources, size_t container, const char* name);
void OnResizeFailed(PodResources& resources, const std::string& container, const std::string& message, WallTime now);
// After all steps: what is done is no longer in progress.
void SettleResize(const ResizeInput& input, PodResources& resources);
// The container starts with, or ends at, what was accepted.
void OnContainerChange(PodResources& resources, size_t container);

}  // namespace attune::local

#include "operator/local/pods/pod_resize.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/local/api/rules/pod_rules.h"
#include "operator/local/pods/pod_plan.h"

namespace attune::local {
namespace {

using kube::Json;

constexpr char kDeferred[] = "Deferred", kInfeasible[] = "Infeasible", kError[] = "Error";

bool IsResizable(const ContainerSpec& spec) { return !spec.init; }

bool Same(const Json& a, const Json& b, const char* name) {
  return SameAmount(ResourceAmount(a, "limits", name), ResourceAmount(b, "limits", name)) &&
         SameAmount(ResourceAmount(a, "requests", name), ResourceAmount(b, "requests", name));
}

bool Same(const Json& a, const Json& b) { return a == b || (Same(a, b, "cpu") && Same(a, b, "memory")); }

const Json& ResourcesAt(const Json& pod, size_t index) { return kube::At(ContainerAt(pod, index), {"resources"}); }

// What the spec asks for, where it may change while the pod runs.
std::vector<Json> Desired(const ResizeInput& input, const PodResources& resources) {
  std::vector<Json> desired = resources.accepted;
  for (size_t i = 0; i < desired.size(); ++i) {
    if (IsResizable(input.specs[i])) desired[i] = ResourcesAt(input.pod, i);
  }
  return desired;
}

// Sets `condition`; its time is that of its reason.
void Set(std::optional<ResizeCondition>& condition, ResizeCondition next) {
  if (condition && condition->reason == next.reason) next.since = condition->since;
  condition = std::move(next);
}

// In the units of Kubernetes: thousandths of a core, bytes.
int64_t Units(const char* name, double amount) {
  return static_cast<int64_t>(std::string_view(name) == "cpu" ? amount * 1000 + 0.5 : amount);
}

struct Asked {
  const char* name;
  double now, before, capacity, of_others;
};

std::vector<Asked> RequestsOf(const ResizeInput& input, const std::vector<Json>& desired,
                              const std::vector<Json>& accepted) {
  const auto request = [&](const std::vector<Json>& resources, const char* name) {
    return PodRequest(input.specs, resources, name);
  };
  const NodeRoom& room = input.room;
  return {
      {"memory", request(desired, "memory"), request(accepted, "memory"), room.memory, room.memory_of_others},
      {"cpu", request(desired, "cpu"), request(accepted, "cpu"), room.cores, room.cores_of_others},
  };
}

void Accept(const ResizeInput& input, PodResources& resources, WallTime now) {
  std::vector<Json> desired = Desired(input, resources);
  const int64_t generation = kube::Generation(input.pod);
  if (std::equal(desired.begin(), desired.end(), resources.accepted.begin(),
                 [](const Json& a, const Json& b) { return Same(a, b); })) {
    resources.pending.reset();
    return;
  }
  const std::vector<Asked> requests = RequestsOf(input, desired, resources.accepted);
  for (const Asked& asked : requests) {
    if (Units(asked.name, asked.now) <= Units(asked.name, asked.capacity)) continue;
    return Set(resources.pending, {kInfeasible,
                                   absl::StrCat("Node didn't have enough capacity: ", asked.name,
                                                ", requested: ", Units(asked.name, asked.now),
                                                ", capacity: ", Units(asked.name, asked.capacity)),
                                   generation, now});
  }
  for (const Asked& asked : requests) {
    // Pods come to this node without a look at its room, so what asks for no more than before always fits.
    if (Units(asked.name, asked.now) <= Units(asked.name, asked.before)) continue;
    if (Units(asked.name, asked.now + asked.of_others) <= Units(asked.name, asked.capacity)) continue;
    return Set(resources.pending,
               {kDeferred,
                absl::StrCat(
                    "Node didn't have enough resource: ", asked.name, ", requested: ", Units(asked.name, asked.now),
                    ", used: ", Units(asked.name, asked.of_others), ", capacity: ", Units(asked.name, asked.capacity)),
                generation, now});
  }
  resources.accepted = std::move(desired);
  resources.pending.reset();
  resources.in_progress = ResizeCondition{"", "", generation, now};
}

bool AsksForRestart(const Json& container, const char* name) {
  for (const Json& policy : kube::At(container, {"resizePolicy"})) {
    if (kube::StringAt(policy, {"resourceName"}) == name)
      return kube::StringAt(policy, {"restartPolicy"}) == "RestartContainer";
  }
  return false;
}

// A limit below what is in use would end the processes.
std::string MemoryProblem(const ResizeInput& input, const PodResources& resources, size_t i) {
  const double next = ResourceAmount(resources.accepted[i], "limits", "memory");
  const double before = ResourceAmount(resources.in_force[i], "limits", "memory");
  const bool lower = next > 0 && (before == 0 || next < before);
  const std::optional<uint64_t>& used = input.memory_used[i];
  if (!lower || !used || static_cast<double>(*used) < next) return "";
  return absl::StrCat("attempting to set container \"", input.specs[i].name, "\" memory limit (", Units("memory", next),
                      ") below current usage (", *used, ")");
}

void SetError(PodResources& resources, ResizeCondition error) {
  const std::optional<ResizeCondition>& before = resources.in_progress;
  if (before && before->reason == kError && before->cause == error.cause) return;
  if (before) error.generation = before->generation;
  Set(resources.in_progress, std::move(error));
}

bool LeftToDo(const ResizeInput& input, const PodResources& resources, size_t i) {
  return input.running[i] && IsResizable(input.specs[i]) && !Same(resources.accepted[i], resources.in_force[i]);
}

}  // namespace

const Json& ContainerAt(const Json& pod, size_t index) {
  const Json& inits = kube::At(pod, {"spec", "initContainers"});
  return index < inits.size() ? inits[index] : kube::At(pod, {"spec", "containers"})[index - inits.size()];
}

PodResources ResourcesOf(const Json& pod, size_t containers) {
  PodResources resources;
  for (size_t i = 0; i < containers; ++i) {
    const Json& asked = ResourcesAt(pod, i);
    resources.accepted.push_back(asked.is_object() ? asked : Json::object());
  }
  resources.in_force = resources.accepted;
  return resources;
}

double PodRequest(const std::vector<ContainerSpec>& specs, const std::vector<Json>& resources, const char* name) {
  double together = 0;  // sidecars so far, then all that run
  double most = 0;
  for (size_t i = 0; i < specs.size(); ++i) {
    const double request = ResourceAmount(resources[i], "requests", name);
    if (specs[i].init) {
      most = std::max(most, together + request);
    } else {
      together += request;
    }
  }
  return std::max(most, together);
}

bool ResizeWanted(const ResizeInput& input, const PodResources& resources) {
  if (resources.pending || resources.in_progress) return true;
  for (size_t i = 0; i < resources.accepted.size(); ++i) {
    if (IsResizable(input.specs[i]) && !Same(ResourcesAt(input.pod, i), resources.accepted[i])) return true;
    if (LeftToDo(input, resources, i)) return true;
  }
  return false;
}

std::vector<ResizeStep> PlanResize(const ResizeInput& input, PodResources& resources, WallTime now) {
  Accept(input, resources, now);
  const int64_t generation = kube::Generation(input.pod);
  std::vector<ResizeStep> steps;
  std::vector<std::string> problems;
  std::string cause;
  for (size_t i = 0; i < resources.accepted.size(); ++i) {
    if (!LeftToDo(input, resources, i)) continue;
    const ResizeStep step{i, !Same(resources.accepted[i], resources.in_force[i], "memory"),
                          !Same(resources.accepted[i], resources.in_force[i], "cpu")};
    const Json& container = ContainerAt(input.pod, i);
    if ((step.memory && AsksForRestart(container, "memory")) || (step.cpu && AsksForRestart(container, "cpu"))) {
      SetError(resources, {kError,
                           "container " + input.specs[i].name +
                               ": its resizePolicy asks for a restart, which a local run does not do; delete the pod, "
                               "or set NotRequired in its template",
                           generation, now, "restart " + input.specs[i].name});
      return {};
    }
    if (const std::string problem = MemoryProblem(input, resources, i); !problem.empty()) {
      problems.push_back(problem);
      absl::StrAppend(&cause, "memory of ", input.specs[i].name, " ");
    }
    steps.push_back(step);
  }
  if (problems.empty()) return steps;
  const std::string all =
      problems.size() == 1 ? problems.front() : absl::StrCat("[", absl::StrJoin(problems, ", "), "]");
  SetError(resources, {kError, "cannot decrease memory limits: " + all, generation, now, cause});
  return {};
}

void OnResized(PodResources& resources, size_t container, const char* name) {
  const Json& accepted = resources.accepted[container];
  Json& in_force = resources.in_force[container];
  for (const char* list : {"limits", "requests"}) {
    if (!kube::At(accepted, {list}).contains(name)) continue;
    in_force[list][name] = accepted[list][name];
  }
}

void OnResizeFailed(PodResources& resources, const std::string& container, const std::string& message, WallTime now) {
  const int64_t generation = resources.in_progress ? resources.in_progress->generation : 0;
  SetError(resources, {kError, "container " + container + ": " + message, generation, now, message});
}

void SettleResize(const ResizeInput& input, PodResources& resources) {
  for (size_t i = 0; i < resources.accepted.size(); ++i) {
    if (LeftToDo(input, resources, i)) return;
  }
  resources.in_progress.reset();
}

void OnContainerChange(PodResources& resources, size_t container) {
  resources.in_force[container] = resources.accepted[container];
}

}  // namespace attune::local

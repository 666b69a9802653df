#include "operator/controller/objects/placement_preference.h"

#include <algorithm>

#include "proto/contract.h"

namespace attune::controller {
namespace {

using kube::Json;

constexpr int kMachineWeight = 100;  // the most there is: a template's own preferences do not outweigh what was asked
// Less: a pod that moves to a machine goes there, whatever else runs there.
constexpr int kAvoidWeight = 60;
constexpr int kNearWeight = 50;
// Servers are made first: workers come to them, but spread among those machines and others.
constexpr int kFollowWeight = 20;

Json& ListAt(Json& affinity, const char* kind) {
  Json& terms = affinity[kind]["preferredDuringSchedulingIgnoredDuringExecution"];
  if (!terms.is_array()) terms = Json::array();
  return terms;
}

// By the machine's name, not by its label kubernetes.io/hostname, which may differ.
Json MachineTerm(const char* relation, const std::string& node, int weight = kMachineWeight) {
  Json field = {{"key", "metadata.name"}, {"operator", relation}, {"values", Json::array({node})}};
  return {{"weight", weight}, {"preference", {{"matchFields", Json::array({std::move(field)})}}}};
}

Json PodsOf(const api::TrainingJob& job, const char* role) {
  Json labels = {{contract::kLabelJobUid, job.uid}};
  if (role != nullptr) labels[contract::kLabelRole] = role;
  return {{"matchLabels", std::move(labels)}};
}

// kube-scheduler spreads the pods of a Service by itself, and that weighs as much as a preferred machine or as pods to
// be near to. It does not where a pod states how it is to be spread: among pods that there are none of, all machines
// are equal.
void LeaveUnspread(Json& spec) {
  if (!kube::At(spec, {"topologySpreadConstraints"}).empty()) return;
  spec["topologySpreadConstraints"] =
      Json::array({{{"maxSkew", 1},
                    {"topologyKey", "kubernetes.io/hostname"},
                    {"whenUnsatisfiable", "ScheduleAnyway"},
                    {"labelSelector", {{"matchLabels", {{contract::kLabelJobUid, "none"}}}}}}});
}

void AddNear(Json& spec, const api::TrainingJob& job, const char* role, int weight) {
  Json term = {{"topologyKey", job.spec.placement.topology_key}, {"labelSelector", PodsOf(job, role)}};
  ListAt(spec["affinity"], "podAffinity").push_back({{"weight", weight}, {"podAffinityTerm", std::move(term)}});
}

// One constraint for each topology key is all that the API server takes: a template's own comes first.
void AddSpread(Json& spec, const api::TrainingJob& job, RoleName role) {
  Json& constraints = spec["topologySpreadConstraints"];
  if (!constraints.is_array()) constraints = Json::array();
  const bool stated = std::ranges::any_of(constraints, [&](const Json& each) {
    return kube::StringAt(each, {"topologyKey"}) == job.spec.placement.topology_key;
  });
  if (stated) return;
  constraints.push_back({{"maxSkew", 1},
                         {"topologyKey", job.spec.placement.topology_key},
                         {"whenUnsatisfiable", "ScheduleAnyway"},
                         {"labelSelector", PodsOf(job, ToString(role))}});
}

}  // namespace

void AddPreference(Json& pod, const PlacementPreference& preference) {
  if (preference.to.empty() && preference.away_from.empty()) return;
  if (!preference.to.empty()) LeaveUnspread(pod["spec"]);
  Json& terms = ListAt(pod["spec"]["affinity"], "nodeAffinity");
  if (!preference.to.empty()) terms.push_back(MachineTerm("In", preference.to));
  if (!preference.away_from.empty()) terms.push_back(MachineTerm("NotIn", preference.away_from));
}

// A term about a field takes one value, so each machine has a term of its own.
void AddAvoidance(Json& pod, const std::vector<std::string>& machines) {
  for (const std::string& machine : machines)
    ListAt(pod["spec"]["affinity"], "nodeAffinity").push_back(MachineTerm("NotIn", machine, kAvoidWeight));
}

void AddPlacement(Json& spec, const api::TrainingJob& job, RoleName role) {
  using api::ServerPlacement, api::WorkerPlacement;
  const api::Placement& placement = job.spec.placement;
  if (role == RoleName::kServer) {
    if (placement.servers == ServerPlacement::kSpread) AddSpread(spec, job, role);
    if (placement.servers == ServerPlacement::kPack || placement.servers == ServerPlacement::kWithWorkers)
      LeaveUnspread(spec);
    if (placement.servers == ServerPlacement::kPack) AddNear(spec, job, nullptr, kNearWeight);
    if (placement.servers == ServerPlacement::kWithWorkers) AddNear(spec, job, contract::kRoleWorker, kNearWeight);
    return;
  }
  if (placement.workers == WorkerPlacement::kSpread) AddSpread(spec, job, role);
  if (placement.workers == WorkerPlacement::kPack) LeaveUnspread(spec);
  if (placement.workers == WorkerPlacement::kPack) AddNear(spec, job, nullptr, kNearWeight);
  if (placement.servers == ServerPlacement::kWithWorkers) AddNear(spec, job, contract::kRoleServer, kFollowWeight);
}

}  // namespace attune::controller

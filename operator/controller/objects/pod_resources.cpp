#include "operator/controller/objects/pod_resources.h"

#include <algorithm>
#include <cmath>

#include "operator/controller/objects/json_fields.h"
#include "operator/kube/quantity.h"

namespace attune::controller {
namespace {

using kube::Json;

// Requests that the servers' built-in container has where neither its template nor the spec says anything.
constexpr char kServerCpu[] = "100m", kServerMemory[] = "128Mi";

// Where a range alone is given.
constexpr int64_t kFirstMillicores = 1000, kFirstBytes = 1LL << 30;

std::optional<int64_t> TargetOf(const api::ResourceTarget& wanted, const ResourceFigures& stated, int64_t first) {
  if (wanted.target || stated.any() || !wanted.max) return wanted.target;
  return std::clamp(first, std::min(wanted.min.value_or(0), *wanted.max), *wanted.max);
}

using FormatAmount = std::string (*)(int64_t);

void Write(Json& resources, const char* name, const ResourceFigures& figures, FormatAmount format) {
  ObjectIn(resources, "requests").erase(name);
  ObjectIn(resources, "limits").erase(name);
  if (figures.request) resources["requests"][name] = format(*figures.request);
  if (figures.limit) resources["limits"][name] = format(*figures.limit);
  for (const char* kind : {"requests", "limits"}) {
    if (resources[kind].empty()) resources.erase(kind);
  }
}

void AddDifference(Json& patch, const char* name, const ResourceFigures& wanted, const ResourceFigures& live,
                   FormatAmount format) {
  if (wanted == live) return;
  if (wanted.request) patch["requests"][name] = format(*wanted.request);
  if (wanted.limit) patch["limits"][name] = format(*wanted.limit);
}

}  // namespace

const api::Role& RoleOf(const api::TrainingJob& job, RoleName role) {
  return role == RoleName::kServer ? job.spec.servers : job.spec.workers;
}

ContainerFigures StatedFigures(const api::TrainingJob& job, RoleName role) {
  const Json& containers = kube::At(RoleOf(job, role).pod_template, {"spec", "containers"});
  if (!containers.is_array()) return {};
  for (const Json& container : containers) {
    if (kube::StringAt(container, {"name"}) == ToString(role)) return FiguresOf(kube::At(container, {"resources"}));
  }
  return {};
}

Amounts TargetsOf(const api::TrainingJob& job, RoleName role) {
  const api::RoleResources& wanted = RoleOf(job, role).resources;
  const ContainerFigures stated = StatedFigures(job, role);
  return {.cpu = TargetOf(wanted.cpu, stated.cpu, kFirstMillicores),
          .memory = TargetOf(wanted.memory, stated.memory, kFirstBytes)};
}

ResourceFigures FiguresOfNewPod(const ResourceFigures& stated, std::optional<int64_t> target) {
  if (!target) return stated;
  if (!stated.any()) return {.request = target, .limit = target};
  if (!stated.limit) return {.request = target, .limit = {}};
  const bool equal = !stated.request || *stated.request >= *stated.limit;
  return {.request = equal ? *target : std::min(*stated.request, *target), .limit = target};
}

ResourceFigures FiguresOfLivePod(const ResourceFigures& stated, std::optional<int64_t> target,
                                 const ResourceFigures& live, bool given) {
  if (!live.any()) return live;
  if (!target && (!given || !stated.any() || stated.limit.has_value() != live.limit.has_value())) return live;
  const ResourceFigures wanted = FiguresOfNewPod(stated, target);
  if (!live.limit) return {.request = target ? target : wanted.request, .limit = {}};
  return {.request = wanted.request, .limit = wanted.limit ? wanted.limit : target};
}

std::optional<int64_t> MemoryLimitOf(const ObservedPod& pod) {
  const bool reported = pod.resize.actual && pod.resize.actual->memory.limit;
  return reported ? pod.resize.actual->memory.limit : pod.resize.asked.memory.limit;
}

std::optional<int64_t> RaisedMemory(const api::TrainingJob& job, const ObservedPod& pod) {
  constexpr int64_t kMebibyte = 1LL << 20;
  const api::ResourceTarget& memory = RoleOf(job, pod.role).resources.memory;
  const std::optional<int64_t> limit = MemoryLimitOf(pod);
  if (!memory.max || !limit || *limit >= *memory.max) return std::nullopt;
  const int64_t half_more = (*limit + *limit / 2 + kMebibyte - 1) / kMebibyte * kMebibyte;
  const int64_t raised = std::clamp(half_more, std::min(memory.min.value_or(0), *memory.max), *memory.max);
  const std::optional<int64_t> given = memory.target ? memory.target : StatedFigures(job, pod.role).memory.limit;
  return given && *given >= raised ? std::nullopt : std::optional(raised);
}

api::RoleResources ResourcesOf(const Observed& observed, RoleName role) {
  api::RoleResources resources = RoleOf(observed.job, role).resources;
  const auto need = observed.memory_needs.find(role);
  if (need == observed.memory_needs.end()) return resources;
  const std::optional<int64_t> given =
      resources.memory.target ? resources.memory.target : StatedFigures(observed.job, role).memory.limit;
  const int64_t needed = std::min(need->second, resources.memory.max.value_or(need->second));
  if (!given || *given < needed) resources.memory.target = needed;
  return resources;
}

std::string MemoryText(int64_t bytes) { return kube::FormatByteCount(bytes); }

std::string UseText(double bytes) {
  constexpr int64_t kKibibyte = 1 << 10, kMebibyte = 1 << 20;
  const int64_t unit = std::abs(bytes) >= static_cast<double>(kMebibyte) ? kMebibyte : kKibibyte;
  return MemoryText(std::llround(bytes / static_cast<double>(unit)) * unit);
}

std::string DescribeChange(const Amounts& from, const Amounts& to) {
  std::string text;
  const auto add = [&](const char* name, std::optional<int64_t> before, std::optional<int64_t> after, auto format) {
    if (!after || before == after) return;
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + (before ? format(*before) + " -> " : "") +
            format(*after);
  };
  add("cpu", from.cpu, to.cpu, kube::FormatMillicores);
  add("memory", from.memory, to.memory, kube::FormatByteCount);
  return text.empty() ? Describe(to) : text;
}

Json ResourcesPatch(const ContainerFigures& wanted, const ContainerFigures& live) {
  Json patch = Json::object();
  AddDifference(patch, "cpu", wanted.cpu, live.cpu, kube::FormatMillicores);
  AddDifference(patch, "memory", wanted.memory, live.memory, kube::FormatByteCount);
  return patch;
}

void SetResources(Json& container, const api::TrainingJob& job, RoleName role) {
  const Amounts wanted = TargetsOf(job, role);
  const bool built_in = role == RoleName::kServer && !kube::At(container, {"resources"}).is_object();
  const ContainerFigures stated = FiguresOf(kube::At(container, {"resources"}));
  if (built_in) {
    container["resources"] = {{"requests", {{"cpu", kServerCpu}, {"memory", kServerMemory}}}};
  }
  if (wanted.cpu) {
    Write(ObjectIn(container, "resources"), "cpu", FiguresOfNewPod(stated.cpu, wanted.cpu), kube::FormatMillicores);
  }
  if (wanted.memory) {
    Write(ObjectIn(container, "resources"), "memory", FiguresOfNewPod(stated.memory, wanted.memory),
          kube::FormatByteCount);
  }
  if (kube::At(container, {"resizePolicy"}).is_array()) return;
  container["resizePolicy"] = Json::array({{{"resourceName", "cpu"}, {"restartPolicy", "NotRequired"}},
                                           {{"resourceName", "memory"}, {"restartPolicy", "NotRequired"}}});
}

std::string RecordOfNewPod(const api::TrainingJob& job, RoleName role) {
  const ResizeRecord record{.from = {}, .to = TargetsOf(job, role), .done = true};
  return record.any() ? ToText(record) : "";
}

}  // namespace attune::controller

#include "operator/local/api/rules/pod_rules.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/kube/quantity.h"
#include "operator/local/api/rules/copy_field.h"

namespace attune::local {
namespace {

using kube::Json;

constexpr const char* kContainerLists[] = {"containers", "initContainers"};
constexpr const char* kResourceLists[] = {"limits", "requests"};
constexpr const char* kResizable[] = {"cpu", "memory"};
constexpr char kMirrorAnnotation[] = "kubernetes.io/config.mirror";

// What is wrong with a pod, as an API server lists it.
class Problems {
 public:
  void Add(const std::string& field, std::string_view problem) {
    std::string text = absl::StrCat(field, ": ", std::string(problem));
    if (std::find(texts_.begin(), texts_.end(), text) == texts_.end()) texts_.push_back(std::move(text));
  }
  Status Of(const Json& pod) const {
    if (texts_.empty()) return OkStatus();
    const std::string all = texts_.size() == 1 ? texts_.front() : absl::StrCat("[", absl::StrJoin(texts_, ", "), "]");
    return Error(StatusCode::kInvalidArgument,
                 absl::StrCat("Pod \"", std::string(kube::Name(pod)), "\" is invalid: ", all));
  }
  bool empty() const { return texts_.empty(); }

 private:
  std::vector<std::string> texts_;
};

std::optional<double> Quantity(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string& text = value.get_ref<const std::string&>();
  if (!text.starts_with('-')) return kube::ParseQuantity(text);
  const std::optional<double> amount = kube::ParseQuantity(std::string_view(text).substr(1));
  return amount ? std::optional(-*amount) : std::nullopt;
}

std::string Text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

bool IsSidecar(const Json& init_container) { return kube::StringAt(init_container, {"restartPolicy"}) == "Always"; }

std::string FieldOf(const char* list, size_t index, std::string_view field) {
  return absl::StrCat("spec.", list, "[", index, "].", std::string(field));
}

void CheckQuantities(const Json& resources, const std::string& field, Problems& problems) {
  for (const char* list : kResourceLists) {
    const Json& amounts = kube::At(resources, {list});
    if (!amounts.is_null() && !amounts.is_object()) problems.Add(field + "." + list, "Invalid value: must be a map");
    for (const auto& [name, value] : amounts.items()) {
      const std::string at = absl::StrCat(field, ".", list, "[", name, "]");
      const std::optional<double> amount = Quantity(value);
      if (!amount) {
        problems.Add(at, "Invalid value: " + value.dump() +
                             ": quantities must match the regular expression "
                             "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
      } else if (*amount < 0) {
        problems.Add(at, "Invalid value: \"" + Text(value) + "\": must be greater than or equal to 0");
      }
    }
  }
}

void CheckRequestsWithinLimits(const Json& resources, const std::string& field, Problems& problems) {
  const Json& limits = kube::At(resources, {"limits"});
  for (const auto& [name, request] : kube::At(resources, {"requests"}).items()) {
    if (!limits.is_object() || !limits.contains(name)) continue;
    const double asked = Quantity(request).value_or(0), most = Quantity(limits[name]).value_or(0);
    if (asked <= most || SameAmount(asked, most)) continue;
    problems.Add(field + ".requests",
                 absl::StrCat("Invalid value: \"", Text(request), "\": must be less than or equal to ", name,
                              " limit of ", Text(limits[name])));
  }
}

void CheckResizePolicy(const Json& container, const std::string& field, bool never_restarts, Problems& problems) {
  std::set<std::string> seen;
  size_t index = 0;
  for (const Json& policy : kube::At(container, {"resizePolicy"})) {
    const std::string name(kube::StringAt(policy, {"resourceName"}));
    const std::string restart(kube::StringAt(policy, {"restartPolicy"}));
    if (!seen.insert(name).second) problems.Add(absl::StrCat(field, "[", index, "]"), "Duplicate value: " + name);
    ++index;
    if (name.empty() || restart.empty()) {
      problems.Add(field, "Required value");
    } else if (name != "cpu" && name != "memory") {
      problems.Add(field, "Unsupported value: \"" + name + "\": supported values: \"cpu\", \"memory\"");
    } else if (restart != "NotRequired" && restart != "RestartContainer") {
      problems.Add(field,
                   "Unsupported value: \"" + restart + "\": supported values: \"NotRequired\", \"RestartContainer\"");
    } else if (never_restarts && restart != "NotRequired") {
      problems.Add(field, "Invalid value: \"" + restart + "\": must be 'NotRequired' when `restartPolicy` is 'Never'");
    }
  }
}

// Containers may neither come, go, change their names nor their order.
void CheckOrder(const Json& old, const Json& next, Problems& problems) {
  for (const char* list : kContainerLists) {
    const Json& before = kube::At(old, {"spec", list});
    const Json& after = kube::At(next, {"spec", list});
    if (before.size() != after.size() || (!after.is_array() && !after.is_null())) {
      problems.Add(absl::StrCat("spec.", list),
                   absl::StrCat("Forbidden: ", list, " may not be added or removed on resize"));
      continue;
    }
    for (size_t i = 0; i < before.size(); ++i) {
      if (kube::StringAt(before[i], {"name"}) == kube::StringAt(after[i], {"name"})) continue;
      problems.Add(FieldOf(list, i, "name"),
                   absl::StrCat("Forbidden: ", list, " may not be renamed or reordered on resize"));
    }
  }
}

void CheckNothingRemoved(const Json& before, const Json& after, const std::string& field, Problems& problems) {
  for (const char* list : kResourceLists) {
    const Json& kept = kube::At(after, {"resources", list});
    for (const auto& [name, value] : kube::At(before, {"resources", list}).items()) {
      if (kept.is_object() && kept.contains(name)) continue;
      problems.Add(absl::StrCat(field, ".", list), absl::StrCat("Forbidden: resource ", list, " cannot be removed"));
    }
  }
}

// `after` with the amounts of cpu and memory of `before`: what is left of a difference may not change. As in the
// original, a list that was not there is not looked at.
Json WithResizableOf(const Json& before, Json after) {
  for (const char* list : kResourceLists) {
    const Json& old_amounts = kube::At(before, {"resources", list});
    Json& resources = after["resources"];
    if (!resources.is_object()) resources = Json::object();
    if (!old_amounts.is_object()) {
      resources.erase(list);
      continue;
    }
    Json& amounts = resources[list];
    if (!amounts.is_object()) amounts = Json::object();
    for (const char* name : kResizable) {
      if (old_amounts.contains(name)) {
        amounts[name] = old_amounts[name];
      } else {
        amounts.erase(name);
      }
    }
  }
  return after;
}

void CheckContainers(const Json& old, const Json& next, Problems& problems) {
  for (const char* list : kContainerLists) {
    const bool init = std::string_view(list) == "initContainers";
    const Json& before = kube::At(old, {"spec", list});
    for (size_t i = 0; i < before.size(); ++i) {
      const Json& after = kube::At(next, {"spec", list})[i];
      if (init && !IsSidecar(before[i])) {
        if (after != before[i])
          problems.Add("spec", "Forbidden: resources for non-sidecar init containers are immutable");
        continue;
      }
      CheckNothingRemoved(before[i], after, FieldOf(list, i, "resources"), problems);
      if (WithResizableOf(before[i], after) == before[i]) continue;
      problems.Add("spec", init ? "Forbidden: only cpu and memory resources for sidecar containers are mutable"
                                : "Forbidden: only cpu and memory resources are mutable");
    }
  }
}

bool HasPodLevelResources(const Json& pod) {
  return std::any_of(std::begin(kResourceLists), std::end(kResourceLists), [&](const char* list) {
    return !kube::At(pod, {"spec", "resources", list}).empty();
  });
}

// A node that resizes says in the status what is in force. Before a container runs nothing is known about the node.
bool NodeResizes(const Json& pod) {
  for (const Json& status : kube::At(pod, {"status", "containerStatuses"})) {
    if (!kube::At(status, {"state", "running"}).is_null()) return !kube::At(status, {"resources"}).is_null();
  }
  return true;
}

bool SameContainers(const Json& old, const Json& next) {
  Problems problems;
  CheckOrder(old, next, problems);
  return problems.empty();
}

void EraseMutableFields(Json& spec) {
  for (const char* field : {"activeDeadlineSeconds", "tolerations", "schedulingGates"}) spec.erase(field);
  for (const char* list : kContainerLists) {
    if (!spec.contains(list) || !spec[list].is_array()) continue;
    for (Json& container : spec[list]) {
      if (container.is_object()) container.erase("image");
    }
  }
}

}  // namespace

double ResourceAmount(const Json& resources, const char* list, const char* name) {
  return std::max(0.0, Quantity(kube::At(resources, {list, name})).value_or(0));
}

bool SameAmount(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

void SetResourceDefaults(Json& container) {
  Json& resources = container["resources"];
  if (resources.is_null()) resources = Json::object();
  if (!kube::At(resources, {"limits"}).is_object()) return;
  if (!resources.contains("requests")) resources["requests"] = Json::object();
  if (!resources["requests"].is_object()) return;
  for (const auto& [name, limit] : resources["limits"].items()) {
    if (!resources["requests"].contains(name)) resources["requests"][name] = limit;
  }
}

std::string QosClass(const Json& pod) {
  std::map<std::string, double> requests, limits;
  bool limited = true;  // every container, in both
  for (const char* list : kContainerLists) {
    for (const Json& container : kube::At(pod, {"spec", list})) {
      for (const char* name : kResizable) {
        const double request = ResourceAmount(kube::At(container, {"resources"}), "requests", name);
        const double limit = ResourceAmount(kube::At(container, {"resources"}), "limits", name);
        if (request > 0) requests[name] += request;
        if (limit > 0) limits[name] += limit;
        limited = limited && limit > 0;
      }
    }
  }
  if (requests.empty() && limits.empty()) return "BestEffort";
  const bool equal =
      requests.size() == limits.size() && std::all_of(requests.begin(), requests.end(), [&](const auto& request) {
        return limits.contains(request.first) && SameAmount(limits[request.first], request.second);
      });
  return limited && equal ? "Guaranteed" : "Burstable";
}

Status CheckPodResources(const Json& pod) {
  Problems problems;
  const bool never_restarts = kube::StringAt(pod, {"spec", "restartPolicy"}) == "Never";
  for (const char* list : kContainerLists) {
    size_t index = 0;
    for (const Json& container : kube::At(pod, {"spec", list})) {
      const Json& resources = kube::At(container, {"resources"});
      const std::string field = FieldOf(list, index, "resources");
      if (!resources.is_null() && !resources.is_object()) problems.Add(field, "Invalid value: must be a map");
      CheckQuantities(resources, field, problems);
      CheckRequestsWithinLimits(resources, field, problems);
      CheckResizePolicy(container, FieldOf(list, index, "resizePolicy"), never_restarts, problems);
      ++index;
    }
  }
  return problems.Of(pod);
}

void KeepAllButResources(const Json& old, Json& next) {
  Json kept = old;
  CopyField(next["metadata"], kept["metadata"], "managedFields");
  const bool same = SameContainers(old, next);
  for (const char* list : kContainerLists) {
    const Json& asked = kube::At(next, {"spec", list});
    if (!same) {
      CopyField(kube::At(next, {"spec"}), kept["spec"], list);
      continue;
    }
    for (size_t i = 0; i < asked.size(); ++i) {
      for (const char* field : {"resources", "resizePolicy"}) CopyField(asked[i], kept["spec"][list][i], field);
    }
  }
  next = std::move(kept);
}

Status CheckPodResize(const Json& old, const Json& next) {
  Problems problems;
  const auto forbidden = [&](std::string_view why) {
    return Error(StatusCode::kInvalidArgument,
                 absl::StrCat("Pod \"", std::string(kube::Name(old)), "\" is invalid: Forbidden: ", std::string(why)));
  };
  if (HasPodLevelResources(old)) return forbidden("pods with pod-level resources cannot be resized");
  if (kube::At(old, {"metadata", "annotations"}).contains(kMirrorAnnotation))
    return forbidden("static pods cannot be resized");
  if (kube::StringAt(old, {"spec", "os", "name"}) == "windows") return forbidden("windows pods cannot be resized");
  const std::string_view recorded = kube::StringAt(old, {"status", "qosClass"});
  const std::string before = recorded.empty() ? QosClass(old) : std::string(recorded);
  if (before != QosClass(next))
    problems.Add("spec", "Invalid value: \"" + before + "\": Pod QOS Class may not change as a result of resizing");
  if (!NodeResizes(old)) problems.Add("spec", "Forbidden: Pod running on node without support for resize");
  CheckOrder(old, next, problems);
  if (SameContainers(old, next)) CheckContainers(old, next, problems);
  return problems.Of(next);
}

Status CheckPodSpecUpdate(const Json& old, const Json& next) {
  Json before = old.value("spec", Json::object());
  Json after = next.value("spec", Json::object());
  if (!after.is_object()) after = Json::object();
  EraseMutableFields(before);
  EraseMutableFields(after);
  if (before == after) return OkStatus();
  return Error(StatusCode::kInvalidArgument,
               absl::StrCat("Pod \"", std::string(kube::Name(next)),
                            "\" is invalid: spec: Forbidden: pod updates may not change fields other than "
                            "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                            "`spec.activeDeadlineSeconds`,`spec.tolerations`,`spec.schedulingGates`"));
}

}  // namespace attune::local

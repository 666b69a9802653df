#include "operator/api/pod/pod_resource_fields.h"

#include <algorithm>

#include "operator/api/fields.h"
#include "operator/api/names.h"
#include "operator/api/pod/label_names.h"
#include "operator/api/pod/pod_field_text.h"
#include "operator/api/pod_template.h"
#include "operator/kube/quantity.h"

namespace attune::api {

std::optional<double> ResourceAmount(const Json& value) {
  if (value.is_number()) return value.get<double>() >= 0 ? std::optional(value.get<double>()) : std::nullopt;
  return value.is_string() ? kube::ParseQuantity(value.get_ref<const std::string&>()) : std::nullopt;
}

void CheckResourceNames(const Json& map, const std::string& path, std::vector<FieldProblem>& problems) {
  static const std::vector<std::string> kNative = {"cpu", "memory", "ephemeral-storage"};
  for (const auto& [name, value] : map.items()) {
    if (std::find(kNative.begin(), kNative.end(), name) != kNative.end() || name.starts_with("hugepages-") ||
        (name.find('/') != std::string::npos && IsQualifiedName(name)))
      continue;
    const auto nearest = NearestName(name, kNative);
    problems.push_back(NameProblem(
        path + "." + name, "an unknown resource",
        (nearest ? *nearest + " (nearest); all: " : "") + JoinNames(kNative) + ", hugepages-SIZE, or DOMAIN/NAME"));
  }
}

void CheckRequestsWithinLimits(const Json& resources, const std::string& path, std::vector<FieldProblem>& problems) {
  const Json& limits = kube::At(resources, {"limits"});
  const Json& requests = kube::At(resources, {"requests"});
  if (!limits.is_object() || !requests.is_object()) return;
  for (const auto& [name, request] : requests.items()) {
    const auto limit = limits.find(name);
    if (limit == limits.end()) continue;
    const auto wanted = ResourceAmount(request), most = ResourceAmount(*limit);
    if (wanted && most && *wanted > *most)
      problems.push_back(
          {path + ".requests." + name, FoundText(request), "at most limits." + name + " (" + FoundText(*limit) + ")"});
  }
}

}  // namespace attune::api

#include "operator/local/api/rules/list_keys.h"

#include <algorithm>
#include <array>
#include <utility>

namespace attune::local {

std::string_view ListKey(std::string_view field, const kube::Json& list) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kKeys{{
      {"containers", "name"},
      {"initContainers", "name"},
      {"volumes", "name"},
      {"env", "name"},
      {"volumeMounts", "mountPath"},
      {"conditions", "type"},
      {"ownerReferences", "uid"},
      {"schedulingGates", "name"},
      {"imagePullSecrets", "name"},
      {"podIPs", "ip"},
      {"hostAliases", "ip"},
  }};
  std::string_view key;
  for (const auto& [name, field_key] : kKeys) {
    if (name == field) key = field_key;
  }
  if (field == "ports") {
    // Pods key ports by containerPort, services by port.
    key =
        !list.empty() && list.front().is_object() && list.front().contains("containerPort") ? "containerPort" : "port";
  }
  if (key.empty() || !list.is_array()) return {};
  const bool keyed = std::all_of(list.begin(), list.end(),
                                 [&](const kube::Json& item) { return item.is_object() && item.contains(key); });
  return keyed ? key : std::string_view{};
}

bool IsSetList(std::string_view field) { return field == "finalizers"; }

}  // namespace attune::local

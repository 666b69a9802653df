#include "operator/local/api/rules/scale.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attune::local {
namespace {

using kube::Json;

Json* Walk(Json& object, const std::vector<std::string>& path, bool create) {
  Json* at = &object;
  for (const std::string& field : path) {
    if (at->is_null() && create) *at = Json::object();
    if (!at->is_object() || (!create && !at->contains(field))) return nullptr;
    at = &(*at)[field];
  }
  return at;
}

}  // namespace

Json ScaleOf(const KindInfo& info, const Json& object) {
  Json copy = object;
  const auto value = [&](const std::vector<std::string>& path, Json otherwise) {
    const Json* found = Walk(copy, path, false);
    return found == nullptr || found->is_null() ? otherwise : *found;
  };
  Json scale{{"apiVersion", "autoscaling/v1"}, {"kind", "Scale"}};
  for (const char* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (object["metadata"].contains(field)) scale["metadata"][field] = object["metadata"][field];
  }
  scale["spec"]["replicas"] = value(info.scale->spec_replicas, 0);
  scale["status"]["replicas"] = value(info.scale->status_replicas, 0);
  if (const Json selector = value(info.scale->status_selector, ""); selector != "")
    scale["status"]["selector"] = selector;
  return scale;
}

StatusOr<Json> WithScale(const KindInfo& info, const Json& object, const Json& scale) {
  const Json& replicas = kube::At(scale, {"spec", "replicas"});
  const int64_t count = replicas.is_number_integer() ? replicas.get<int64_t>() : 0;  // zero may be left out
  if ((!replicas.is_null() && !replicas.is_number_integer()) || count < 0 || count > INT32_MAX) {
    return Error(StatusCode::kInvalidArgument,
                 "spec.replicas: Invalid value: " + replicas.dump() + ": must be an integer, 0 or more");
  }
  Json next = object;
  Json* field = Walk(next, info.scale->spec_replicas, true);
  if (field == nullptr) return Error(StatusCode::kInternal, "the object has no place for its number of replicas");
  *field = count;
  if (const std::string_view expected = kube::ResourceVersion(scale); !expected.empty())
    next["metadata"]["resourceVersion"] = expected;
  return next;
}

}  // namespace attune::local

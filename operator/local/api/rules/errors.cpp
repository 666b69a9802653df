#include "operator/local/api/rules/errors.h"

#include "absl/strings/str_cat.h"

namespace attune::local {

using kube::ResourceType;

std::string ResourceName(const ResourceType& type) {
  return type.group.empty() ? type.plural : type.plural + "." + type.group;
}

Status NotFound(const ResourceType& type, const std::string& name) {
  return Error(StatusCode::kNotFound, ResourceName(type) + " \"" + name + "\" not found");
}

Status Conflict(const ResourceType& type, const std::string& name, std::string_view why) {
  return Error(StatusCode::kAborted, absl::StrCat("Operation cannot be fulfilled on ", ResourceName(type), " \"", name,
                                                  "\": ", std::string(why)));
}

}  // namespace attune::local

// Refusals in an API server's words.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "operator/kube/object.h"

namespace attune::local {

std::string ResourceName(const kube::ResourceType& type);  // "trainingjobs.attune.dev"
Status NotFound(const kube::ResourceType& type, const std::string& name);
Status Conflict(const kube::ResourceType& type, const std::string& name, std::string_view why);

}  // namespace attune::local

// Small helpers shared by the files of MemoryApi; not for others.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "operator/kube/object.h"

namespace attune::local {

std::string RandomHex(size_t bytes);                       // from the kernel's generator
std::string NewUid();                                      // UUID version 4
std::string ResourceName(const kube::ResourceType& type);  // "trainingjobs.attune.dev"
bool HasFinalizer(const kube::Json& object, std::string_view name);
inline constexpr char kForegroundFinalizer[] = "foregroundDeletion";
Status NotFound(const kube::ResourceType& type, const std::string& name);
Status Conflict(const kube::ResourceType& type, const std::string& name, std::string_view why);

}  // namespace attune::local

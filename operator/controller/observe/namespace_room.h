// What policies leave to one job of the resources of its namespace (spec.resources.perNamespace of a policy), and what
// the job's pods request at a setting. Plain values and arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operator/controller/observe/tuning_values.h"

namespace attune::controller {

// What the pods of a job request together.
struct Claim {
  int64_t millicores = 0, bytes = 0;
  friend bool operator==(const Claim&, const Claim&) = default;
};

// Of a job with such pods, at this setting.
Claim ClaimAt(const PodClaims& pods, const JobSetting& setting);

// Why the job may not go from `present` to `asked`: "" when it may. What requests no more than now always may.
std::string WhyNoRoom(const NamespaceRoom& room, const JobSetting& present, const JobSetting& asked);

}  // namespace attune::controller

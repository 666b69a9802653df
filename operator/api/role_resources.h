// Limits of the pods of a role, and where they are to be now: spec.workers.resources, spec.servers.resources.
#pragma once

#include <cstdint>
#include <optional>

namespace attune::api {

// Of the role's container in each pod. Absent bounds: the resource is not resized beyond what users ask for.
struct ResourceTarget {
  std::optional<int64_t> min, max;
  std::optional<int64_t> target;  // absent: the figures of the template

  bool any() const { return min || max || target; }
};

struct RoleResources {
  ResourceTarget cpu;     // millicores
  ResourceTarget memory;  // bytes

  bool any() const { return cpu.any() || memory.any(); }
};

// Less than this cannot be asked for.
inline constexpr int64_t kMillicoresMin = 10;  // a share of a period that a kernel still grants
inline constexpr int64_t kMemoryMin = 16LL << 20;

}  // namespace attune::api

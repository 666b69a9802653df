// Limits of the pods of a role, and where they are to be now: spec.workers.resources, spec.servers.resources.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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

// What the pods of a role use of late, as their sidecars report.
struct RoleUsage {
  double cpu_cores = 0;            // of one pod, their mean
  double cpu_limit_cores = 0;      // likewise; 0: none has a limit
  double throttled = 0;            // share of the time that a limit of CPU held them up, their mean
  std::string fullest;             // the pod nearest to its limit of memory
  int64_t memory_bytes = 0;        // of that one
  int64_t memory_limit_bytes = 0;  // 0: none

  friend bool operator==(const RoleUsage&, const RoleUsage&) = default;
};

// Less than this cannot be asked for.
inline constexpr int64_t kMillicoresMin = 10;  // a share of a period that a kernel still grants
inline constexpr int64_t kMemoryMin = 16LL << 20;

}  // namespace attune::api

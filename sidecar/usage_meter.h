// Measures the training process: reads /proc and cgroup files, turns two readings into the usage between them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "attune/v1/telemetry.pb.h"
#include "base/os/cgroup.h"
#include "base/time_source.h"
#include "sidecar/usage.h"

namespace attune::sidecar {

// A reading at one moment: totals since the process (or the pod's cgroup) began.
struct UsageReading {
  double cpu_seconds = 0;
  uint64_t memory_bytes = 0;
  CgroupLimits limits;
  std::optional<NetworkTotals> network;  // none: it could not be read
  uint64_t identity = 0;                 // readings of different processes are not subtracted from one another
};

// Pure: what was used between two readings, `seconds` apart.
v1::ProcessUsage UsageBetween(const UsageReading& before, const UsageReading& after, double seconds);

struct UsageMeterOptions {
  std::filesystem::path proc = "/proc";
  std::filesystem::path cgroup = kCgroupMount;
};

// Not thread-safe.
class UsageMeter {
 public:
  explicit UsageMeter(UsageMeterOptions options = {}) : options_(std::move(options)) {}

  // Starts over with the process at the other end of the socket. 0: it lives in a process namespace of its own, and the
  // pod's cgroup is read instead, where the container runtime lets us see it.
  void Watch(int pid, MonotonicTime now);
  // Usage since the last call (or Watch); nullopt when nothing about the process can be read. Takes well under a
  // millisecond.
  std::optional<v1::ProcessUsage> Measure(MonotonicTime now);

 private:
  std::optional<UsageReading> Read() const;
  std::optional<UsageReading> ReadTree() const;
  std::optional<UsageReading> ReadPodCgroup() const;

  UsageMeterOptions options_;
  int pid_ = 0;
  std::optional<UsageReading> last_;
  MonotonicTime last_at_{};
};

}  // namespace attune::sidecar

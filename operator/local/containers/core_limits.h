// How many cores each pod of a local run may use: what `attune run --limit-cores-per-pod` says, so that several small
// machines, a slow server or a straggler fit on one machine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace attune::local {

class CoreLimits {
 public:
  // "0.25" for all pods; "0.25,server=0.1,worker-0=0.05" with other numbers for a role and for one pod of it, the most
  // exact name counts; "server=0.1" leaves workers without a limit. InvalidArgument: the text says what may be written.
  static StatusOr<CoreLimits> Parse(std::string_view text);

  bool empty() const { return cores_.empty(); }
  // Of the pod of `role` ("server", "worker") with this index; nothing: no limit.
  std::optional<double> Of(const std::string& role, const std::string& index) const;
  // "0.25 cores per pod, 0.05 for worker-0".
  std::string Description() const;

  // The kernel gives out no less than a millisecond at a time.
  static constexpr double kLeast = 0.01, kMost = 1024;

 private:
  std::map<std::string, double> cores_;  // by "", role, or role-index
};

}  // namespace attune::local

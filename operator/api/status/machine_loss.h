// Pods that a job lost with a machine, or that failed on it (operator/controller/members/machine_losses.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attune::api {

struct MachineLoss {
  std::string machine;
  uint32_t pod = 0;  // proto/pod_number.h
  std::string time;  // RFC 3339, when it was seen
  friend bool operator==(const MachineLoss&, const MachineLoss&) = default;

  static constexpr size_t kKept = 32;    // the newest
  static constexpr size_t kToAvoid = 2;  // on one machine
};

// Machines with so many of them, by name: new pods of the job are made elsewhere, where there is room.
std::vector<std::string> AvoidedMachines(const std::vector<MachineLoss>& losses);

}  // namespace attune::api

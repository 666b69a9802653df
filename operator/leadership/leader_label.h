// Which pod sidecars reach: the Service for telemetry selects the label that the leader puts on its own pod, and takes
// off others. Both replicas stay ready, so rollouts and disruption budgets count them both.
#pragma once

#include <string>

#include "base/status.h"
#include "operator/kube/api.h"

namespace attune::leadership {

inline constexpr char kLabelLeader[] = "attune.dev/leader";  // its value is the name of the Lease

class LeaderLabel {
 public:
  // `api` writes only while this process leads (fenced_api.h), and must outlive it. `pod`: this process'.
  LeaderLabel(kube::Api& api, kube::ObjectKey pod, std::string lease_name);

  // The label is on this pod and on no other one. Again from time to time: labels can be edited by hand.
  Status Claim();

 private:
  kube::Api& api_;
  const kube::ObjectKey pod_;
  const std::string lease_name_;
};

}  // namespace attune::leadership

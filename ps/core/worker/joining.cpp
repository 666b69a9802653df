#include "ps/core/worker/joining.h"

namespace attune::ps {

Join Joining::Ask(uint32_t term, bool takes_rows, MonotonicTime now) {
  sent_ = now;
  if (!cluster_.formed()) cluster_.SetSelf(NodeId());
  Join join = introduction_;
  join.takes_rows = takes_rows;
  join.node = cluster_.self();
  join.term = term;
  return join;
}

bool Joining::Welcomed(const Welcome& message) {
  expected_ = message.servers_expected;
  joined_ = message.servers_joined;
  if (cluster_.admitted()) return false;
  cluster_.SetSelf(message.node);
  return true;
}

std::optional<CallId> Joining::TakeReady(bool in_step) {
  if (!call_ || !in_step || !cluster_.admitted() || !cluster_.formed()) return std::nullopt;
  if (cluster_.ServerNotConnected() != NodeId()) return std::nullopt;
  return std::exchange(call_, std::nullopt);
}

std::string Joining::WhatIsMissing() const {
  if (!cluster_.IsConnected(kCoordinator)) return "the coordinator is not reachable; see the log of server 0";
  if (!cluster_.admitted()) return "the coordinator has not answered";
  if (!cluster_.formed()) {
    return std::to_string(joined_) + " of " + std::to_string(expected_) +
           " servers have joined; see the logs of the missing ones";
  }
  if (const NodeId server = cluster_.ServerNotConnected(); server != NodeId()) {
    return Describe(cluster_.map(), server) + " is not reachable; see its log";
  }
  return {};
}

}  // namespace attune::ps

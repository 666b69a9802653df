// How a worker becomes a member: what it says to the coordinator, and when it says it again; how many servers the job
// still waits for; and the program's call that ends when it may begin. Pure. Externally synchronized.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/time_source.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/worker/worker_io.h"

namespace attune::ps {

class Joining {
 public:
  // `introduction`: what every Join of this process says. `cluster` must outlive it.
  Joining(ClusterView& cluster, Join introduction, Duration ask_again_after)
      : cluster_(cluster), introduction_(std::move(introduction)), ask_again_after_(ask_again_after) {}

  // Before the first Join.
  void SetAddress(std::string address) { introduction_.address = std::move(address); }

  // To be sent now. Before the job has formed, a coordinator that gave this node its number may have been lost: the
  // number is forgotten. `takes_rows`: this worker asks for permission to own rows.
  Join Ask(uint32_t term, bool takes_rows, MonotonicTime now);
  // When to ask again; kNever: there is an answer, or no coordinator to ask. `wants_permission`: what this worker has
  // asked for is not in the map.
  MonotonicTime again_at(bool wants_permission) const {
    const bool asks = !cluster_.admitted() || wants_permission;
    return asks && cluster_.IsConnected(kCoordinator) ? sent_ + ask_again_after_ : kNever;
  }
  // True: this node is a member now. One that is keeps its number.
  bool Welcomed(const Welcome& message);

  void Wait(CallId call) { call_ = call; }
  void GiveUp(CallId call) {
    if (call_ == call) call_.reset();
  }
  // The call that waits, once the program may begin: the job has formed, every server is connected, and this worker is
  // in a step. Before that step rows are being copied: pushes of the program would be in them.
  std::optional<CallId> TakeReady(bool in_step);

  // What the job, or its members, have not done yet; empty: this worker is a member with all its connections.
  std::string WhatIsMissing() const;

 private:
  ClusterView& cluster_;
  Join introduction_;
  const Duration ask_again_after_;
  MonotonicTime sent_{};
  uint32_t expected_ = 0, joined_ = 0;  // servers
  std::optional<CallId> call_;
};

}  // namespace attune::ps

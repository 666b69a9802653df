// When a worker takes what it receives: messages that their senders may not send are dropped, answers sent under a
// newer map than its own wait for that map, and messages about its rows wait while its liveness lease has run out
// (ps/core/link/fenced_inbox.h). What waits is taken up in the order it came in, or left out where there is no room:
// its sender sends it again.
//
// Externally synchronized. What it is constructed with must outlive it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/time_source.h"
#include "ps/core/link/fenced_inbox.h"
#include "ps/core/link/liveness_lease.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/protocol/message_rights.h"
#include "ps/core/protocol/node_inputs.h"

namespace attune::ps {

class WorkerInbox {
 public:
  enum class Turn : uint8_t { kNow, kUnderNewerMap, kUnderLease, kNever };

  WorkerInbox(const ClusterView& cluster, const LivenessLease& lease) : cluster_(cluster), lease_(lease) {}

  // True: the sender may not say that. It is to be dropped; nothing else happens but an entry in `rejected`.
  bool Refuses(const Received& input, std::vector<RejectedMessage>& rejected) {
    return rights_.Refuses(input.message, input.from, PartyOf(input.from, cluster_.map()), rejected);
  }
  // So many were.
  uint64_t refused() const { return rights_.refused(); }

  // When to handle a message that is not refused.
  Turn TurnOf(const Received& input, MonotonicTime now) const;
  // It waits; `turn` is one of those in between.
  void Keep(Received input, Turn turn);
  // There is a newer map: what has waited for one. Some may have to wait for the next.
  std::vector<Received> TakeUnderMap() { return std::exchange(held_, {}); }
  // The lease is valid again.
  std::vector<Received> TakeUnderLease() { return fenced_.Take(); }

 private:
  const ClusterView& cluster_;
  const LivenessLease& lease_;
  RightsCheck rights_{Party::kWorker};
  FencedInbox fenced_;
  std::vector<Received> held_;  // for a newer map
};

}  // namespace attune::ps

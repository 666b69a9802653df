// The weights that shards are placed by, because workers ask for some of them more than for others; and what came of
// the last change of them. Puts together what servers report (ShardLoad) and when that is acted on (RebalanceDecider).
// Pure; externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time_source.h"
#include "ps/core/coordinator/balance/rebalance_decider.h"
#include "ps/core/coordinator/balance/shard_load.h"
#include "ps/core/membership/members/member_table.h"
#include "ps/core/membership/placement_planner.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/membership_messages.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

// A hot server that has been relieved, for displays.
struct Relief {
  uint64_t number = 0;  // 1, 2, ... of this coordinator's; 0: there was none
  uint32_t server = 0;  // index of the one that was hot
  double times_mean = 0;
  uint64_t shards = 0;                // that have moved
  std::vector<uint32_t> takers = {};  // indices of the servers that they moved to, ascending
  bool operator==(const Relief&) const = default;
};

class LoadBalance {
 public:
  explicit LoadBalance(RebalanceRules rules) : decider_(rules) {}

  void OnReport(NodeId server, const LoadReport& report, const ShardMap& map, MonotonicTime now) {
    load_.OnReport(server, report, map, now);
  }
  struct Looked {
    bool begins = false;  // the weights are other ones now
    std::string event;    // for the log; empty: there is nothing to be said
  };
  // Whether there is anything to look at.
  bool MayLook() const { return decider_.rules().enabled && load_.knows_any(); }
  // Looks whether a server is to be relieved, while nothing else changes where shards lie.
  Looked Look(const ShardMap& map, const PlacementGoal& goal, const MemberTable& members, MonotonicTime now);
  // It cannot be looked at now.
  void Interrupt() { decider_.Interrupt(); }
  // The weights, if there are any for a map of so many shards.
  void AddWeights(size_t shards, PlacementGoal& goal) const;
  // All shards lie as they are to lie. Returns what is to be said; empty: nothing.
  std::string NoteSettled(const ShardMap& map, const MemberTable& members, MonotonicTime now);
  void SkipPause(Duration pause);

  const Relief& last() const { return last_; }
  // A coordinator that follows places by the same weights, so that it takes nothing back; loads it measures itself.
  const std::vector<uint32_t>& weights() const { return weights_; }
  void Restore(std::vector<uint32_t> weights) { weights_ = std::move(weights); }

 private:
  ShardLoad load_;
  RebalanceDecider decider_;
  std::vector<uint32_t> weights_;  // by ShardId; empty: equal ones
  struct Change {
    Relief relief;
    std::vector<NodeId> homes;  // before it, by ShardId
  };
  std::optional<Change> change_;  // in progress
  Relief last_;
};

}  // namespace attune::ps

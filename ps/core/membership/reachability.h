// Who cannot reach whom. The coordinator may hear two members that have no link to each other: a firewall, a broken
// switch, a path that fails in one direction. Calls between them would wait for ever, and with them all that wait for
// those, so one of the two has to go.
//
// Each member says with its heartbeats to which others it has no link. Of the links that have been missing for a
// while, the member goes that misses most of them, because the fewest go then (the greedy cover of the edges of a graph
// by its vertices). One that may not go and misses more than all that may: none goes, it would not help.
//
// Pure; externally synchronized.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/time_source.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

class Reachability {
 public:
  struct Candidate {
    NodeId node;
    // Lowest first among those that miss equally many links.
    std::pair<uint32_t, uint32_t> cost;
  };

  // `timeout`: a link is dialed again for so long before one of its ends has to go.
  explicit Reachability(Duration timeout) : timeout_(timeout) {}

  // What a member has said last replaces what it said before.
  void Said(NodeId member, const std::vector<NodeId>& unreached, MonotonicTime now);
  void Forget(NodeId member);
  // The members could not be heard for so long, so their links may be there again.
  void Forgive(Duration time, MonotonicTime now);

  // No link of this member is missing, not even for a moment.
  bool HasAllLinks(NodeId member) const;
  // Members that have had no link to others for longer than the timeout, each with those others, ascending.
  std::map<NodeId, std::vector<NodeId>> Missing(MonotonicTime now) const;
  // Which one is to go.
  std::optional<NodeId> ToGo(const std::vector<Candidate>& candidates, MonotonicTime now) const;

 private:
  Duration timeout_;
  std::map<std::pair<NodeId, NodeId>, MonotonicTime> missing_;  // by who says it and of whom; since
};

}  // namespace attune::ps

// Which member is given up because it and another one do not reach each other (docs/decisions/0036): its heartbeats are
// not answered and do not count any more, so its lease runs out and it is lost in the same way, and with the same care,
// as one that is silent. One at a time. Who misses which links is known from what members say (reachability.h); who can
// be spared is the coordinator's part.
//
// Pure; externally synchronized.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time_source.h"
#include "ps/core/membership/reachability.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class LinkWatch {
 public:
  // A member that can be spared.
  struct Candidate {
    Role role = Role::kWorker;
    uint32_t index = 0;
    bool vote_is_missed = false;  // should the operator be away, the whole job would wait for it
    bool has_rows = false;        // that have to be taken over
  };
  // nullopt: it cannot be spared now, or is no member.
  using CandidateOf = std::function<std::optional<Candidate>(NodeId)>;
  using NameOf = std::function<std::string(NodeId)>;

  // `timeout`: a link is dialed again for so long before one of its ends has to go.
  explicit LinkWatch(Duration timeout) : timeout_(timeout), links_(timeout) {}

  // To whom a member has no link; replaces what it said before. True when that changes whether it has all its links.
  bool Said(NodeId member, const std::vector<NodeId>& unreached, MonotonicTime now);
  void Forget(NodeId member);
  // The members could not be heard for so long, so their links may be there again.
  void Forgive(Duration time, MonotonicTime now) { links_.Forgive(time, now); }
  // No link of this member is missing, not even for a moment.
  bool HasAllLinks(NodeId member) const { return links_.HasAllLinks(member); }

  bool IsGivenUp(NodeId member) const { return given_up_ == member; }
  // The one that was given up stays so as long as it can be spared and misses its links. Then, if one `may_be_chosen`,
  // among those that miss equally many links: the one that was given up less often, since the last choice may not have
  // helped; a server that holds nothing, a worker, and last a server whose rows have to be taken over; one whose vote
  // is missed after all others. Returns who is newly given up.
  std::optional<NodeId> Check(MonotonicTime now, bool may_be_chosen, const CandidateOf& candidate_of);
  void GiveUpNone() { given_up_.reset(); }
  // "worker 1 (node 4) has had no connection for 10 s to server 0 (node 1)".
  std::string Describe(NodeId member, MonotonicTime now, const NameOf& name) const;

 private:
  std::vector<Reachability::Candidate> Candidates(MonotonicTime now, const CandidateOf& candidate_of) const;

  Duration timeout_;
  Reachability links_;
  std::optional<NodeId> given_up_;
  std::map<std::pair<Role, uint32_t>, uint32_t> times_;  // by role and index: another process may have come
};

}  // namespace attune::ps

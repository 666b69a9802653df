// Whether a coordinator may act: it holds a lease that a strict majority of votes gives it, so that it has ended
// for certain before a majority can give one to the next coordinator (docs/decisions/0029; leases as in Gray and
// Cheriton, 1989; overlapping majorities of two configurations as in Raft, section 6).
//
// The voters are the servers that a map names as such. All machines have as many votes, shared by the voters on them
// (docs/decisions/0045), so that no loss of one machine of several takes more than half of them. Each answer of a voter
// supports the coordinator for one lease, counted from the time when the question left the coordinator: an answer that
// was long in flight, or that waited in front of a process that stood still, lengthens nothing. While several
// configurations may each be the newest that some majority knows, a majority of each is needed. Every map names all of
// these configurations, and a successor needs half of each that the newest map it finds names. So it shares at least
// one with the coordinator before, and breaks its majority there: a majority of any configuration that has been left
// behind knows a newer map, and the successor would have found that map among the answers.
//
// Pure; externally synchronized.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time_source.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

// The sets of voters that a map names; all its servers when it names none.
std::vector<Voters> VotersOf(const ShardMap& map);

// With votes for each of them, so that all machines have as many. `machines`: where they run; one that is not named, or
// with an empty name, counts as alone on its machine.
Voters WithVotes(Voters voters, const std::map<NodeId, std::string>& machines);

class LeaderLease {
 public:
  // `lease`: how long an answer counts.
  LeaderLease(uint32_t term, Duration lease, Mistake half_is_a_majority = {})
      : lease_(lease), half_is_a_majority_(half_is_a_majority), last_ask_(uint64_t{term} << 32) {}

  // The next map is to name these voters. The same as before: nothing changes; nor when kVoterSetsMax configurations
  // are not superseded yet.
  void Configure(const Voters& voters);
  // Continues from the configurations that a map of a coordinator before names, with what has been confirmed since.
  void Adopt(std::vector<Voters> configurations);
  // The operator has recorded that the coordinator continues with these: they replace all configurations of maps up to
  // theirs. False when they are older than what is in force, and nothing changes.
  bool Confirm(const Voters& voters);

  // The number that the answer has to name. Never 0.
  uint64_t Ask(NodeId voter, MonotonicTime now);
  void OnAnswer(NodeId voter, uint64_t number, MapVersion knows);
  // The newest map that the voter has said to have.
  void Knows(NodeId voter, MapVersion map);
  // Its process is proven gone: it can support no other coordinator either, so it counts as no voter any more. False:
  // it did not before.
  bool Exclude(NodeId voter);
  bool IsExcluded(NodeId voter) const { return excluded_.contains(voter); }
  void Forget(NodeId voter) { support_.erase(voter); }

  // kNever before the first configuration: there is nothing to act on.
  MonotonicTime ends() const;
  bool Held(MonotonicTime now) const { return now < ends(); }
  // Whether it would be held although these had said nothing: then they can be declared lost, and a majority of every
  // configuration learns so before the map without them takes effect. What they answered before may be the last they
  // did for this coordinator: they may have promised to obey another one since.
  bool HeldWithout(const std::set<NodeId>& silent, MonotonicTime now) const;
  // Whether the voter has supported this coordinator within half a lease.
  bool IsFresh(NodeId voter, MonotonicTime now) const;
  // Of the newest configuration.
  bool Votes(NodeId node) const;
  // Whether no majority of the newest configuration is possible without it, no matter who answers: as of one of two
  // voters, or of the only server on one of two machines.
  bool HasHalfOfTheVotes(NodeId node) const;
  // With whom to ask the operator for a confirmation, because a majority will be missing soon: those of `members` that
  // support it, when they are at least half of every configuration, or when that has been missing for `timeout`.
  // Empty: no need, or no use.
  std::vector<NodeId> Wanted(const std::vector<NodeId>& members, MonotonicTime now, Duration timeout);

  // By map, the oldest that counts first: what every map has to name.
  const std::vector<Voters>& configurations() const { return configurations_; }

 private:
  struct Question {
    uint64_t number;
    MonotonicTime at;
  };
  struct Support {
    std::deque<Question> open;              // newest last
    std::optional<MonotonicTime> asked_at;  // of the newest question that was answered
    MapVersion knows;
  };
  // Of those that are not excluded.
  template <typename Counts>
  uint64_t VotesOf(const Voters& voters, Counts counts) const;
  uint64_t AllVotesOf(const Voters& voters) const;
  bool ReplaceBy(const Voters& confirmed);
  void DropSuperseded();
  MonotonicTime EndsIn(const Voters& voters, const std::set<NodeId>& silent) const;

  Duration lease_;
  Mistake half_is_a_majority_;
  uint64_t last_ask_;
  std::vector<Voters> configurations_;
  std::optional<Voters> confirmed_;  // last
  std::map<NodeId, Support> support_;
  std::set<NodeId> excluded_;
  MonotonicTime minority_since_ = kNever;  // fewer than half are fresh
};

}  // namespace attune::ps

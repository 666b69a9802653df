#include "ps/core/membership/leader_lease.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

constexpr size_t kOpenQuestionsMax = 64;
constexpr int64_t kMarginDivisor = 10;  // two clocks may differ in speed
// Every number up to 16 divides it, so that machines with up to so many servers have exactly as many votes.
constexpr uint32_t kVotesOfAMachine = 720720;

}  // namespace

std::vector<Voters> VotersOf(const ShardMap& map) {
  if (!map.voters.empty()) return map.voters;
  Voters servers{.map_version = map.version, .nodes = {}};
  for (const Member& member : map.members) {
    if (member.role == Role::kServer) servers.nodes.push_back(member.node);
  }
  return {servers};
}

Voters WithVotes(Voters voters, const std::map<NodeId, std::string>& machines) {
  const auto machine_of = [&](NodeId node) {
    const auto found = machines.find(node);
    return found == machines.end() ? std::string() : found->second;
  };
  std::map<std::string, uint32_t> voters_on;
  for (const NodeId node : voters.nodes) ++voters_on[machine_of(node)];
  voters_on[""] = 1;
  voters.votes.clear();
  for (const NodeId node : voters.nodes) {
    voters.votes.push_back(std::max(kVotesOfAMachine / voters_on.at(machine_of(node)), 1U));
  }
  if (std::ranges::adjacent_find(voters.votes, std::not_equal_to()) == voters.votes.end()) voters.votes.clear();
  return voters;
}

void LeaderLease::Configure(const Voters& voters) {
  const bool changes = configurations_.empty() || configurations_.back().nodes != voters.nodes ||
                       configurations_.back().votes != voters.votes;
  if (!changes) return;
  if (configurations_.size() >= kVoterSetsMax) return;
  configurations_.push_back(voters);
  DropSuperseded();
}

void LeaderLease::Adopt(std::vector<Voters> configurations) {
  configurations_ = std::move(configurations);
  if (confirmed_) ReplaceBy(*confirmed_);
  DropSuperseded();
}

bool LeaderLease::Confirm(const Voters& voters) {
  if (!ReplaceBy(voters)) return false;
  confirmed_ = voters;
  DropSuperseded();
  return true;
}

bool LeaderLease::ReplaceBy(const Voters& confirmed) {
  if (!configurations_.empty() && confirmed.map_version < configurations_.front().map_version) return false;
  std::erase_if(configurations_, [&](const Voters& old) { return old.map_version <= confirmed.map_version; });
  configurations_.insert(configurations_.begin(), confirmed);
  return true;
}

uint64_t LeaderLease::Ask(NodeId voter, MonotonicTime now) {
  Support& support = support_[voter];
  support.open.push_back({++last_ask_, now});
  if (support.open.size() > kOpenQuestionsMax) support.open.pop_front();
  return last_ask_;
}

void LeaderLease::Knows(NodeId voter, MapVersion map) {
  const auto found = support_.find(voter);
  if (found == support_.end()) return;
  found->second.knows = std::max(found->second.knows, map);
  DropSuperseded();
}

void LeaderLease::OnAnswer(NodeId voter, uint64_t number, MapVersion knows) {
  const auto found = support_.find(voter);
  if (found == support_.end()) return;
  Support& support = found->second;
  while (!support.open.empty() && support.open.front().number < number) support.open.pop_front();
  if (!support.open.empty() && support.open.front().number == number) support.asked_at = support.open.front().at;
  Knows(voter, knows);
}

bool LeaderLease::Exclude(NodeId voter) {
  support_.erase(voter);
  return excluded_.insert(voter).second;
}

template <typename Counts>
uint64_t LeaderLease::VotesOf(const Voters& voters, Counts counts) const {
  uint64_t votes = 0;
  for (size_t i = 0; i < voters.nodes.size(); ++i) {
    if (!excluded_.contains(voters.nodes[i]) && counts(voters.nodes[i])) votes += voters.VotesAt(i);
  }
  return votes;
}

uint64_t LeaderLease::AllVotesOf(const Voters& voters) const {
  return VotesOf(voters, [](NodeId) { return true; });
}

// Once a strict majority of a configuration knows a newer map, no majority of it can take the older one for the newest.
void LeaderLease::DropSuperseded() {
  const auto superseded = [&](const Voters& older, MapVersion newer) {
    const uint64_t knowing = VotesOf(older, [&](NodeId node) {
      const auto support = support_.find(node);
      return support != support_.end() && support->second.knows >= newer;
    });
    return 2 * knowing > AllVotesOf(older);
  };
  while (configurations_.size() > 1 && superseded(configurations_[0], configurations_[1].map_version)) {
    configurations_.erase(configurations_.begin());
  }
  std::erase_if(excluded_, [&](NodeId node) {
    return std::ranges::none_of(configurations_, [&](const Voters& voters) {
      return std::ranges::find(voters.nodes, node) != voters.nodes.end();
    });
  });
}

// The latest time until which more than half of the votes support this coordinator.
MonotonicTime LeaderLease::EndsIn(const Voters& voters, const std::set<NodeId>& silent) const {
  std::vector<std::pair<MonotonicTime, uint32_t>> supporting;  // until when, with how many votes
  for (size_t i = 0; i < voters.nodes.size(); ++i) {
    const NodeId node = voters.nodes[i];
    const auto support = support_.find(node);
    if (support == support_.end() || !support->second.asked_at || silent.contains(node) || excluded_.contains(node)) {
      continue;
    }
    supporting.emplace_back(*support->second.asked_at + (lease_ - lease_ / kMarginDivisor), voters.VotesAt(i));
  }
  std::ranges::sort(supporting, std::greater());
  const uint64_t all = AllVotesOf(voters);
  uint64_t votes = 0;
  for (const auto& [until, more] : supporting) {
    votes += more;
    if (2 * votes > all || (half_is_a_majority_ && 2 * votes == all)) return until;
  }
  return MonotonicTime::min();
}

MonotonicTime LeaderLease::ends() const {
  MonotonicTime ends = kNever;
  for (const Voters& voters : configurations_) ends = std::min(ends, EndsIn(voters, {}));
  return ends;
}

bool LeaderLease::HeldWithout(const std::set<NodeId>& silent, MonotonicTime now) const {
  return std::ranges::all_of(configurations_, [&](const Voters& voters) { return now < EndsIn(voters, silent); });
}

bool LeaderLease::IsFresh(NodeId voter, MonotonicTime now) const {
  const auto support = support_.find(voter);
  return support != support_.end() && support->second.asked_at && now - *support->second.asked_at <= lease_ / 2;
}

bool LeaderLease::Votes(NodeId node) const {
  if (configurations_.empty()) return false;
  const std::vector<NodeId>& nodes = configurations_.back().nodes;
  return std::ranges::find(nodes, node) != nodes.end();
}

bool LeaderLease::HasHalfOfTheVotes(NodeId node) const {
  if (configurations_.empty()) return false;
  const Voters& newest = configurations_.back();
  const uint64_t its = VotesOf(newest, [&](NodeId voter) { return voter == node; });
  return its > 0 && 2 * its >= AllVotesOf(newest);
}

std::vector<NodeId> LeaderLease::Wanted(const std::vector<NodeId>& members, MonotonicTime now, Duration timeout) {
  bool majority = true, half = true;
  for (const Voters& voters : configurations_) {
    const uint64_t all = AllVotesOf(voters);
    const uint64_t fresh = VotesOf(voters, [&](NodeId node) { return IsFresh(node, now); });
    majority = majority && 2 * fresh > all;
    half = half && 2 * fresh >= all;
  }
  if (half) minority_since_ = kNever;
  if (majority) return {};
  if (!half && minority_since_ == kNever) minority_since_ = now;
  if (!half && now - minority_since_ < timeout) return {};
  std::vector<NodeId> wanted = members;
  std::erase_if(wanted, [&](NodeId node) { return !IsFresh(node, now); });
  return wanted;
}

}  // namespace attune::ps

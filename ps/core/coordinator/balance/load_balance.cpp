#include "ps/core/coordinator/balance/load_balance.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

namespace attune::ps {
namespace {

// "3.1"
std::string OneDecimal(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", number);
  return text;
}

}  // namespace

LoadBalance::Looked LoadBalance::Look(const ShardMap& map, const PlacementGoal& goal, const MemberTable& members,
                                      MonotonicTime now) {
  RebalanceDecider::Verdict verdict = decider_.Look(map, goal, load_.Rates(map, now), now);
  if (verdict.note) {
    return {.event = members.Name(verdict.note->home) + " is asked for " + OneDecimal(verdict.note->times_mean) +
                     " times the mean's keys, " + std::to_string(std::lround(verdict.note->share_of_home * 100)) +
                     " % of them in shard " + std::to_string(verdict.note->shard.value()) +
                     ": wherever that lies a server is hot, so nothing moves"};
  }
  if (!verdict.begin) return {};
  weights_ = std::move(verdict.begin->weights);
  change_ = Change{.relief = {.number = last_.number + 1,
                              .server = members.at(verdict.begin->hottest).member.index,
                              .times_mean = verdict.begin->times_mean},
                   .homes = {}};
  for (const Shard& shard : map.shards) change_->homes.push_back(shard.home);
  return {.begins = true,
          .event = members.Name(verdict.begin->hottest) + " is asked for " + OneDecimal(verdict.begin->times_mean) +
                   " times the mean's keys; it is relieved"};
}

void LoadBalance::AddWeights(size_t shards, PlacementGoal& goal) const {
  if (weights_.size() == shards && !goal.servers.empty()) PlaceBy(weights_, goal);
}

std::string LoadBalance::NoteSettled(const ShardMap& map, const MemberTable& members, MonotonicTime now) {
  decider_.NoteSettled(now);
  if (!change_) return {};
  Relief relief = std::move(change_->relief);
  std::set<NodeId> takers;
  for (size_t i = 0; i < map.shards.size(); ++i) {
    if (map.shards[i].home == change_->homes[i]) continue;
    ++relief.shards;
    takers.insert(map.shards[i].home);
  }
  change_.reset();
  if (relief.shards == 0) return {};
  std::string names;
  for (const NodeId taker : takers) {
    relief.takers.push_back(members.at(taker).member.index);
    names += (names.empty() ? " moved to " : ", ") + members.Name(taker);
  }
  std::ranges::sort(relief.takers);
  last_ = std::move(relief);
  return std::to_string(last_.shards) + " shards" + names + " to relieve server " + std::to_string(last_.server);
}

void LoadBalance::SkipPause(Duration pause) {
  load_.SkipPause(pause);
  decider_.SkipPause(pause);
}

}  // namespace attune::ps

#include "ps/core/coordinator/balance/rebalance_decider.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ps/core/coordinator/balance/shard_load.h"

namespace attune::ps {
namespace {

// A share of all rows counts a quarter of the same share of all requests. Keys are hashed to shards, so each has the
// same share of the rows. An even spread of rows is worth something, and no shard weighs nothing.
constexpr double kRowsWeight = 0.25;
// What the mean shard weighs, as a whole number: weights are kept and sent as such.
constexpr double kMeanWeight = 64;
// Times the mean number of shards that a server may become the home of for the sake of its load.
constexpr double kHomesMax = 4.0 / 3;
// A plan is made again until nothing is left to be done: what so many bring has to be enough.
constexpr int kPlansMax = 64;

// Of two servers that keep each other's copies neither can take a home without the copy being given up first. For the
// sake of the load that is not done: should the home be lost then, so are its rows.
bool MayPlaceByWeights(const PlacementGoal& goal) { return goal.servers.size() > (goal.backups > 0 ? 2U : 1U); }

ShardMap Planned(ShardMap map, const PlacementGoal& goal) {
  for (int i = 0; i < kPlansMax; ++i) {
    const std::vector<PlacementChange> changes = PlanPlacement(map, goal);
    if (changes.empty()) break;
    map = WithChanges(map, changes, map.version);
    for (Shard& shard : map.shards) {
      if (shard.next_backup != NodeId()) shard.backup = std::exchange(shard.next_backup, NodeId());
    }
  }
  return map;
}

}  // namespace

std::vector<uint32_t> WeightsOf(std::span<const double> rates) {
  const double total = std::accumulate(rates.begin(), rates.end(), 0.0);
  const auto shards = static_cast<double>(rates.size());
  std::vector<uint32_t> weights;
  weights.reserve(rates.size());
  for (const double rate : rates) {
    const double share = (kRowsWeight / shards + (total > 0 ? rate / total : 0)) / (kRowsWeight + 1);
    weights.push_back(static_cast<uint32_t>(std::max(1.0, std::round(share * shards * kMeanWeight))));
  }
  return weights;
}

void PlaceBy(std::span<const uint32_t> weights, PlacementGoal& goal) {
  if (!MayPlaceByWeights(goal)) return;
  goal.weights.assign(weights.begin(), weights.end());
  const double mean = static_cast<double>(weights.size()) / static_cast<double>(goal.servers.size());
  goal.homes_max = static_cast<size_t>(std::ceil(kHomesMax * mean));
}

bool RebalanceDecider::IsHotLongEnough(double hottest, double mean, MonotonicTime now) {
  if (hottest < rules_.keys_per_second_min || hottest <= rules_.hot * mean) {
    hot_since_.reset();
    return false;
  }
  if (!hot_since_) hot_since_ = now;
  return now - *hot_since_ >= rules_.hot_for && now >= rest_until_;
}

RebalanceDecider::Verdict RebalanceDecider::Look(const ShardMap& map, const PlacementGoal& goal,
                                                 std::span<const double> rates, MonotonicTime now) {
  if (!rules_.enabled || moving_ || !MayPlaceByWeights(goal)) return {};
  const std::vector<double> loads = LoadByServer(map, goal.servers, rates);
  const auto hottest = std::ranges::max_element(loads);
  const double mean = std::accumulate(loads.begin(), loads.end(), 0.0) / static_cast<double>(loads.size());
  if (!IsHotLongEnough(*hottest, mean, now)) return {};
  const NodeId server = goal.servers[static_cast<size_t>(hottest - loads.begin())];
  Rebalance rebalance{.weights = WeightsOf(rates), .hottest = server, .times_mean = *hottest / mean};
  PlacementGoal weighted = goal;
  PlaceBy(rebalance.weights, weighted);
  const ShardMap planned = Planned(map, weighted);
  if (std::ranges::max(LoadByServer(planned, goal.servers, rates)) > *hottest - rules_.better_by * mean) {
    rest_until_ = now + rules_.rest;  // it may be another day, but not at once
    return {.begin = {}, .note = NoteShard(map, server, *hottest, mean, rates)};
  }
  rest_ = GoesBack(map, planned) ? std::min(2 * rest_, rules_.rest_max) : rules_.rest;
  homes_before_.clear();
  for (const Shard& shard : map.shards) homes_before_.push_back(shard.home);
  moving_ = true;
  noted_.reset();
  hot_since_.reset();
  return {.begin = std::move(rebalance), .note = {}};
}

// Whether the plan takes back what the last change did, for any shard.
bool RebalanceDecider::GoesBack(const ShardMap& map, const ShardMap& planned) const {
  for (size_t i = 0; i < homes_before_.size() && i < map.shards.size(); ++i) {
    if (planned.shards[i].home == homes_before_[i] && map.shards[i].home != homes_before_[i]) return true;
  }
  return false;
}

std::optional<HotShard> RebalanceDecider::NoteShard(const ShardMap& map, NodeId hottest, double load, double mean,
                                                    std::span<const double> rates) {
  std::optional<size_t> heaviest;
  for (size_t i = 0; i < rates.size(); ++i) {
    if (map.shards[i].home == hottest && (!heaviest || rates[i] > rates[*heaviest])) heaviest = i;
  }
  if (!heaviest || load - rates[*heaviest] > rules_.hot * mean) return std::nullopt;  // it is not the whole excess
  const ShardId shard(static_cast<uint32_t>(*heaviest));
  if (std::exchange(noted_, shard) == shard) return std::nullopt;
  return HotShard{.shard = shard, .home = hottest, .times_mean = load / mean, .share_of_home = rates[*heaviest] / load};
}

void RebalanceDecider::NoteSettled(MonotonicTime now) {
  if (!std::exchange(moving_, false)) return;
  rest_until_ = now + rest_;
}

void RebalanceDecider::SkipPause(Duration pause) {
  if (hot_since_) *hot_since_ += pause;
}

}  // namespace attune::ps

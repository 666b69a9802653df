// When a server that is asked for much more than the others gives shards away, and which weights they are placed by
// then (docs/decisions/0052-hot-servers.md). A pure function of what it has seen: the loads, the map and the time come
// with each look. Externally synchronized.
//
// It moves rows seldom and never back and forth: the load has to be high for a while, the plan has to be better by a
// margin, its weights are those of one moment, and after each change comes a rest, which doubles when shards go back to
// where they were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time_source.h"
#include "ps/core/membership/placement_planner.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

struct RebalanceRules {
  bool enabled = true;
  double hot = 1.3;                     // times the mean of the servers
  double keys_per_second_min = 20'000;  // of the hottest one: less is no load for any server
  Duration hot_for = std::chrono::seconds(5);
  double better_by = 0.1;  // of the mean: what the hottest server has to lose
  Duration rest = std::chrono::minutes(1);
  Duration rest_max = std::chrono::minutes(10);
};

// Shards are to be placed by these weights from now on.
struct Rebalance {
  std::vector<uint32_t> weights;  // by ShardId
  NodeId hottest;
  double times_mean = 0;  // what it was asked for
};
// One shard is what makes a server hot: wherever it goes, that server is.
struct HotShard {
  ShardId shard;
  NodeId home;
  double times_mean = 0;     // what the home is asked for
  double share_of_home = 0;  // of that
};

class RebalanceDecider {
 public:
  explicit RebalanceDecider(RebalanceRules rules) : rules_(rules) {}
  const RebalanceRules& rules() const { return rules_; }

  struct Verdict {
    std::optional<Rebalance> begin;
    std::optional<HotShard> note;  // once per shard
  };
  // `goal` says everything but weights; `rates` are keys per second by ShardId. To be asked while nothing else changes
  // where shards lie, and every server of the goal is heard.
  Verdict Look(const ShardMap& map, const PlacementGoal& goal, std::span<const double> rates, MonotonicTime now);
  // It could not be asked: what was seen before says nothing about now.
  void Interrupt() { hot_since_.reset(); }
  // All shards lie as the weights say.
  void NoteSettled(MonotonicTime now);
  // This process has stood still.
  void SkipPause(Duration pause);

 private:
  bool IsHotLongEnough(double hottest, double mean, MonotonicTime now);
  bool GoesBack(const ShardMap& map, const ShardMap& planned) const;
  std::optional<HotShard> NoteShard(const ShardMap& map, NodeId hottest, double load, double mean,
                                    std::span<const double> rates);

  RebalanceRules rules_;
  std::optional<MonotonicTime> hot_since_;
  bool moving_ = false;
  Duration rest_{};                   // after the change in progress, or the last one
  MonotonicTime rest_until_{};        // nothing is planned before
  std::vector<NodeId> homes_before_;  // the last change, by ShardId
  std::optional<ShardId> noted_;
};

// Shards are placed by these weights, which are as many as there are shards; no server is home of many more than the
// others for that, for its memory is what the even share of all rows takes.
void PlaceBy(std::span<const uint32_t> weights, PlacementGoal& goal);
// From keys per second, by ShardId; each at least 1.
std::vector<uint32_t> WeightsOf(std::span<const double> rates);

}  // namespace attune::ps

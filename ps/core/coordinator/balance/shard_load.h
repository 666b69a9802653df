// How many keys per second workers ask each shard for, from what its homes report: a mean in which a second counts the
// less the longer it is past. A rate is taken over the time that the server itself has measured, so a report that comes
// late, or after others were lost, is no load that was not there. Pure; externally synchronized.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/time_source.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/membership_messages.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class ShardLoad {
 public:
  // Only what the home of a shard by this map says of it counts, and only of time in which it was its home.
  void OnReport(NodeId server, const LoadReport& report, const ShardMap& map, MonotonicTime now);
  // Keys per second, by ShardId. A server reports while it is asked for anything: the shards of one that is silent are
  // asked for nothing.
  std::vector<double> Rates(const ShardMap& map, MonotonicTime now) const;
  // Any server has ever reported one.
  bool knows_any() const { return !shards_.empty(); }
  // This process has stood still: no server was silent meanwhile.
  void SkipPause(Duration pause);

 private:
  struct Mean {
    double sum = 0, weight = 0;
    void Add(double rate, Duration lasted);
  };
  struct Reporter {
    uint64_t number = 0;
    MonotonicTime heard{};
  };

  std::vector<Mean> shards_;
  std::map<NodeId, Reporter> reporters_;  // members
};

// Sums over the shards that each of these servers, ascending, is the home of; by its place among them.
std::vector<double> LoadByServer(const ShardMap& map, std::span<const NodeId> servers, std::span<const double> rates);

}  // namespace attune::ps

// A worker of this simulation that has copies of rows: a slow, obvious twin of WorkerReplicas, which announces at
// random.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "ps/core/protocol/ids.h"

namespace attune::ps::simulation {

using Columns = std::set<uint32_t>;  // pushes, by what they add to

struct SimHolder {
  struct Home {
    uint64_t round = 0;  // the last one sent; 0: none under the homes of today
    bool in_flight = false;
    std::map<TableKey, Columns> had;  // what the rows had when the round was sent
    std::vector<TableKey> left;       // copies that the home has taken back
    std::map<TableId, size_t> folds;  // pushes to copies since the last round: indexes into the pushes of the run
  };
  std::map<NodeId, Home> homes;
  std::map<TableKey, Columns> copies;
  std::set<TableKey> asked_for;  // in the rounds that are in flight
  std::set<TableKey> used;       // elsewhere, since they were asked for: a copy that comes may lack that
  std::set<TableKey> refused;    // copies that came and were not taken: their homes are to hear of it
  std::map<TableKey, Columns> seen;
  uint64_t rounds = 0;  // with all homes
};

}  // namespace attune::ps::simulation

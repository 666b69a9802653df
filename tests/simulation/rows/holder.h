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
  // What a worker has read of a row. It may have contained pushes that were not acknowledged, which a recovery loses
  // until they are issued again: a copy of a later era need not have them.
  struct Seen {
    uint16_t era = 0;
    Columns columns;
  };
  struct Home {
    uint64_t round = 0;  // the last one sent; 0: none under the homes of today
    bool in_flight = false;
    std::map<TableKey, Columns> had;  // what was acknowledged of the rows when the round was sent
    std::map<TableKey, Seen> seen;    // what had been read of them
    std::vector<TableKey> left;       // copies that the home has taken back
    std::map<TableId, size_t> folds;  // pushes to copies since the last round: indexes into the pushes of the run
  };
  std::map<NodeId, Home> homes;
  std::map<TableKey, Columns> copies;
  std::map<TableKey, uint16_t> eras;  // of the copies
  std::set<TableKey> asked_for;       // in the rounds that are in flight
  std::set<TableKey> used;            // elsewhere, since they were asked for: a copy that comes may lack that
  std::set<TableKey> refused;         // copies that came and were not taken: their homes are to hear of it
  std::map<TableKey, Seen> seen;
  uint64_t rounds = 0;  // with all homes
};

}  // namespace attune::ps::simulation

// The coordinator of a job with real workers and servers that hold no rows, from one seed in one thread: streams to the
// coordinator delay and break, workers and servers join, leave, die, stand still and are slow, clocks drift, the
// operator changes its mind. Checkers:
//
//   StepBound     no worker begins step c before every worker with work has finished c - s (BSP: s = 0)
//   CommonStep    all workers go through a step under the same mode
//   EveryItem     each item is processed once; with failures, extra runs <= reported reprocessed items
//   MapUnique     no two maps with one version; homes and copies are live servers, and different ones
//   OneChange     no planned change while a member is not ready with the last one
//   EveryCallEnds steps, leases and commands end in time; the job finishes
//   CutExact      a checkpoint's rows hold all pushes of steps before the cut and none of later ones, and its leases
//   say
//                 exactly which items these were; under Async every item it calls done is in the rows
//   OneTable      a table's number means the same table at every server
//   OneLeader     no two coordinators may act at one time, no matter who is stopped, cut off or wrongly taken for dead
//   AtRest        in the end shards lie evenly on the servers that are wanted, with their copies
#pragma once

#include "tests/simulation/suite.h"

namespace attune::ps::simulation {

Suite CoordinatorSuite();

}  // namespace attune::ps::simulation

// A whole job - coordinators, servers, workers with their programs - from one seed in one thread, over a network that
// delays, reorders, loses, duplicates, breaks and parts, while servers and workers join, leave and die, the coordinator
// dies with its server or is handed over and another one follows, disks are full and modes are switched. Checkers watch
// from outside and keep their own account of what must be true:
//
//   OneOwner       a row is held by at most one member
//   AtMostOnce     a row contains nothing that no worker pushed
//   SumOfPushes    at the end, rows = sum of pushes of workers that left cleanly, plus what dead ones may have got
//                  through
//   OwnPushes      a pull shows every push of its worker issued before it
//   VersionsRise   what a worker sees of a row never falls from one pull to a later one
//   AgeKept        a pull shows what had been acknowledged as long ago as a row that was fetched ahead may be old
//   FloorKept      a pull in step c shows every push of the steps that all workers had to end before c began
//   EveryCallEnds  each call completes exactly once, by its deadline; the job finishes (where a message takes more than
//                  a second: once the network is good)
//   StateTravels   optimizer state is that of the same pushes as the row's values
//   StepBound      no worker begins step c before every worker with work has finished c - s (BSP: s = 0)
//   CommonStep     all workers go through a step under the same mode
//   EveryItem      each item of each epoch is processed once; with failures, extra runs <= reported reprocessed items;
//                  what counts as done is in the rows
//   SaveComplete   tables saved by a program have all their files
//   CutExact       a checkpoint holds the pushes of exactly the items its record calls done, also while rows move; a
//                  job that is resumed from it after a crash of everything continues from there (all of the above, from
//                  what it holds)
//   ClosingWork    a job with a data set for what follows the goal is finished only when every item of it is done; one
//                  that a worker which left in order has done is done by no other
//   AtRest         when all have left: nothing parked
#pragma once

#include "tests/simulation/suite.h"

namespace attune::ps::simulation {

Suite JobSuite();

}  // namespace attune::ps::simulation

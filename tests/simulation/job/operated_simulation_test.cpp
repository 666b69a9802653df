// The whole job on a platform that is the operator's own code, over an API server that fails. A failure prints its seed
// and how to see it again; ATTUNE_SEED=<seed> runs that one alone, with its history.
#include "tests/simulation/job/operated_simulation.h"

#include "tests/simulation/suite_test.h"

namespace attune::ps::simulation::operated_simulation_test {
namespace {

TEST(OperatedSimulation, HoldsItsPromisesUnderEverySeed) {
  ExpectSeedsHold(OperatedSuite(), 80,
                  {{"appointments", 5},
                   {"calls that failed", 50},
                   {"coordinators lost", 5},
                   {"server deaths", 2},
                   {"lost workers", 10},
                   {"machines cut off", 5},
                   {"operators that ended", 10},
                   {"operators that died in a call", 2},
                   {"operators that were stopped", 5},
                   {"times that the API server was away", 5},
                   {"stale looks", 10},
                   {"drains", 2},
                   {"items of closing work", 10},
                   {"attempts from a checkpoint", 5}});
}

TEST(OperatedSimulation, TheSameSeedGivesTheSameRun) { ExpectSeedsRepeat(OperatedSuite(), 10); }

}  // namespace
}  // namespace attune::ps::simulation::operated_simulation_test

// The whole job on a platform that is the operator's own code, over an API server that fails. A failure prints its seed
// and how to see it again; ATTUNE_SEED=<seed> runs that one alone, with its history.
#include "tests/simulation/job/operated_simulation.h"

#include "tests/simulation/suite_test.h"

namespace attune::ps::simulation {
namespace {

TEST(OperatedSimulation, TheSameSeedGivesTheSameRun) { ExpectSeedsRepeat(OperatedSuite(), 10); }

}  // namespace
}  // namespace attune::ps::simulation

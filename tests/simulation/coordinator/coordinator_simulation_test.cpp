// The coordinator under changes and failures. A failure prints its seed and how to see it again; ATTUNE_SEED=<seed>
// runs that one alone, with its history.
#include "tests/simulation/coordinator/coordinator_simulation.h"

#include "tests/simulation/suite_test.h"

namespace attune::ps::simulation::coordinator_simulation_test {
namespace {

constexpr uint64_t kSeeds = 500;
constexpr uint64_t kSeedsOfMistakes = 20000;  // the rarest needs a tenth of that

TEST(CoordinatorSimulation, HoldsItsPromisesUnderEverySeed) {
  ExpectSeedsHold(CoordinatorSuite(), kSeeds,
                  {{"steps", 1000},
                   {"switches", 100},
                   {"breaks", 100},
                   {"recoveries", 50},
                   {"copies completed", 50},
                   {"items processed again", 10},
                   {"checkpoints", 100},
                   {"best checkpoints", 50},
                   {"takeovers", 100},
                   {"started over", 1}});
}

TEST(CoordinatorSimulation, TheSameSeedGivesTheSameRun) { ExpectSeedsRepeat(CoordinatorSuite(), 20); }

class DeliberateCoordinatorMistake : public testing::TestWithParam<Mutant> {};

TEST_P(DeliberateCoordinatorMistake, IsCaught) { ExpectCaught(CoordinatorSuite(), GetParam(), kSeedsOfMistakes); }

INSTANTIATE_TEST_SUITE_P(CoordinatorSimulation, DeliberateCoordinatorMistake,
                         testing::ValuesIn(CoordinatorSuite().mutants),
                         [](const testing::TestParamInfo<Mutant>& mutant) { return TestNameOf(mutant.param); });

}  // namespace
}  // namespace attune::ps::simulation::coordinator_simulation_test

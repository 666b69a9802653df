// A thousand seeds of the rows' simulation, and proof that its checkers see deliberate mistakes. One seed with
// its history: ATTUNE_SEED=n rows_simulation_test --gtest_filter=RowSimulation.*
#include "tests/simulation/rows/rows_simulation.h"

#include "tests/simulation/suite_test.h"

namespace attune::ps::simulation::rows_simulation_test {
namespace {

constexpr uint64_t kSeeds = 1000;
constexpr uint64_t kSeedsOfMistakes = 20000;  // the rarest needs a tenth of that

TEST(RowSimulation, PromisesHold) {
  ExpectSeedsHold(RowSuite(), kSeeds,
                  {{"handovers", kSeeds},
                   {"waited", kSeeds / 4},
                   {"parked", kSeeds / 20},
                   {"replicated", kSeeds},
                   {"recoveries", kSeeds / 4},
                   {"home moves", kSeeds / 20},
                   {"joins", kSeeds / 20},
                   {"drains", 1},
                   {"resent", 1},
                   {"pauses", kSeeds / 20},
                   {"declared lost while paused", kSeeds / 100},
                   {"partitions", kSeeds / 20},
                   {"declared lost while cut off", kSeeds / 100},
                   {"dropped at full queues", kSeeds / 20},
                   {"copies", kSeeds / 10},
                   {"copies not taken", kSeeds / 20},
                   {"copies taken back", kSeeds / 50},
                   {"folds", kSeeds / 50}});
}

TEST(RowSimulation, TheSameSeedGivesTheSameRun) { ExpectSeedsRepeat(RowSuite(), 30); }

class RowMistake : public testing::TestWithParam<Mutant> {};

TEST_P(RowMistake, IsCaught) { ExpectCaught(RowSuite(), GetParam(), kSeedsOfMistakes); }

INSTANTIATE_TEST_SUITE_P(RowSimulation, RowMistake, testing::ValuesIn(RowSuite().mutants),
                         [](const testing::TestParamInfo<Mutant>& mutant) { return TestNameOf(mutant.param); });

}  // namespace
}  // namespace attune::ps::simulation::rows_simulation_test

// The whole job under a hostile network. A failure prints its seed and how to see it again; ATTUNE_SEED=<seed> runs
// that one alone, with its history.
#include "tests/simulation/job/job_simulation.h"

#include "tests/simulation/suite_test.h"

namespace attune::ps::simulation::job_simulation_test {
namespace {

constexpr uint64_t kSeeds = 400;
constexpr uint64_t kSeedsOfMistakes = 20000;  // the rarest needs a tenth of that

TEST(JobSimulation, HoldsItsPromisesUnderEverySeed) {
  // A run that never meets a duplicate proves nothing about duplicates.
  ExpectSeedsHold(JobSuite(), kSeeds,
                  {{"duplicate pushes", 100},
                   {"parked pulls", 100},
                   {"breaks", 100},
                   {"answers received in place", 100},
                   {"places revoked", 1},
                   {"items processed again", 10},
                   {"deadlines passed", 10},
                   {"lost workers", 10},
                   {"saves", 10},
                   {"failed saves", 1},
                   {"rows moved", 100},
                   {"server deaths", 3},
                   {"coordinators lost", 1},
                   {"takeovers", 5},
                   {"machines lost", 1},
                   {"scalings", 10},
                   {"partitions", 10},
                   {"links cut", 20},
                   {"members given up", 10},
                   {"switches", 10},
                   {"checkpoints", 10},
                   {"items of closing work", 100},
                   {"failures at the closing work", 10},
                   {"resumed jobs", 5}});
}

TEST(JobSimulation, TheSameSeedGivesTheSameRun) { ExpectSeedsRepeat(JobSuite(), 20); }

class DeliberateMistake : public testing::TestWithParam<Mutant> {};

TEST_P(DeliberateMistake, IsCaught) { ExpectCaught(JobSuite(), GetParam(), kSeedsOfMistakes); }

INSTANTIATE_TEST_SUITE_P(JobSimulation, DeliberateMistake, testing::ValuesIn(JobSuite().mutants),
                         [](const testing::TestParamInfo<Mutant>& mutant) { return TestNameOf(mutant.param); });

}  // namespace
}  // namespace attune::ps::simulation::job_simulation_test

// Whatever happens, no two candidates may act at the same time, no term is used twice, and some candidate leads as soon
// as that is possible. ATTUNE_SEED=<seed> runs one seed alone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "base/os/random_seed.h"
#include "tests/operator/leadership/random_election.h"

namespace attune::leadership::election_property_test {
namespace {

TEST(ElectionPropertyTest, NeverTwoAtATimeAndSoonOneAgain) {
  constexpr uint64_t kSeeds = 400;
  const char* chosen = std::getenv("ATTUNE_SEED");
  const uint64_t first = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : RandomSeed() >> 20;
  const uint64_t seeds = chosen != nullptr ? 1 : kSeeds;
  std::cout << "seeds " << first << " to " << first + seeds - 1 << " (ATTUNE_SEED)" << std::endl;
  std::map<std::string, int> counts;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    RandomElection election(seed);
    election.Run();
    ASSERT_EQ(election.problem(), "") << "replay with ATTUNE_SEED=" << seed;
    for (const auto& [what, count] : election.counts) counts[what] += count;
  }
  for (const auto& [what, count] : counts) std::cout << what << ": " << count << "\n";
  if (chosen != nullptr) return;
  for (const char* what : {"terms", "lost", "resigned", "answers lost", "conflicts", "old reads", "killed", "stopped",
                           "stopped in a call", "server away", "deleted", "edited", "recoveries"}) {
    EXPECT_GT(counts[what], 100) << what << " hardly happens; the test says less than it should";
  }
}

}  // namespace
}  // namespace attune::leadership::election_property_test

// What the tests of all suites ask: some hundreds of seeds hold, a seed repeats itself, and mistakes are caught.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/suite.h"

namespace attune::ps::simulation {

// What must have happened at least so often over all seeds.
using AtLeast = std::vector<std::pair<const char*, uint64_t>>;

inline void ExpectSeedsHold(const Suite& suite, uint64_t seeds, const AtLeast& at_least) {
  if (const auto seed = ChosenSeed()) {
    const std::string text = Explain(suite, *seed);
    std::cout << text;
    EXPECT_TRUE(suite.run(*seed, {}, false).violations.empty());
    return;
  }
  std::cout << suite.name << ": seeds 1 to " << seeds << std::endl;
  const SeedsResult result = RunSeeds(suite, 1, seeds);
  ASSERT_EQ(result.failure, "");
  std::cout << result.sum.messages << " messages";
  for (const auto& [what, number] : result.sum.counts) std::cout << ", " << number << " " << what;
  std::cout << std::endl;
  for (const auto& [what, number] : at_least) EXPECT_GE(result.sum.Count(what), number) << what;
}

inline void ExpectSeedsRepeat(const Suite& suite, uint64_t seeds) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const Outcome first = suite.run(seed, {}, false);
    const Outcome second = suite.run(seed, {}, true);  // looking must not change anything
    EXPECT_EQ(first.digest, second.digest) << suite.describe(seed);
    EXPECT_EQ(first.messages, second.messages) << suite.describe(seed);
  }
}

// A checker that misses a deliberate mistake would miss a real one. The seed that caught it last is tried first;
// another one may show it when the simulation has changed.
inline void ExpectCaught(const Suite& suite, const Mutant& mutant, uint64_t seeds_max) {
  uint64_t first = mutant.seed;
  std::optional<Catch> caught = Hunt(suite, mutant, first, 1);
  if (!caught) caught = Hunt(suite, mutant, first = 1, seeds_max);
  ASSERT_TRUE(caught) << "\"" << mutant.name << "\" was not caught by seeds 1 to " << seeds_max;
  std::cout << mutant.name << ": caught by seed " << first + caught->seeds - 1 << ", " << caught->violation
            << std::endl;
}

inline std::string TestNameOf(const Mutant& mutant) {
  std::string name;
  for (const char c : mutant.name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

}  // namespace attune::ps::simulation

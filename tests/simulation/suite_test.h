// What the tests of all suites ask: some hundreds of seeds hold, a seed repeats itself, and mistakes are caught. Each
// draws its first seed and prints it before anything else; a failure prints the command that replays its seed.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/suite.h"

namespace attune::ps::simulation {

// What must have happened at least so often over all seeds: far below what any range of that length shows.
using AtLeast = std::vector<std::pair<const char*, uint64_t>>;

inline void ExpectSeedsHold(const Suite& suite, uint64_t seeds, const AtLeast& at_least) {
  if (const auto seed = ChosenSeed()) {
    const std::string text = Explain(suite, *seed);
    std::cout << text;
    EXPECT_TRUE(suite.run(*seed, {}, false).violations.empty());
    return;
  }
  const uint64_t first = FreshSeed();
  std::cout << suite.name << ": " << seeds << " seeds from " << first << std::endl;
  const SeedsResult result = RunSeeds(suite, first, seeds);
  ASSERT_EQ(result.failure, "");
  std::cout << result.sum.messages << " messages";
  for (const auto& [what, number] : result.sum.counts) std::cout << ", " << number << " " << what;
  std::cout << std::endl;
  for (const auto& [what, number] : at_least) EXPECT_GE(result.sum.Count(what), number) << what;
}

inline void ExpectSeedsRepeat(const Suite& suite, uint64_t seeds) {
  const uint64_t first_seed = FreshSeed();
  std::cout << suite.name << ": " << seeds << " seeds from " << first_seed << std::endl;
  for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    const Outcome first = suite.run(seed, {}, false);
    const Outcome second = suite.run(seed, {}, true);  // looking must not change anything
    EXPECT_EQ(first.digest, second.digest) << suite.describe(seed);
    EXPECT_EQ(first.messages, second.messages) << suite.describe(seed);
  }
}

// A checker that misses a deliberate mistake would miss a real one.
inline void ExpectCaught(const Suite& suite, const Mutant& mutant, uint64_t seeds_max) {
  const uint64_t first = FreshSeed();
  std::cout << mutant.name << ": seeds from " << first << std::endl;
  const std::optional<Catch> caught = Hunt(suite, mutant, first, seeds_max);
  ASSERT_TRUE(caught) << "\"" << mutant.name << "\" was not caught by " << seeds_max
                      << " seeds; see them again with attune-simulate --" << suite.name << " --first-seed " << first
                      << " --seeds " << seeds_max << " --mutants --mutant " << mutant.number;
  std::cout << mutant.name << ": caught by seed " << first + caught->seeds - 1 << ", the " << caught->seeds << "th; "
            << caught->violation << std::endl;
}

inline std::string TestNameOf(const Mutant& mutant) {
  std::string name;
  for (const char c : mutant.name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

}  // namespace attune::ps::simulation

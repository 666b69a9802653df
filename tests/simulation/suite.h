// A simulation as a suite of seeds: runs them, hunts deliberate mistakes, and explains a seed that fails so that a
// person can see it again. Tests and attune-simulate stand on this alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ps/core/mutations.h"
#include "tests/simulation/world.h"

namespace attune::ps::simulation {

// A deliberate mistake which the suite's checkers must see.
struct Mutant {
  std::string number;  // of the protocol's list where it has one
  std::string name;
  Mutations mutations;
  std::string checker;  // who must see it, whatever others do: "VersionsRise"; empty: anyone
  // A mistake outside the cores: how a run with it goes. Empty: with `mutations`.
  std::function<Outcome(uint64_t seed, bool keep_history)> run = {};
};

struct Suite {
  std::string name;                                    // as on the command line: "rows"
  std::function<std::string(uint64_t seed)> describe;  // what the seed chooses
  std::function<Outcome(uint64_t seed, const Mutations& mutations, bool keep_history)> run;
  std::vector<Mutant> mutants;
};

// With this mistake; null: with none.
Outcome RunSeed(const Suite& suite, uint64_t seed, const Mutant* mutant, bool keep_history);

// Drawn by every run that is not given its first seed: seeds that are looked at again and again are mended one by one,
// and say nothing about the others. From the machine's entropy, of at most 12 digits; a run that draws one prints it.
uint64_t FreshSeed();

struct SeedsResult {
  uint64_t seeds = 0;
  double seconds = 0;
  Outcome sum;          // messages, counts and the digest of all runs
  std::string failure;  // of the first seed that fails; empty: none
};
SeedsResult RunSeeds(const Suite& suite, uint64_t first, uint64_t count);

// What a failing seed was, what it violated, the end of its history, and the command that shows all of it again.
std::string Explain(const Suite& suite, uint64_t seed, const Mutant* mutant = nullptr);

struct Catch {
  uint64_t seeds = 0;     // needed
  std::string violation;  // the first of the seed that caught it
};
// Only a seed that holds without the mistake catches it.
std::optional<Catch> Hunt(const Suite& suite, const Mutant& mutant, uint64_t first, uint64_t seeds_max);
// A line for every mutant, each hunted from `first` on. Returns how many escaped.
int HuntAll(const Suite& suite, uint64_t first, uint64_t seeds_max);

// ATTUNE_SEED: a test runs this seed alone and prints its history.
std::optional<uint64_t> ChosenSeed();

}  // namespace attune::ps::simulation

// Long runs of the simulations; ends at the first violation and prints how to see that run again.
//   attune-simulate [--seeds N] [--first-seed M]             a whole job: coordinator, servers, workers
//   attune-simulate --rows [--seeds N] [--first-seed M]      rows, moves, copies and recovery alone
//   attune-simulate --rows --trace --first-seed M            the history of one such run
//   attune-simulate --mutants [--seeds N] [--first-seed M]   how many seeds each deliberate mistake needs, at most N
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/simulation/rows/rows_simulation.h"
#include "tests/simulation/simulation.h"

namespace attune::ps::simulation {
namespace {

struct Run {
  std::string parameters;
  std::vector<std::string> violations;
  uint64_t messages = 0;
};

int RunSeeds(uint64_t first, uint64_t seeds, const char* replay, const std::function<Run(uint64_t)>& simulate) {
  const auto start = std::chrono::steady_clock::now();
  uint64_t messages = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const Run run = simulate(seed);
    messages += run.messages;
    if (run.violations.empty()) continue;
    std::printf("FAILED, replay with: %s %llu\n%s\n", replay, static_cast<unsigned long long>(seed),
                run.parameters.c_str());
    for (const auto& violation : run.violations) std::printf("  %s\n", violation.c_str());
    return 1;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%llu seeds, no violation, %.0f seeds/s, %.0f messages/s\n", static_cast<unsigned long long>(seeds),
              static_cast<double>(seeds) / seconds, static_cast<double>(messages) / seconds);
  return 0;
}

}  // namespace
}  // namespace attune::ps::simulation

int main(int argc, char** argv) {
  using namespace attune::ps::simulation;
  uint64_t seeds = 0, first = 1;
  bool rows = false, mutants = false, trace = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--rows") {
      rows = true;
    } else if (option == "--mutants") {
      mutants = true;
    } else if (option == "--trace") {
      trace = true;
    } else if ((option == "--seeds" || option == "--first-seed") && i + 1 < argc) {
      (option == "--seeds" ? seeds : first) = std::strtoull(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: attune-simulate [--rows [--trace] | --mutants] [--seeds N] [--first-seed M]\n");
      return 2;
    }
  }
  if (seeds == 0) seeds = trace ? 1 : mutants ? 5000 : 1000;
  if (mutants) return RunRowMutants(first, seeds) == 0 ? 0 : 1;
  if (rows) {
    return RunSeeds(first, seeds, "attune-simulate --rows --trace --first-seed", [&](uint64_t seed) {
      const RowParameters parameters = RowParameters::FromSeed(seed);
      RowResult result = SimulateRows(parameters, {}, trace);
      return Run{ToString(parameters), std::move(result.violations), result.messages};
    });
  }
  return RunSeeds(first, seeds, "simulation_test with ATTUNE_SEED", [](uint64_t seed) {
    const Parameters parameters = Parameters::FromSeed(seed);
    Result result = Simulate(parameters);
    return Run{ToString(parameters), std::move(result.violations), result.messages};
  });
}

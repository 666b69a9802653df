// attune-simulate --seeds N --first-seed M: long runs of the protocol simulation; ends at the first violation.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/simulation/simulation.h"

int main(int argc, char** argv) {
  using attune::ps::simulation::Parameters;
  uint64_t seeds = 1000, first = 1;
  for (int i = 1; i < argc; ++i) {
    uint64_t* option = std::strcmp(argv[i], "--seeds") == 0        ? &seeds
                       : std::strcmp(argv[i], "--first-seed") == 0 ? &first
                                                                   : nullptr;
    if (option == nullptr || i + 1 == argc) {
      std::fprintf(stderr, "usage: attune-simulate [--seeds N] [--first-seed M]\n");
      return 2;
    }
    *option = std::strtoull(argv[++i], nullptr, 10);
  }
  const auto start = std::chrono::steady_clock::now();
  uint64_t messages = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const Parameters parameters = Parameters::FromSeed(seed);
    const auto result = attune::ps::simulation::Simulate(parameters);
    messages += result.messages;
    if (result.violations.empty()) continue;
    std::printf("FAILED, replay with ATTUNE_SEED=%llu\n%s\n", static_cast<unsigned long long>(seed),
                ToString(parameters).c_str());
    for (const auto& violation : result.violations) std::printf("  %s\n", violation.c_str());
    return 1;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%llu seeds, no violation, %.0f seeds/s, %.0f messages/s\n", static_cast<unsigned long long>(seeds),
              static_cast<double>(seeds) / seconds, static_cast<double>(messages) / seconds);
  return 0;
}

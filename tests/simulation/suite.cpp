#include "tests/simulation/suite.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace attune::ps::simulation {
namespace {

constexpr size_t kLinesExplained = 80;  // of the history, before the violation

}  // namespace

uint64_t FreshSeed() {
  std::random_device entropy;
  constexpr uint64_t kBelow = 1'000'000'000'000;
  return ((uint64_t{entropy()} << 32) | entropy()) % kBelow;
}

Outcome RunSeed(const Suite& suite, uint64_t seed, const Mutant* mutant, bool keep_history) {
  if (mutant == nullptr) return suite.run(seed, {}, keep_history);
  return mutant->run ? mutant->run(seed, keep_history) : suite.run(seed, mutant->mutations, keep_history);
}

SeedsResult RunSeeds(const Suite& suite, uint64_t first, uint64_t count) {
  const auto start = std::chrono::steady_clock::now();
  SeedsResult result;
  for (uint64_t seed = first; seed < first + count && result.failure.empty(); ++seed) {
    const Outcome outcome = suite.run(seed, {}, false);
    ++result.seeds;
    result.sum.messages += outcome.messages;
    result.sum.digest = SplitMix64(result.sum.digest ^ outcome.digest);
    for (const auto& [what, number] : outcome.counts) result.sum.counts[what] += number;
    if (!outcome.violations.empty()) result.failure = Explain(suite, seed);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

std::string Explain(const Suite& suite, uint64_t seed, const Mutant* mutant) {
  const Outcome again = RunSeed(suite, seed, mutant, true);
  const std::string command = "attune-simulate --" + suite.name + " --first-seed " + std::to_string(seed) +
                              " --seeds 1" + (mutant == nullptr ? "" : " --mutant " + mutant->number) + " --history";
  std::string text = "seed " + std::to_string(seed) + " of the simulation \"" + suite.name + "\"" +
                     (mutant == nullptr ? "" : " with the mistake \"" + mutant->name + "\"") + "\n  " +
                     suite.describe(seed) + "\n";
  if (again.violations.empty()) text += "  (not violated when run again: the simulation is not deterministic)\n";
  for (const std::string& violation : again.violations) text += "violated " + violation + "\n";
  const size_t lines = again.history.size();
  const size_t from = lines > kLinesExplained ? lines - kLinesExplained : 0;
  text += "the last " + std::to_string(lines - from) + " of " + std::to_string(lines) + " lines of its history:\n";
  for (size_t i = from; i < lines; ++i) text += again.history[i] + "\n";
  return text + "replay with all of its history: " + command + "\n" +
         (mutant == nullptr ? "or, in a test program: ATTUNE_SEED=" + std::to_string(seed) + "\n" : "");
}

namespace {

// Violations begin with the time.
std::optional<std::string> FoundBy(const Mutant& mutant, const Outcome& outcome) {
  for (const std::string& violation : outcome.violations) {
    if (mutant.checker.empty() || violation.find(" " + mutant.checker + ":") != std::string::npos) return violation;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Catch> Hunt(const Suite& suite, const Mutant& mutant, uint64_t first, uint64_t seeds_max) {
  for (uint64_t seed = first; seed < first + seeds_max; ++seed) {
    const std::optional<std::string> violation = FoundBy(mutant, RunSeed(suite, seed, &mutant, false));
    if (!violation) continue;
    if (!suite.run(seed, {}, false).violations.empty()) continue;  // not the mistake's doing
    return Catch{seed - first + 1, *violation};
  }
  return std::nullopt;
}

int HuntAll(const Suite& suite, uint64_t first, uint64_t seeds_max) {
  int escaped = 0;
  for (const Mutant& mutant : suite.mutants) {
    const std::optional<Catch> caught = Hunt(suite, mutant, first, seeds_max);
    escaped += caught ? 0 : 1;
    std::printf("%-8s %-12s %3s %-48s %6llu seeds  %s\n", caught ? "caught" : "ESCAPED", suite.name.c_str(),
                mutant.number.c_str(), mutant.name.c_str(),
                static_cast<unsigned long long>(caught ? caught->seeds : seeds_max),
                caught ? caught->violation.c_str() : "");
    std::fflush(stdout);
  }
  std::printf("%s: %zu of %zu deliberate mistakes caught\n", suite.name.c_str(),
              suite.mutants.size() - static_cast<size_t>(escaped), suite.mutants.size());
  return escaped;
}

std::optional<uint64_t> ChosenSeed() {
  const char* text = std::getenv("ATTUNE_SEED");
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

}  // namespace attune::ps::simulation

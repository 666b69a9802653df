#include "tests/simulation/job/operated_simulation.h"

#include "base/log.h"
#include "tests/simulation/job/operated.h"

namespace attune::ps::simulation {
namespace {

Outcome Simulate(uint64_t seed, OperatorMistake mistake, bool keep_history) {
  log::SetLevel(log::Level::kError);  // the operator warns of each call that fails
  return OperatedSimulation(OperatedParameters::FromSeed(seed), mistake, keep_history).SimulateOperated();
}

Mutant Mistake(std::string number, std::string name, OperatorMistake mistake) {
  return {.number = std::move(number),
          .name = std::move(name),
          .mutations = {},
          .checker = "",
          .run = [mistake](uint64_t seed, bool keep_history) { return Simulate(seed, mistake, keep_history); }};
}

}  // namespace

Suite OperatedSuite() {
  return {.name = "operated",
          .describe = [](uint64_t seed) { return ToString(OperatedParameters::FromSeed(seed)); },
          .run = [](uint64_t seed, const Mutations&,
                    bool keep_history) { return Simulate(seed, OperatorMistake::kNone, keep_history); },
          .mutants = {Mistake("1", "records overwrite each other", OperatorMistake::kStatusWithoutVersion),
                      Mistake("2", "proven ended on one sign", OperatorMistake::kEndOnOneSign),
                      Mistake("3", "appointed without the recorded voters", OperatorMistake::kVotersForgotten),
                      Mistake("4", "a checkpoint is reported too soon", OperatorMistake::kCheckpointTooSoon)}};
}

}  // namespace attune::ps::simulation

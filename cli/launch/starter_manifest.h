// A first manifest for a user who has none: a TrainingJob with what most jobs state, and comments that teach what each
// field does. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "operator/api/training_job.h"

namespace attune::cli {

struct Starter {
  std::string name = "my-job";
  std::string image = "attune/word2vec:dev";  // the example's, so that it can be tried as it is
  std::string command = "attune-word2vec";    // a command line; one that needs a shell is given one
  uint64_t servers = 1, workers = 2;
  // Of these at least one; none: one epoch.
  std::optional<uint64_t> epochs, steps;
  std::optional<double> target_loss;
  std::optional<api::TuningMode> tuning;  // absent: Off, and the text says how to turn it on
};

// Valid as `attune validate` sees it, or InvalidArgument with what is wrong with what was asked for.
StatusOr<std::string> StarterManifest(const Starter& starter);

}  // namespace attune::cli

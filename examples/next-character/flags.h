// Command line of attune-next-character.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attune/ps/session.h"
#include "examples/next-character/evaluation.h"
#include "examples/next-character/network.h"

namespace attune::next_character {

struct Flags {
  std::vector<std::filesystem::path> text;
  bool list_text = false;
  NetworkOptions network;
  uint32_t batch = 1024;          // characters of a step, an item of the data set
  uint32_t epoch_batches = 1024;  // an epoch is that many, other characters each time
  float rate = 0.003F;            // of Adam, for vectors and hidden layers
  float output_rate = 0.1F;       // of momentum, for the output layer
  uint64_t seed = 1;
  uint32_t judged_characters = 50'000;
  SamplingOptions sampling;
  bool save_tables = false;
  uint32_t worker_threads_max = 8;  // a worker begins with one and obeys requests up to this
  std::string trace;                // directory; every step leaves a line there
  // Without servers:
  bool standalone = false;
  uint32_t threads = 2;
  uint32_t epochs = 6;  // as in job.yaml

  // The servers and the standalone mode start from the same rows.
  ps::TableOptions TableOf(size_t layer) const;
};

// Exit code >= 0: say nothing more and end with it (0 after --help, 2 after a wrong flag, which was explained).
struct ParsedFlags {
  Flags flags;
  int exit_code = -1;
};
ParsedFlags ParseFlags(int argc, char** argv);

}  // namespace attune::next_character

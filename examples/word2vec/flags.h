// Command line of attune-word2vec.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attune/ps/session.h"
#include "examples/word2vec/batch.h"
#include "examples/word2vec/corpus.h"

namespace attune::word2vec {

struct Flags {
  CorpusOptions corpus;
  bool list_text = false;
  BatchOptions batch;
  uint32_t dim = 64;
  uint32_t chunk_words = 2048;  // an item of the data set, and a step
  float rate = 0.1F;            // of Adagrad
  uint64_t seed = 1;
  std::vector<std::string> neighbors = {"mutex", "vector", "uint32_t", "begin"};
  bool announce = false;
  bool save_tables = false;
  std::string trace;  // directory; every step leaves a line there
  std::string model;  // directory of a saved model: judge it instead of training
  // Without servers:
  bool standalone = false;
  uint32_t threads = 2;
  uint32_t epochs = 40;  // as in job.yaml

  // One table for words as inputs, one for words as outputs; the servers and the standalone mode start from the same
  // rows.
  ps::TableOptions InputTable() const;
  ps::TableOptions OutputTable() const;
  uint64_t BatchSeed(uint64_t epoch, uint64_t item) const;
};

// Exit code >= 0: say nothing more and end with it (0 after --help, 2 after a wrong flag, which was explained).
struct ParsedFlags {
  Flags flags;
  int exit_code = -1;
};
ParsedFlags ParseFlags(int argc, char** argv);

}  // namespace attune::word2vec

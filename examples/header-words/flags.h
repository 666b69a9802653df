// Command line of attune-header-words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attune/ps/session.h"
#include "examples/header-words/corpus.h"
#include "examples/header-words/factors.h"

namespace attune::header_words {

struct Flags {
  CorpusOptions corpus;
  bool list_text = false;
  uint32_t headers = 8;  // of a step
  uint32_t dim = 32;
  float regularization = 0.05F;
  float rate = 0.05F;     // of Adagrad
  bool announce = false;  // the rows of the next steps, with servers
  uint64_t seed = 1;
  std::vector<std::string> shown = {"mutex", "tcp.h", "ssl.h", "message.h"};
  bool save_tables = false;
  std::string trace;  // directory; every step leaves a line there
  // Without servers:
  bool standalone = false;
  uint32_t threads = 2;
  uint32_t epochs = 100;  // as in job.yaml

  FactorOptions Factors(float mean) const { return {.dim = dim, .mean = mean, .regularization = regularization}; }
  // Of both tables. The servers and the standalone mode start from the same rows.
  ps::TableOptions Table() const;
};

// Exit code >= 0: say nothing more and end with it (0 after --help, 2 after a wrong flag, which was explained).
struct ParsedFlags {
  Flags flags;
  int exit_code = -1;
};
ParsedFlags ParseFlags(int argc, char** argv);

}  // namespace attune::header_words

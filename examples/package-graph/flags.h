// Command line of attune-package-graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attune/ps/session.h"
#include "examples/package-graph/batch.h"
#include "examples/package-graph/graph.h"

namespace attune::package_graph {

struct Flags {
  GraphOptions graph;
  bool list_files = false;
  BatchOptions batch;
  uint32_t dim = 64;  // two for each complex number
  float rate = 0.1F;  // of Adagrad
  float regularization = 0.1F;
  ps::SamplingMode sampling = ps::SamplingMode::kIndependent;  // of negatives, with servers
  bool announce = false;                                       // the rows of the next items, with servers
  uint64_t seed = 1;
  uint32_t judged_links = 2000;
  std::vector<std::string> packages = {"git", "gimp", "nginx", "python3-numpy"};
  bool save_tables = false;
  std::string trace;  // directory; every step leaves a line there
  // Without servers:
  bool standalone = false;
  uint32_t threads = 2;
  uint32_t epochs = 20;  // as in job.yaml

  // The servers and the standalone mode start from the same rows.
  ps::TableOptions EntityTable() const;
  ps::TableOptions RelationTable() const;
};

// Exit code >= 0: say nothing more and end with it (0 after --help, 2 after a wrong flag, which was explained).
struct ParsedFlags {
  Flags flags;
  int exit_code = -1;
};
ParsedFlags ParseFlags(int argc, char** argv);

}  // namespace attune::package_graph

// Command line and environment of attune-server, and a run of it.
#pragma once

#include <optional>

#include "base/status.h"
#include "ps/runtime/server/server_runtime.h"

namespace attune::ps {

class ServerCommand {
 public:
  // The exit code when there is nothing to run: --help (0), or bad input, which is reported on standard error (2).
  std::optional<int> Parse(int argc, const char* const* argv);
  // Serves until the job is finished (0), it cannot continue (1, reported in the log) or the process is asked to end
  // (143, as for any program ended by SIGTERM, so that 0 always means a finished job). Returns the exit code.
  int Run();

  const ServerRuntime::Options& options() const { return options_; }

 private:
  ServerRuntime::Options options_;
};

}  // namespace attune::ps

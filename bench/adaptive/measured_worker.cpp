#include "bench/adaptive/measured_worker.h"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace attune::adaptive_bench {

int RunMeasuredWorker(int argc, char** argv, const char* program, CLI::App& app, WorkerFlags& flags,
                      const std::function<Status()>& run) {
  app.add_flag("--announce", flags.announce, "Announce the rows of the next steps");
  app.add_option("--steps", flags.steps, "Steps of all workers together")->capture_default_str();
  app.add_option("--skip-seconds", flags.skip_seconds, "What is measured begins after so long")->capture_default_str();
  app.add_option("--out", flags.out, "Directory for the results")->required();
  CLI11_PARSE(app, argc, argv);
  const Status status = run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", program, ToString(status).c_str());
  return 1;
}

}  // namespace attune::adaptive_bench

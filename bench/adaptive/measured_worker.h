// What all workers that bench/adaptive/run starts have in common: what they are given, and what they say at their end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"

namespace CLI {
class App;
}

namespace attune::adaptive_bench {

struct WorkerFlags {
  bool announce = false;
  uint64_t steps = 10'000;  // of all workers together
  double skip_seconds = 0;
  std::string out;  // directory
};

// The whole program: `app` has the flags that only this worker knows, `flags` are added to them. Returns its exit code.
int RunMeasuredWorker(int argc, char** argv, const char* program, CLI::App& app, WorkerFlags& flags,
                      const std::function<Status()>& run);

}  // namespace attune::adaptive_bench

#include "examples/support/step_trace.h"

#include <unistd.h>

#include <chrono>

namespace attune::examples {

StepTrace::StepTrace(const std::string& directory) {
  if (!directory.empty()) file_.open(directory + "/worker-" + std::to_string(getpid()));
}

void StepTrace::Add(double loss, uint64_t samples) {
  if (!file_.is_open()) return;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  file_ << std::chrono::duration_cast<std::chrono::microseconds>(now).count() << ' ' << loss << ' ' << samples << '\n';
}

}  // namespace attune::examples

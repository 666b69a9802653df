#include "ps/core/worker/worker_io.h"

namespace attune::ps {

void WorkerOutputs::Clear() {
  send.clear();
  revoke.clear();
  completions.clear();
  connect.clear();
  disconnect.clear();
  goal_reached.reset();
  coordinator.reset();
  rejected.clear();
  lost.reset();
}

}  // namespace attune::ps

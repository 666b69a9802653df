// A WorkerCore whose handling of one row can be looked at: its steps and calls pass by a RowTrace. Everything else is
// the core's.
//
// Pure; externally synchronized like the core.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/trace/row_trace.h"
#include "ps/core/worker/worker_core.h"

namespace attune::ps {

class TracedWorker {
 public:
  explicit TracedWorker(WorkerOptions options) : core_(std::move(options)) {}

  // See WorkerCore.
  void Step(WorkerInput input, MonotonicTime now, WorkerOutputs& out);
  bool PullHere(TableId table, std::span<const Key> keys, std::span<float> rows, MonotonicTime now, CopyReads copies);
  std::optional<Status> PushHere(TableId table, std::span<const Key> keys, std::span<const float> gradients,
                                 MonotonicTime now);

  // What happens to a row from now on, until the lines are taken. NotFound: the table is not open here.
  Status BeginTrace(const std::string& table, Key key, MonotonicTime now);
  std::vector<std::string> EndTrace() { return trace_.End(core_.map()); }

  WorkerCore* operator->() { return &core_; }
  const WorkerCore* operator->() const { return &core_; }

 private:
  void StepTraced(WorkerInput input, MonotonicTime now, WorkerOutputs& out);

  WorkerCore core_;
  RowTrace trace_;
};

}  // namespace attune::ps

// What users, or the tuner, ask of the running processes of a job: a synchronization mode, what workers make of
// announced rows, threads of workers (spec), a checkpoint, what happens to a row (annotations).
#pragma once

#include <optional>
#include <string>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/plan/directives.h"
#include "operator/controller/plan/servers.h"

namespace attune::controller {

// What became of them, for the status.
struct RequestsView {
  std::string synchronization_refused;  // why; "" when it was not
  std::optional<SyncMode> switching_to;
  std::string row_management_refused;  // likewise
  std::string threads_refused;         // why a worker does not compute with as many as are wanted; "" when all do
  // The request for a checkpoint that has been answered now, and how.
  struct CheckpointAnswer {
    std::string request;
    std::string problem;  // "" when it was written
  };
  std::optional<CheckpointAnswer> checkpoint;
  std::optional<api::RowTraceStatus> row_trace;  // what becomes of it; empty: it stays as it is
  std::optional<Duration> default_interval;      // between checkpoints, of a job that states none and gets some
  std::string regular_checkpoint_problem;        // why the last one by interval was not written; "" when it was
};

// Since when the job has gone without a new checkpoint, by this process' monotonic clock. The time in the status is the
// coordinator's, on another machine: it is believed once, by an operator that has just begun, and then not compared.
class CheckpointClock {
 public:
  MonotonicTime Since(const api::TrainingJob& job, Now now);

 private:
  std::string last_;
  std::optional<MonotonicTime> since_;
};

RequestsView PlanRequests(const Observed& observed, const ServersView& servers, const PlanOptions& options, Now now,
                          Directives& directives, Draft& draft);

}  // namespace attune::controller

// What DataLease and DataLeaseRange point to. The next lease is asked for while the program works on the one before.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "attune/ps/session.h"
#include "base/mutex.h"
#include "ps/runtime/worker/worker_runtime.h"

namespace attune::ps {

// A lease whose loop body has come to its end.
struct EndedBody {
  uint64_t begin = 0, end = 0;  // of the lease
  uint64_t advanced = 0;        // the last Advance; `begin`: none
  bool draining = false;        // the worker has been asked to leave
  bool drain_noticed = false;   // and the program may know: draining() has returned true, or a range has ended for it
};
// Items before this count as done, the others go back. A body that ended early looks like one that was through; only a
// drain makes programs end bodies early and continue with the loop, so while the worker drains the end of a body proves
// nothing that Advance has not said. A program that never calls Advance and cannot know of the drain had no reason to
// end early.
uint64_t DoneAtEndOfBody(const EndedBody& body);

// One lease in the program's hands.
struct DataLease::State {
  std::shared_ptr<WorkerRuntime> runtime;
  LeaseId lease;
  uint64_t begin = 0, end = 0;
  std::atomic<uint64_t> position = 0;  // the highest Advance
};

// The leases of a data set that is evaluated when that is due: one request stays open between the ranges that ask for
// it, so that a range which finds none costs nothing. Of one session and data set; externally synchronized like its
// ranges.
struct DueLeases {
  Mutex mutex;
  bool opened ABSL_GUARDED_BY(mutex) = false;
  bool ended ABSL_GUARDED_BY(mutex) = false;  // none is ever due again
  DataSetId id ABSL_GUARDED_BY(mutex);
  std::shared_ptr<Future::State> ahead ABSL_GUARDED_BY(mutex);
};
// No range asks any more: what was granted meanwhile goes back.
void ReturnAhead(DueLeases& due, WorkerRuntime& runtime) ABSL_EXCLUSIVE_LOCKS_REQUIRED(due.mutex);

struct DataLeaseRange::State {
  // `due` of a data set `when_due`, else null.
  State(std::shared_ptr<WorkerRuntime> runtime, std::string data_set, const DataSetOptions& options,
        Duration call_timeout, std::shared_ptr<DueLeases> due)
      : runtime(std::move(runtime)),
        data_set(std::move(data_set)),
        options(options),
        call_timeout(call_timeout),
        due(std::move(due)) {}
  // Leaving the loop early: what is not done goes back, and so does the lease asked for ahead.
  ~State();

  void Begin();
  void Next();

  bool at_end() const { return !current.has_value(); }

  const std::shared_ptr<WorkerRuntime> runtime;
  const std::string data_set;
  const DataSetOptions options;
  const Duration call_timeout;
  const std::shared_ptr<DueLeases> due;
  DataSetId id;
  bool opened = false;
  std::optional<DataLease> current;
  std::shared_ptr<DataLease::State> current_state;
  std::shared_ptr<Future::State> ahead;

 private:
  Status Open();
  void AskAhead();
  void TakeAhead();
  void TakeDue();
  void Take(const LeaseResult& lease);
  void ReturnAhead();
  void EndCurrent(uint64_t position);
};

}  // namespace attune::ps

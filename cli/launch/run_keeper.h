// Keeps a local run: fills its directory from the first moment on with what is asked about it later. What cannot be
// written (a full disk) never ends the training; the end of the run says so.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/runs/run_record.h"
#include "cli/runs/run_state.h"
#include "operator/api/training_job.h"
#include "operator/kube/api.h"

namespace attune::cli {

// What this machine says of itself.
RunMachine ThisMachine();

class RunKeeper {
 public:
  // Claims the directory: AlreadyExists when another run has it. `manifest` is the text as given, `jobs` the objects
  // with their defaults.
  static StatusOr<std::unique_ptr<RunKeeper>> Begin(RunRecord record, const std::string& manifest,
                                                    const std::vector<kube::Json>& jobs);

  // Is shown every view, with the time; looks at the API and writes now and then.
  void Look(kube::Api& api, const JobView& view, double now);
  // After the last look: a checkpoint that the job wrote before it was ended.
  void SetCheckpoint(kube::Api& api, const kube::ObjectKey& job, const api::CheckpointStatus& checkpoint);
  // Ctrl-C or a signal was received. Written at once: the next one may end the process before it can write anything.
  void Interrupted();
  // Jobs that have no outcome are given this one. Complains on standard error when the disk does not hold all of it.
  void End(RunOutcome outcome, double now);

  const RunRecord& record() const { return record_; }

 private:
  struct Kept {
    size_t job = 0;  // of record_.jobs
    RunState state;
    double looked_at = 0, saved_at = 0;
    bool ended = false;
  };
  explicit RunKeeper(RunRecord record) : record_(std::move(record)) {}
  static void ReadState(kube::Api& api, const kube::ObjectKey& key, RunState& state);
  Status SaveAll(const Kept& kept) const;

  RunRecord record_;
  std::map<kube::ObjectKey, Kept> kept_;
};

}  // namespace attune::cli

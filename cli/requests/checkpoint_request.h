// Asking a running job for a checkpoint, by the annotation that the operator obeys, and waiting for what comes of it.
#pragma once

#include <string>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/api/training_job.h"
#include "operator/kube/api.h"

namespace attune::cli {

// OK when a checkpoint can be written now, else why not.
Status CheckCheckpoint(const api::TrainingJob& job);
// Whether ending the job now would lose trained rows that a checkpoint can keep.
bool HasRowsToLose(const api::TrainingJob& job);

struct CheckpointWait {
  Duration whole;                              // for the answer, and for the details if it comes late
  Duration details = std::chrono::seconds(3);  // for what the coordinator reports of the new one, a moment later
  int interrupts_seen = 0;                     // the next interrupt ends the wait
};
struct WrittenCheckpoint {
  api::CheckpointStatus status;
  double seconds = 0;  // from the request to the answer
  bool known = false;  // `status` is of this one, and not of one before
};
StatusOr<WrittenCheckpoint> WriteCheckpoint(kube::Api& api, const kube::ObjectKey& key, const CheckpointWait& wait);
// "checkpoint 3 in DIR at step 412: 38.1k rows, 12 MiB, in 0.8s".
std::string ToString(const WrittenCheckpoint& written);

// From Ctrl-C or `attune stop` to the end of a run's processes, and how much of it the last checkpoint may take.
inline constexpr Duration kEarlyEndMax = std::chrono::seconds(5);
inline constexpr Duration kLastCheckpointMax = std::chrono::milliseconds(4200);
// CheckpointWait::details of that last checkpoint.
inline constexpr Duration kLastDetails = std::chrono::milliseconds(1500);
// While a run is being ended: each interrupt shortens the rest, and this one leaves at once.
inline constexpr int kInterruptsToLeave = 3;

}  // namespace attune::cli

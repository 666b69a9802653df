#include "cli/requests/waiting.h"

#include <unistd.h>

#include "cli/display/terminal.h"
#include "cli/runs/jobs.h"

namespace attune::cli {

std::string NewRequestId() {
  return std::to_string(static_cast<int64_t>(ToUnixSeconds(SystemTime().WallNow()) * 1000)) + "-" +
         std::to_string(getpid());
}

StatusOr<api::TrainingJob> WaitForJob(kube::Api& api, const kube::ObjectKey& key, Duration timeout,
                                      const std::function<bool(const api::TrainingJob&)>& done, int interrupts_seen) {
  constexpr Duration kLook = std::chrono::milliseconds(200);
  const SystemTime time;
  const MonotonicTime deadline = time.Now() + timeout;
  while (true) {
    ASSIGN_OR_RETURN(const kube::Json object, GetJob(api, key));
    api::TrainingJob job = api::ParseTrainingJob(object).job;
    if (done(job)) return job;
    if (api::IsTrue(job.status, api::kSucceeded) || api::IsTrue(job.status, api::kFailed)) {
      return Error(StatusCode::kFailedPrecondition,
                   "job " + key.name + " ended (" + job.status.phase + ") before that");
    }
    if (time.Now() >= deadline) {
      return Error(StatusCode::kDeadlineExceeded, "no answer within " +
                                                      std::to_string(static_cast<int64_t>(Seconds(timeout))) +
                                                      " s; `attune describe " + key.name + "` says what the job does");
    }
    if (Interrupts::Wait(kLook, interrupts_seen))
      return Error(StatusCode::kCancelled, "not waiting any longer; the request stands");
  }
}

}  // namespace attune::cli

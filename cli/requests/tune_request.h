// "pause", "pin servers=2,slack=bsp", "unpin", "auto" and what they change of a job. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "operator/api/training_job.h"

namespace attune::cli {

inline constexpr char kTuneUsage[] =
    "write pause, resume, pin servers=N,workers=N,threads=N,slack=MODE,worker-cpu=CPU,server-cpu=CPU (any of them), "
    "unpin, or a mode: off, recommend, initial, inplaceonly, auto";

// On one machine the tuner tries no more processes than its cores can keep apart, unless the manifest has a max.
inline constexpr int32_t kServersPerCore = 2, kWorkersPerCore = 4;

struct TuneRequest {
  kube::Json patch;    // merge patch of the job
  std::string answer;  // "the tuner leaves it as it is", for people
  kube::Json undo;     // merge patch back, of what the job's workers may refuse; null: nothing is refused later
};

// InvalidArgument for what is no request, or outside the job's bounds; FailedPrecondition when it has ended.
StatusOr<TuneRequest> MakeTuneRequest(const api::TrainingJob& job, const std::string& action,
                                      const std::string& settings);
// InvalidArgument for what no job could take: said before one is looked for.
Status CheckTuneWords(const std::string& action, const std::string& settings);
// The mode of this name, in any case; nullopt for none.
std::optional<api::TuningMode> ParseTuningMode(const std::string& name);

}  // namespace attune::cli

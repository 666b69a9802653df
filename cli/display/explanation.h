// What the tuner did to a job and why, as text and as JSON. Pure, apart from the models it computes again.
#pragma once

#include <string>

#include "base/status.h"
#include "operator/api/training_job.h"
#include "operator/tuner/records/decision_record.h"

namespace attune::cli {

struct Explanation {
  std::string text;
  kube::Json json;
};

// `saved`: what the tuner keeps of the job (GetTuningState of cli/runs/jobs.h). `model`: with the speeds and
// efficiencies it believes in. FailedPrecondition when the job is not tuned.
StatusOr<Explanation> Explain(const api::TrainingJob& job, const std::string& saved, bool model);

// One decision: what was changed, what was expected of it and what was measured.
kube::Json DecisionJson(const tuner::NamedRecord& named);

}  // namespace attune::cli

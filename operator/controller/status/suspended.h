// The status of a job that has given its machines back, or does so (plan/suspension/suspension.h), and what its
// condition Suspended and its Events say.
#pragma once

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"

namespace attune::controller {

// Of a job IsWithoutPods. Once no pod is left the next attempt begins here, unless it is held.
api::TrainingJobStatus BuildSuspendedStatus(const Observed& observed, Now now, Draft& draft);

// The condition Suspended; absent until something was to be suspended.
void SetSuspended(const Observed& observed, api::TrainingJobStatus& status, Now now);

void ReportSuspension(const api::TrainingJobStatus& before, const api::TrainingJobStatus& next,
                      const Draft::Needs& written, Draft& draft);

}  // namespace attune::controller

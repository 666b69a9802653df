// Writes what the operator chooses for a job to where the job keeps it: into its spec, as a user would, or into its
// status where the spec is another controller's to write (spec.tuning.writeTo, api/status/chosen_settings.h). Whatever
// runs the job follows both in the same way.
#pragma once

#include <string>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"

namespace attune::controller {

bool KeepsSettingsInStatus(const api::TrainingJob& job);

// `spec`: a merge patch of the spec. `if_unchanged`: a user who has chosen another setting meanwhile is not overruled.
Draft::Ref ChangeSetting(const Observed& observed, kube::Json spec, std::string reason, bool if_unchanged, Draft& draft,
                         Draft::Needs needs = {});

// Choices that do not count any more are removed, since the spec could come to say again what it said when they were
// made; those of a job that is to keep them in its spec are moved there. True while it is done: nothing is to be chosen
// before it is.
bool TidySettings(const Observed& observed, Draft& draft);

}  // namespace attune::controller

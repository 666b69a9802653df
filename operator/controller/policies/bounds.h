// The bounds of policies where changes are made: what the tuner asks for is looked at once more before it is written,
// and a job outside of the bounds is brought into them where a policy says so. Pure.
#pragma once

#include <optional>

#include "operator/controller/observe/observed.h"

namespace attune::controller {

// `asked` leads no knob out of the bounds, and none further away that is outside.
bool KeepsBounds(const policy::Effective& rules, const JobSetting& present, const JobSetting& asked);
// What the spec asks for.
JobSetting SettingOf(const api::TrainingJob& job);
// The setting that the spec is to ask for instead: nothing when it lies in the bounds, or is left as it is.
std::optional<JobSetting> IntoBounds(const Observed& observed);

}  // namespace attune::controller

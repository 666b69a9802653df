// A request that would change nothing: the spec says it already, and what counts is a choice of the operator's
// (operator/api/status/chosen_settings.h).
#pragma once

#include <string>

#include "base/status.h"
#include "operator/api/training_job.h"

namespace attune::cli {

// `field`: of the spec; `value`: that is to be written there, as ChosenSetting has it. `pin`: the words with which
// `attune tune pin` keeps it, which the error names.
Status CheckNotOverruled(const api::TrainingJob& job, const std::string& field, const std::string& value,
                         const std::string& pin);

}  // namespace attune::cli

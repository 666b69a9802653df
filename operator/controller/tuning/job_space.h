// Which settings the tuner may choose from in one job, and how long the job is to be. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operator/controller/observe/tuning_values.h"
#include "operator/tuner/tuner.h"

namespace attune::controller {

// Of a knob whose greatest value the user has not named.
inline constexpr int32_t kHighestByDefault = 16;

// The knobs of a job, each with the range that its role and the policy allow, within `room`. `threads_max`: of the
// workers' program.
tuner::SpaceDescription SpaceOf(const TuningInput& input, const NamespaceRoom& room, int32_t threads_max);
// Differs where another range of a knob does.
std::string RangesKey(const tuner::SpaceDescription& space);
// In the order of SpaceOf.
tuner::Setting ToSetting(const JobSetting& from);
JobSetting FromSetting(const tuner::SearchSpace& space, const tuner::Setting& from);

// Without a word about it in the manifest, how workers keep pace is not the tuner's to choose: it changes what training
// is.
bool AllowsSlack(const TuningInput& input);
// Of a job with one setting only: what holds it there, and what to do.
std::string WhyNothingToTry(const TuningInput& input);

// What the job is to reach: a loss, a metric, or so many steps, whichever its goal names first. `ending` bounds it.
// Nothing where the tuner knows no such goal: none is named, or a falling metric is to reach 0 or less.
std::optional<tuner::Goal> GoalOf(const TuningInput& input, const tuner::Ending& ending);
// What better means, priced by what pods take now where the limit of CPU is no knob. `spent`: of the budget, by tuners
// of this job before.
tuner::Objective ObjectiveOf(const TuningInput& input, double spent);
// Differs where another objective does: what a tuner has found holds for one.
std::string ObjectiveKey(const api::TuningObjective& objective);

// How much is left from now on, by every bound but the loss. Nothing: not known yet.
std::optional<tuner::Ending> EndingOf(const TuningInput& input);

}  // namespace attune::controller

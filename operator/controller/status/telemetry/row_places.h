// Where workers found the rows that their programs asked for, for the job's status, from telemetry.
#pragma once

#include <optional>

#include "operator/controller/observe/observed.h"

namespace attune::controller {

// Over the last windows of the workers that report. Nothing for programs that announce no rows and own none: all of
// theirs are remote.
std::optional<api::RowPlaces> RowPlacesOf(const Observed& observed, Now now);

}  // namespace attune::controller

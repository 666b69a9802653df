// Which setting a job keeps when nothing is tried: the best one known, once that is certain enough for what the change
// costs. Pure functions of evidence, view and where the job has been.
#pragma once

#include <optional>

#include "operator/tuner/belief/view.h"
#include "operator/tuner/choice/proposal.h"
#include "operator/tuner/choice/stays.h"

namespace attune::tuner {

// Where to be; the present setting where no move pays. Otherwise gain, saving and cost are those of the move.
Proposal Adopt(const Evidence& evidence, const View& view, const Stays& stays);

// A setting that is not certainly better than the one kept last stays on trial: being there costs little, and saying
// "kept" before it is certain makes for roll-backs. Its gain over that one; nothing where it is certain.
std::optional<Gain> StillUncertain(const Evidence& evidence, const View& view, const Stays& stays, int target);

}  // namespace attune::tuner

// Which setting is worth a trial: the share of the remaining time that it is expected to save, against a slower window,
// the change, the way back, and perhaps a crash; all in seconds. Pure. Source: docs/tuner.md#how-it-decides.
#pragma once

#include "operator/tuner/belief/view.h"
#include "operator/tuner/choice/proposal.h"

namespace attune::tuner {

// The trial worth most; its setting is -1 where none is possible, its value <= 0 where none is worth its cost.
// `caution`: how much more it must promise than it costs.
Proposal BestTrial(const Evidence& evidence, const View& view, double caution);

}  // namespace attune::tuner

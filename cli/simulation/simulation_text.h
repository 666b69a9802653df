// What a simulation has come to, for people and for programs. Pure.
#pragma once

#include <string>

#include "cli/simulation/simulation_options.h"
#include "operator/kube/object.h"

namespace attune::cli {

std::string SimulationText(const PlannedSimulation& planned, const SimulationResult& result);
kube::Json SimulationJson(const PlannedSimulation& planned, const SimulationResult& result);

// "servers 2 -> 4, workers 4 -> 6": the knobs that differ, in the order in which people name them.
std::string ChangeText(const tuner::NamedRecord& named);
// "kept", "rolled back", "crashed; rolled back", "the job ended first".
std::string OutcomeText(tuner::Verdict verdict);

}  // namespace attune::cli

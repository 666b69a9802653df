// Machines that cost a job pods: one that has cost it two within an hour is avoided by its new pods for as long. A
// preference, never a reason to stay pending: where there is no other machine, it is taken again. Pure.
#pragma once

#include <chrono>
#include <vector>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"

namespace attune::controller {

inline constexpr Duration kLossRemembered = std::chrono::hours(1);

// Those of the status that are not older than kLossRemembered, and those that this look shows first: pods whose end is
// marked, and pods that are deleted while their machine is away. Oldest first. What ends because its machine is emptied
// for maintenance says nothing against the machine.
std::vector<api::MachineLoss> NextLosses(const Observed& observed, Now now);

// An Event for each machine that is avoided from now on.
void ReportAvoided(const std::vector<api::MachineLoss>& before, const std::vector<api::MachineLoss>& next,
                   const Draft::Needs& written, Draft& draft);

}  // namespace attune::controller

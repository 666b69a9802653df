// All pods of a job or none (spec.startPolicy.gangTimeoutSeconds): an attempt whose pods have not all found a machine
// in time gives back those that have, so that two jobs that wait for each other's machines do not wait for ever, and
// is begun again after a pause. Pure; the record is that of a suspension (suspension.h).
#pragma once

#include <optional>
#include <string>

#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"

namespace attune::controller {

// Why the present attempt is to be given up; nothing while it may continue. `again`: when to look at it, as long as it
// waits for machines.
struct GangView {
  std::optional<std::string> shortage;
  std::optional<Duration> again;
};
GangView LookAtGang(const Observed& observed, Now now);

// A condition that stays for an attempt: all of its pods had a machine at the same time. From then on it is a running
// one, whatever fails, leaves or joins it, and however long its images take.
inline constexpr char kAllPlaced[] = "AllPlaced";
// Nothing to say where the job is to begin otherwise. True: that holds now, or has held before.
std::optional<bool> ArePodsPlaced(const Observed& observed);

// Until the next attempt after `tries` that were given up: as long as an attempt is given, twice as long with each, at
// most a quarter of an hour; and up to a third more, by the job, so that jobs do not meet again and again.
Duration GangPause(const api::TrainingJob& job, int32_t tries);

}  // namespace attune::controller

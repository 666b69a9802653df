// All pods of a job or none (spec.startPolicy.gangTimeoutSeconds): an attempt whose pods have not all found a machine
// in time gives back those that have, so that two jobs that wait for each other's machines do not wait for ever, and
// is begun again after a pause. Pure; the record is that of a suspension (suspension.h).
#pragma once

#include <optional>
#include <string>

#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"

namespace attune::controller {

struct GangView {
  std::optional<std::string> shortage;  // why the present attempt is given up; absent while it may continue
  std::optional<Duration> again;        // when to evaluate it again; absent unless it waits for machines
};
GangView LookAtGang(const Observed& observed, Now now);

// A condition that stays for an attempt: all of its pods had a machine at the same time. From then on it is a running
// one, whatever fails, leaves or joins it, and however long its images take.
inline constexpr char kAllPlaced[] = "AllPlaced";
// Whether that holds now or has held before in this attempt; absent for a job that does not start as a gang.
std::optional<bool> ArePodsPlaced(const Observed& observed);

// The pause after `tries` attempts that were given up: the time limit of an attempt, doubled with each try up to a
// quarter of an hour, plus up to a third that depends on the job's uid, so that jobs do not meet again and again.
Duration GangPause(const api::TrainingJob& job, int32_t tries);

}  // namespace attune::controller

// A suspended or restarted job has had other processes before (plan/suspension). What they left, their pods and their
// reports, may be seen long after they ended: on machines that were silent, in caches that are old. Pure.
#pragma once

#include <cstdint>

#include "operator/controller/observe/observed.h"

namespace attune::controller {

// Of the job's processes now, or of the next ones; 0: the first.
int64_t AttemptOf(const api::TrainingJobStatus& status);

// Leaves in `observed` what belongs to the present attempt. Pods of an earlier one keep their names until they are gone
// (Observed::earlier_pods) and count for nothing else; those of a later one prove that the job as it is seen here is
// old, and are left to who has seen more. Reports are believed of pods that are there, and of coordinators from the
// present term on; no step has been missed before the attempt began.
void SetOtherAttemptsApart(Observed& observed, Now now);

}  // namespace attune::controller

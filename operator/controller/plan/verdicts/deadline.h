// When a job has had its time (spec.runPolicy.activeDeadlineSeconds).
#pragma once

#include <optional>

#include "operator/controller/observe/observed.h"
#include "operator/controller/plan/servers.h"

namespace attune::controller {

// By wall clocks, as deadlines of Kubernetes' own jobs: of the operator's machine now, and of the one that recorded the
// start. A job that is done, and waits for its last processes to end, is not ended by it.
std::optional<Verdict> JudgeDeadline(const Observed& observed, const ServersView& servers, Now now);

// How long until then; nothing without a deadline, or before the start.
std::optional<Duration> UntilDeadline(const Observed& observed, Now now);

}  // namespace attune::controller

// Who runs the job's coordinator: server 0 at first; another server, under a higher term, when that one is gone, silent
// or cut off, or is to leave. Appointments and confirmations are written to the status first, each on the condition
// that nothing has changed there since it was read, and only then passed on: of two that contradict each other one
// fails, and a restarted operator appoints no other one (docs/decisions/0029).
#pragma once

#include <optional>
#include <string>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"
#include "operator/controller/plan/directives.h"
#include "operator/controller/plan/servers.h"

namespace attune::controller {

struct CoordinatorView {
  std::string pod;  // that leads from now on; "" before the job has formed
  int64_t term = 0;
  std::optional<api::CoordinatorVoters> voters;  // confirmed last, now or under an earlier term
  bool moving = false;                           // appointed and not heard of yet, or none can be appointed now
  std::string why;  // of the appointment or confirmation that this plan writes down; "": none
};

CoordinatorView CoordinatorOf(const api::TrainingJobStatus& status);
CoordinatorView PlanCoordinator(const Observed& observed, const ServersView& servers, const PlanOptions& options,
                                Now now, Directives& directives, Draft& draft);
// The Event of what has been written down.
void ReportCoordinator(const api::TrainingJobStatus& before, const CoordinatorView& coordinator,
                       const Draft::Needs& written, Draft& draft);

}  // namespace attune::controller

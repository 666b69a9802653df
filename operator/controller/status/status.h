// The job's status as a function of what was seen: conditions with messages that name the next step, counts, the
// display phase, progress.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"
#include "operator/controller/plan/coordinator.h"
#include "operator/controller/plan/requests/requests.h"
#include "operator/controller/plan/resizes.h"
#include "operator/controller/plan/server_changes.h"
#include "operator/controller/plan/servers.h"
#include "operator/controller/plan/standstill.h"
#include "operator/controller/plan/workers.h"

namespace attune::controller {

// What a plan has found out and set in motion in the data plane.
struct Progression {
  CoordinatorView coordinator;
  ServerChanges servers;
  RequestsView requests;
  Standstill standstill;
  ResizesView resizes;
  std::optional<api::MoveStatus> move;
  std::vector<api::MachineLoss> machine_losses;
  std::optional<api::SuspensionStatus> suspension;
};

// Sets a condition; the transition time moves only when `status` of the condition changes.
void SetCondition(api::TrainingJobStatus& status, const char* type, bool value, std::string reason,
                  std::string_view message, int64_t generation, WallTime now);

// The same where it cannot be said.
void SetUnknown(api::TrainingJobStatus& status, const char* type, std::string reason, std::string_view message,
                int64_t generation, WallTime now);

// Of a job that continues, or ends with this verdict.
api::TrainingJobStatus BuildStatus(const Observed& observed, const ServersView& servers, const WorkersView& workers,
                                   const Progression& progression, const std::optional<Verdict>& verdict,
                                   const PlanOptions& options, Now now);

// Of a job whose manifest has problems; nothing has been started for it, or what was started is left alone.
api::TrainingJobStatus BuildInvalidStatus(const Observed& observed, Now now);

// Of a job that has ended: what was recorded, and the result should it have come a moment after the end.
api::TrainingJobStatus BuildEndedStatus(const Observed& observed, Now now);

bool HasEnded(const api::TrainingJobStatus& status);

}  // namespace attune::controller

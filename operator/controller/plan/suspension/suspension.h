// A job that gives its machines back and continues later in new pods (spec.suspend), or at once (a restart, the last
// rung of docs/steering.md). Pure; every step is in the status before anything follows from it, so that an operator
// that takes over at any moment continues it.
//
//   trains -> Checkpointing -> Releasing -> Suspended -> trains, as the next attempt
//
// No pod goes before a checkpoint is whole that outlasts it: until then the request can be withdrawn, and where there
// can be none the job continues and says so. A queue that takes the job's place back is obeyed even so: its machines
// are others' (docs/queues.md). Nothing has to be kept of a job that has not begun. What workers do
// between the checkpoint and their end is done again afterwards; no item is left out.
#pragma once

#include <optional>
#include <string>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"
#include "operator/controller/plan/directives.h"
#include "operator/controller/plan/servers.h"

namespace attune::controller {

// By the record: its pods are to go, or are gone, and nothing else is planned for it.
bool IsWithoutPods(const api::TrainingJobStatus& status);
// By spec.suspend, or by the queue that it names: it is to have no pods.
bool IsHeld(const Observed& observed);
std::string WhyHeld(const Observed& observed);
// It was held when it was created, and nothing has been made for it.
bool IsBornHeld(const Observed& observed);
// By the record: it is on its way there, or there.
bool IsSuspending(const api::TrainingJobStatus& status);
// It is held, or is to be suspended by an annotation: restarted by a request that has not been taken up.
bool IsToBeSuspended(const Observed& observed);
bool HasNewRestartRequest(const Observed& observed);
inline constexpr char kSuspendedBySpec[] = "spec.suspend is set";
// The record in another state, since now.
void Enter(api::SuspensionStatus& record, const char* state, Now now);

// Of a job that trains: the record from now on. `ends`: it is about to end anyway.
std::optional<api::SuspensionStatus> NextSuspension(const Observed& observed, const ServersView& servers, bool ends,
                                                    const PlanOptions& options, Now now, Directives& directives,
                                                    Draft& draft);

// Of a job IsWithoutPods: removes what is left of them, servers when no worker needs them for an orderly end any more.
// What becomes of the job then is status/suspended.h.
void ReleasePods(const Observed& observed, const PlanOptions& options, Now now, Draft& draft);

// Asks for a restart as a user would, through the annotation.
void RequestRestart(const Observed& observed, const std::string& why, Now now, Draft& draft);

}  // namespace attune::controller

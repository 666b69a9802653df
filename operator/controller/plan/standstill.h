// Whether a job stands still, whom it waits for and since when: by the steps that its workers report, and by who has
// gone silent. Says so within seconds; what to do about it is decided with the other signs (evidence.h), after
// runPolicy.progressDeadlineSeconds.
//
// A step that takes long is no standstill: what counts as long is a multiple of the longest step that workers have
// reported, or a minute for an operator that has just begun. Nor is the time before the first step, or after the goal,
// when workers evaluate and save. While no process is heard it is this operator that is cut off, and nothing is said.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"
#include "operator/controller/plan/servers.h"

namespace attune::controller {

struct Standstill {
  // No step has ended since, longer than is usual; unset: steps end, as far as is known.
  std::optional<MonotonicTime> since;
  // Processes that have joined and are not heard of any more, whether the others wait for them or not.
  std::vector<const ObservedPod*> silent;
  // Who keeps the others from ending a step, as far as that can be said: the silent ones, else the worker that the
  // pace waits for.
  std::vector<const ObservedPod*> waited_for;

  bool any() const { return since.has_value() || !silent.empty(); }
};

Standstill StandstillOf(const Observed& observed, const PlanOptions& options, Now now);

// "no step ends: a-server-1 is not heard of"; "a-worker-1 is not heard of, while the others train"; "" when all is
// well.
std::string Describe(const Standstill& standstill);

// The job has stood still for runPolicy.progressDeadlineSeconds, since a step ended last or something was restarted for
// it, and waits for this pod's process.
bool IsWaitedForTooLong(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now);

// Those that are to be restarted for that: it continues record first (status.standstill). Not a server whose rows would
// go with it, nor that of the coordinator, which has a successor first.
std::vector<const ObservedPod*> DueForRestart(const Observed& observed, const ServersView& servers,
                                              const PlanOptions& options, Now now);
// It is on record that this pod is restarted, and the job still waits for it.
bool IsBeingRestarted(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now);
// Restarts are on record, and steps end again, for as long as the deadline.
bool HasRecoveredFromStandstill(const Observed& observed, const PlanOptions& options, Now now);
// A program that hangs at the same place after each restart would be restarted for ever: runPolicy.backoffLimit times
// in a row, and then the job has failed.
std::optional<Verdict> JudgeStandstill(const Observed& observed, const ServersView& servers, const PlanOptions& options,
                                       Now now);

// After how long the answer may be another one without anything being reported.
Duration LookAgainAt(const Observed& observed, const PlanOptions& options, Now now);

}  // namespace attune::controller

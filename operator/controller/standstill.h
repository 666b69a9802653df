// Whether a job stands still, whom it waits for and since when: by the steps that its workers report, and by who has
// gone silent. Says so within seconds; what to do about it is decided with the other signs (evidence.h), after
// runPolicy.progressDeadlineSeconds.
//
// A step that takes long is no standstill: what counts as long is a multiple of the longest step that workers have
// reported. Nor is the time before the first step, or after the goal, when workers evaluate and save. While no
// process is heard it is this operator that is cut off, and nothing is said.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/controller/observed.h"
#include "operator/controller/options.h"

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

// The job has stood still for runPolicy.progressDeadlineSeconds, and waits for this pod's process.
bool IsWaitedForTooLong(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now);

// After how long the answer may be another one without anything being reported.
Duration LookAgainAt(const Observed& observed, const PlanOptions& options, Now now);

}  // namespace attune::controller

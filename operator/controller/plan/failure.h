// What counts as a failure, how it is reported, and how long to wait before the next try.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"

namespace attune::controller {

inline constexpr int kLogTailLines = 20;
inline constexpr size_t kLogTailBytesMax = 2048;

// Pods that ended in a way that will be reported with the end of their log, and are not yet counted: read it while they
// exist.
std::vector<const ObservedPod*> PodsWhoseLogIsNeeded(const Observed& observed);

// "exited with code 3", "was killed by signal 9", "ran out of memory (OOMKilled); ...", "was evicted: The node was low
// on ..."
std::string DescribeEnd(const Observed& observed, const ObservedPod& pod);
// " Last lines of its log:\n..." or "" when there is none.
std::string LogTail(const Observed& observed, const ObservedPod& pod);

// What the end of a pod means for its job.
struct FailureMeaning {
  api::FailureAction action = api::FailureAction::kRestart;
  std::optional<size_t> rule;  // of spec.runPolicy.podFailurePolicy, from 0; unset: none matched
  // "rule 1 of spec.runPolicy.podFailurePolicy"
  std::string rule_text() const;
};
// Of a pod that has ended badly: by the first rule that matches; without one the platform's doing is no failure, and
// everything else is. What a machine has not confirmed has no exit code.
FailureMeaning MeaningOf(const Observed& observed, const ObservedPod& pod);

// Its container has ended, and at least so long ago by the clock of its machine.
bool HasEndedFor(const ObservedPod& pod, Duration time, Now now);

// Puts on record that this end is none of the job's failures.
Draft::Ref MarkUncounted(const Observed& observed, const ObservedPod& pod, Draft& draft);

// How many failures of this pod's index there are in a row now that it has failed: 1 when it had made progress.
int32_t FailuresInARow(const Observed& observed, const ObservedPod& pod);
// Before the restart after the n-th failure of an index in a row (n >= 1): first * 2^(n-1), bounded.
Duration RestartDelay(const PlanOptions& options, int32_t failures_in_a_row);

}  // namespace attune::controller

// What speaks for a process being gone, or hung, although its pod says that it runs. Each sign alone may be wrong: a
// node that is not ready may only be cut off from the API server, a sidecar may only be cut off from this operator, and
// a coordinator may be the one that is cut off. Nothing is removed on one sign.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time_source.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"

namespace attune::controller {

struct Signs {
  bool node_lost = false;  // its node is not ready, or no longer there
  bool silent = false;     // its process has reported nothing to this operator for a while
  bool expelled = false;   // the coordinator, which is heard, has declared it lost or does not count it any more
  bool overdue = false;    // it is being deleted, and its machine has not confirmed its end in time
  // A worker that says it has had no message from the coordinator for long, which this operator hears and which is in
  // the lease. One that had joined a coordinator which was lost at once may know no server that is still there.
  bool astray = false;
  // The job has stood still for runPolicy.progressDeadlineSeconds and waits for it, which is on record (standstill.h).
  bool stalls = false;

  // Its machine is gone: no process will confirm the end of the pod.
  bool machine_is_gone() const { return (node_lost && silent) || (overdue && (node_lost || silent)); }
  // The process does nothing while its machine may be well: asked to end first.
  bool is_hung() const { return (expelled && silent) || astray || stalls; }
  bool any() const { return node_lost || expelled; }
};

// Of the end of a process that is_hung: it will hardly use more time.
inline constexpr int64_t kGraceOfHungSeconds = 5;

// Of a pod of this job that has started.
Signs SignsOf(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now);

// What speaks for another coordinator being needed although the pod of this one says that it runs. Whether it is safe
// to appoint one is not decided here: the servers' votes see to that (docs/decisions/0029).
struct CoordinatorSigns {
  bool silent = false;         // its process has reported nothing to this operator for a while
  bool node_lost = false;      // its node is not ready, or no longer there
  bool without_lease = false;  // it says itself that it may not act
  size_t supporters = 0;       // with so many servers it asks to continue
  // Other servers that report to this operator and say that it does not answer them; empty unless they are at least
  // half of those that report.
  std::vector<const ObservedPod*> missed_by;
  // Another server has a newer map than it, as far as both have said: it may be the coordinator's own, or that of
  // another one that has gone on without it, so that what it knows of the job is old. Of one that is not heard any more
  // only the map of a later coordinator counts.
  bool newer_map = false;
  // Those of them that do not hear it; all, when it never got its lease: they may hear the one before.
  std::vector<const ObservedPod*> ahead;

  bool is_lost() const { return silent && (node_lost || !missed_by.empty()); }
  bool is_cut_off() const { return !silent && without_lease && missed_by.size() > supporters; }
  bool is_behind() const { return !silent && without_lease && !ahead.empty(); }
  bool any() const { return silent || node_lost || without_lease || !missed_by.empty(); }
};

// Of the pod that runs the coordinator. `silence`: after which its process counts as silent.
CoordinatorSigns SignsOfCoordinator(const Observed& observed, const ObservedPod& pod, Duration silence,
                                    const PlanOptions& options, Now now);
// "nothing is heard of its process, and a-server-1 does not hear it".
std::string Describe(const CoordinatorSigns& signs);

// The coordinator heard last called this process lost: it knows nothing of what the others have done since.
bool IsDeclaredLost(const Observed& observed, const ObservedPod& pod);

// Of the newest map that this server has said to have; 0: nothing was said.
uint64_t MapVersionOf(const Observed& observed, const ObservedPod& pod);

// A report that is older says how it was, not how it is.
inline constexpr Duration kReportAgeMax = std::chrono::seconds(5);
// Nothing has come from its process for so long, although it ran and this operator listened.
bool IsUnheardFor(const Observed& observed, const ObservedPod& pod, Duration time, Now now);
// When its last report arrived; nullopt: never, or so soon after this operator began to listen that it may have waited
// on the way while the operator stood still, and describe an earlier state.
std::optional<MonotonicTime> ReportedAt(const Observed& observed, const ObservedPod& pod);
// Its sidecar is connected and its process has reported a moment ago.
bool IsHeard(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now);
// What the coordinator says now; null while it is not heard. The end of a process is judged by this and by no older
// report: that one may be of the time before.
const v1::JobWindow* HeardFromCoordinator(const Observed& observed, const PlanOptions& options, Now now);
// What its process said last; null: nothing yet.
const telemetry::PodSample* SampleOf(const Observed& observed, const ObservedPod& pod);

// "node node-2 is not ready, and nothing was heard of its process for 12 s"
std::string Describe(const Signs& signs, const ObservedPod& pod);

// Its node takes no new pods, as the first step of draining it.
bool IsOnCordonedNode(const Observed& observed, const ObservedPod& pod);

// Its machine has confirmed that the process has ended. A pod that was failed as a whole, or removed by force, proves
// nothing of the kind.
bool IsProvenEnded(const ObservedPod& pod);

// The pod was ended by something else than its program: evicted, preempted, its node shut down, refused by its node.
// Not a failure of the program, and counted as none.
bool WasDisrupted(const ObservedPod& pod);

}  // namespace attune::controller

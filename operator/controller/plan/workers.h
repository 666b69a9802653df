// Policy of workers: who is created, who is asked to leave, who is replaced, and when their end is the job's end.
//
// Workers are created as soon as the containers of all servers run. Earlier, a slow image pull of a server would use up
// the time a worker has to connect; waiting for readiness would cost a probe period at every start, and the worker's
// own connect loop covers what remains.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"
#include "operator/controller/plan/servers.h"

namespace attune::controller {

class Directives;

struct WorkersView {
  int32_t desired = 0;
  std::vector<int32_t> indices;  // of those, ascending: not 0..N-1 once one has moved (members/membership.h)
  std::vector<const ObservedPod*> by_index;  // in that order; null: there is none, or it is leaving
  std::vector<const ObservedPod*> leaving;   // highest index first: too many, or asked to leave before
  std::optional<int32_t> stand_in_index;     // of one more than desired, while a worker moves to another machine
  const ObservedPod* stand_in = nullptr;     // null: there is none yet
  int32_t existing = 0, running = 0, ready = 0, succeeded = 0;
  // Ended with 0 although the job is not done, and no other worker does what is left: failed like those that say so.
  std::vector<const ObservedPod*> ended_early;
  bool heard_all_along = false;  // this operator has listened since before any of these workers started
  int32_t marked_failures = 0;   // so far, as the status and marked pods say
  int32_t failures = 0;          // those included that are not marked yet
  bool HasEndedBadly(const ObservedPod& pod) const;
};

WorkersView ViewWorkers(const Observed& observed, const ServersView& servers, const PlanOptions& options, Now now);

// "exited with code 3", "exited with code 0 before the goal was reached"
std::string DescribeWorkerEnd(const Observed& observed, const ServersView& servers, const WorkersView& workers,
                              const ObservedPod& pod);

// The job has ended well when the coordinator says that the goal is reached and the closing work is done, never because
// of an exit code alone; it has failed when workers have failed too often.
std::optional<Verdict> JudgeWorkers(const Observed& observed, const ServersView& servers, const WorkersView& workers);

void PlanWorkers(const Observed& observed, const ServersView& servers, const WorkersView& workers,
                 const PlanOptions& options, Now now, Directives& directives, Draft& draft);

}  // namespace attune::controller

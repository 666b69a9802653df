// Policy of servers: their number is fixed once the job has formed, and losing one ends the job, because its rows are
// nowhere else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/controller/draft.h"
#include "operator/controller/observed.h"
#include "operator/controller/options.h"

namespace attune::controller {

// The end of a job, decided.
struct Verdict {
  bool success = false;
  std::string reason;  // of the condition
  std::string message;
};

struct ServersView {
  int32_t count = 0;                         // what the job runs with
  std::vector<const ObservedPod*> by_index;  // count entries; null: there is none
  int32_t existing = 0, started = 0, ready = 0;
  int32_t finished = 0;  // ended by themselves with 0
  // All servers were seen running at the same time once: from then on they hold state (status.coordinator tells so).
  bool formed = false;
  bool all_started() const { return started == count; }
};

ServersView ViewServers(const Observed& observed);

// The job cannot go on: a server ended, is being deleted, or is gone. A server ends by itself, with 0, when the
// coordinator says that the goal is reached and all workers have left; their processes may take a moment longer, and
// get it.
std::optional<Verdict> JudgeServers(const Observed& observed, const ServersView& servers, const PlanOptions& options,
                                    Now now);

void PlanServers(const Observed& observed, const ServersView& servers, const PlanOptions& options, Draft& draft);

}  // namespace attune::controller

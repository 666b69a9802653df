// When the loss of a server, or of rows, ends the job, and when a job whose closing work is done is over.
//
// A job survives the loss of a server when its data plane can bring rows back and has them somewhere: on a backup or in
// a checkpoint. Otherwise the rows were nowhere else, and the job ends with a clear message. Before it has begun, and
// after its closing work is done, nothing depends on a server.
#pragma once

#include <optional>

#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"
#include "operator/controller/plan/servers.h"

namespace attune::controller {

// The job cannot continue: a server ended, is being deleted, or is gone, and no process can take its place. A server
// ends by itself, with 0, when the coordinator says that the goal is reached, the closing work is done and all workers
// have left; their processes may take a moment longer, and get it. From then on servers may end in any way.
std::optional<Verdict> JudgeServers(const Observed& observed, const ServersView& servers, const PlanOptions& options,
                                    Now now);

// Why a job that looks well is not: rows of lost servers that had been trained went back to their first values, for
// neither a copy nor a checkpoint had them; or to a checkpoint when the goal had been reached. The coordinator
// continues with them, and may be done before a server is judged; and a machine that is lost with two servers on it
// leaves no pod that has failed.
std::optional<Verdict> JudgeRows(const Observed& observed);

}  // namespace attune::controller

// The whole job again (job_simulation.h), with its platform played by the operator's own code (platform.h): nothing is
// started, appointed, confirmed or ended unless a real Plan() wants it and a real Executor carries it out, over an API
// server that refuses, conflicts and times out, by an operator that dies between any two calls, is away, stands still
// and looks at stale caches. What is done to the job beside that: processes die, machines are cut off and come back,
// pods are deleted, replicas are scaled by edits of the spec. All checkers of the job's simulation watch, and beside
// them:
//
//   Verdict        the job ends, once nothing fails any more, as Succeeded and nothing else; its servers' pods go
//   OneOfATerm     no two coordinators of one term
//   BegunAnew      a job that has trained does not begin again
#pragma once

#include "tests/simulation/suite.h"

namespace attune::ps::simulation {

Suite OperatedSuite();

}  // namespace attune::ps::simulation

// How many threads a worker computes a step with, for programs that leave that to the job.
//
//   OfferThreads(*session, {.initial = 1, .most = 8});
//   ... before each step: ComputeStep(ThreadsOf(*session));
//
// The wish comes with a directive of the operator and holds from the next step on, without another process. May
// be called from any thread.
#pragma once

#include <cstdint>

#include "attune/ps/session.h"

namespace attune::ps {

struct ThreadOffer {
  uint32_t initial = 1;  // until somebody wishes otherwise
  uint32_t most = 1;     // never more; both at least 1
};

// Says that this program asks ThreadsOf() before each step and computes with so many. A program that never says it is
// not asked to change anything.
void OfferThreads(Session& session, const ThreadOffer& offer);
// How many threads the next step is to be computed with; the answer counts as obeyed. 1 before OfferThreads.
uint32_t ThreadsOf(const Session& session);

}  // namespace attune::ps
